package main

import (
	"fmt"
	"io"
	"strings"
	"time"

	"clm/actors"
	"clm/actors/msg"
	"clm/llm"
)

// sink shows a run's events. Its errors are those of standard output.
type sink interface {
	event(e actors.Event) error
	// outcome is the last thing of a run.
	outcome(o outcome) error
}

// outcome is how a run ended.
type outcome struct {
	Exit    int       `json:"exit"`
	Status  string    `json:"status"`          // done, failed, canceled, ceiling
	Kind    string    `json:"kind,omitempty"`  // class of the failure
	Error   string    `json:"error,omitempty"` // for people
	Text    string    `json:"text"`            // the last answer
	Session string    `json:"session,omitempty"`
	Turns   int       `json:"turns"`
	Usage   llm.Usage `json:"usage"` // of the whole run
	Price   float64   `json:"price,omitempty"`
}

// plainSink writes the assistant's text to one stream and everything else to
// another, for people.
type plainSink struct {
	text  textWriter // standard output
	notes io.Writer  // standard error
	dim   [2]string  // before and after a note

	reasoning bool // show the model's reasoning
	whole     bool // show results whole
	mid       bool // the text stands inside a line
	answered  bool // the model gave an answer in this turn
	filtered  bool // and its provider kept some of it back
	thinking  bool // a line of reasoning is open

	asked  map[uint64]string // the tools of open questions
	failed string            // why the turn's compaction failed
	err    error

	usage llm.Usage
	used  int64
	max   int64
	price float64
}

// textWriter writes the assistant's text; the markdown renderer of a terminal
// is one, and needs to know where an answer ends.
type textWriter interface {
	io.StringWriter
	end() error
}

// plainText is a textWriter that adds nothing.
type plainText struct{ w io.Writer }

func (p plainText) WriteString(s string) (int, error) { return io.WriteString(p.w, s) }

func (plainText) end() error { return nil }

func newPlainSink(text textWriter, notes io.Writer, colour bool) *plainSink {
	s := &plainSink{text: text, notes: notes}
	if colour {
		s.dim = [2]string{"\x1b[2m", "\x1b[0m"}
	}
	return s
}

func (s *plainSink) event(e actors.Event) error {
	switch d := e.Data.(type) {
	case msg.Text:
		s.endThinking()
		s.put(clean(d.Text))
	case msg.Reasoning:
		if s.reasoning {
			s.think(clean(d.Text))
		}
	case msg.ToolBegin:
		s.note("→ %s %s", oneLine(d.Name), clip(oneLine(d.Args), 160))
	case msg.ToolResult:
		s.result(d)
	case msg.PermissionAsked:
		if s.asked == nil {
			s.asked = map[uint64]string{}
		}
		s.asked[d.ID] = d.Tool
	case msg.PermissionSettled:
		if !d.Allowed && d.By != "answer" {
			s.note("denied: %s", oneLine(s.asked[d.ID]))
		}
		delete(s.asked, d.ID)
	case msg.Finished:
		s.line() // another answer may follow in this turn
		s.answered, s.filtered = true, s.filtered || d.Reason == llm.FinishFilter
	case msg.Waiting:
		s.note("waiting %s: %s", d.For.Round(100*time.Millisecond), oneLine(d.Why))
	case msg.Compaction:
		s.compaction(d)
	case msg.Notice:
		s.note("%s", oneLine(d.Text))
	case msg.UsageReported:
		s.count(d)
	case msg.SubAgentEvent:
		s.below(d.Event, "  ")
	case msg.TurnDone:
		s.done(d)
	}
	return s.err
}

// below shows what a sub-agent does, not what it says: that is the result of
// the call that wanted it.
func (s *plainSink) below(e actors.Event, indent string) {
	switch d := e.Data.(type) {
	case msg.ToolBegin:
		s.note("%s%s → %s %s", indent, oneLine(e.Agent), oneLine(d.Name), clip(oneLine(d.Args), 120))
	case msg.UsageReported:
		s.usage, s.price = addUsage(s.usage, d.Usage), s.price+d.Price
	case msg.SubAgentEvent:
		s.below(d.Event, indent+"  ")
	}
}

// put writes text of the assistant.
func (s *plainSink) put(text string) {
	if text == "" || s.err != nil {
		return
	}
	_, s.err = s.text.WriteString(text)
	s.mid = !strings.HasSuffix(text, "\n")
}

// line ends a line of text, so that what follows stands on its own.
func (s *plainSink) line() {
	if s.mid {
		s.put("\n")
	}
	if s.err == nil {
		s.err = s.text.end()
	}
	s.endThinking()
}

// note writes a line that is no text of the assistant.
func (s *plainSink) note(format string, args ...any) {
	s.line()
	fmt.Fprintf(s.notes, "%s%s%s\n", s.dim[0], strings.TrimRight(fmt.Sprintf(format, args...), " "), s.dim[1])
}

// compaction tells of one; the end of a turn that was nothing else does not
// tell the error again.
func (s *plainSink) compaction(d msg.Compaction) {
	s.failed = d.Error
	if d.Error == "" {
		s.note("compaction %s", d.Phase)
		return
	}
	s.note("compaction %s: %s", d.Phase, strings.TrimPrefix(oneLine(d.Error), "compaction: "))
}

func (s *plainSink) think(text string) {
	if !s.thinking {
		s.line()
		_, _ = io.WriteString(s.notes, s.dim[0])
		s.thinking = true
	}
	_, _ = io.WriteString(s.notes, text)
}

func (s *plainSink) endThinking() {
	if s.thinking {
		s.thinking = false
		_, _ = io.WriteString(s.notes, s.dim[1]+"\n")
	}
}

func (s *plainSink) result(d msg.ToolResult) {
	took := d.Duration.Round(time.Millisecond)
	if s.whole {
		s.note("← %s %s\n%s", oneLine(d.Name), took, clean(d.Text))
		return
	}
	s.note("← %s %s %s", oneLine(d.Name), took, clip(oneLine(d.Text), 200))
}

func (s *plainSink) count(d msg.UsageReported) {
	s.usage = addUsage(s.usage, d.Usage)
	s.used, s.max, s.price = d.ContextUsed, d.ContextMax, s.price+d.Price
}

func addUsage(a, b llm.Usage) llm.Usage {
	return llm.Usage{
		Input: a.Input + b.Input, Output: a.Output + b.Output, CacheRead: a.CacheRead + b.CacheRead,
		CacheWrite: a.CacheWrite + b.CacheWrite, Reasoning: a.Reasoning + b.Reasoning,
	}
}

// done ends a turn: the text's line, what went wrong, what was used.
func (s *plainSink) done(d msg.TurnDone) {
	s.line()
	if s.err != nil {
		return // nobody reads any more: the end is quiet
	}
	failed := s.failed
	s.failed = ""
	if d.Status != "done" && (d.Error == "" || d.Error != failed) {
		text := d.Error
		if text == "" {
			text = "the turn was " + d.Status
		}
		fmt.Fprintf(s.notes, "clm: %s\n", oneLine(text))
	}
	switch {
	case s.filtered:
		s.note("the model refused, or its provider kept back some of the answer (content filter)")
	case s.answered && d.Status == "done" && strings.TrimSpace(d.Text) == "":
		s.note("the answer is empty")
	}
	s.answered, s.filtered = false, false
	if s.usage.Total() > 0 {
		s.note("%s", s.usageText())
	}
	s.usage, s.price = llm.Usage{}, 0
}

func (s *plainSink) usageText() string {
	text := fmt.Sprintf("%d tokens in, %d out", s.usage.Input, s.usage.Output)
	if s.usage.CacheRead > 0 {
		text += fmt.Sprintf(", %d cached", s.usage.CacheRead)
	}
	if s.max > 0 {
		text += fmt.Sprintf(", %d%% of %d", 100*s.used/s.max, s.max)
	}
	if s.price > 0 {
		text += fmt.Sprintf(", $%.4f", s.price)
	}
	return text
}

func (s *plainSink) outcome(outcome) error { return s.err }
