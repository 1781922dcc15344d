package wire

import (
	"clm/llm"
	"clm/llm/internal/jsonscan"
)

// Said is the text of an answer as it comes. Nothing else shows or keeps any:
// whatever a server says of the parts of its answer later, what people saw of
// them is in the message, in the order in which they saw it.
type Said struct {
	emit    func(llm.Delta) // nil: nobody watches
	content jsonscan.Text
}

// NewSaid shows what comes by emit, which may be nil.
func NewSaid(emit func(llm.Delta)) Said { return Said{emit: emit} }

// Text adds the text of a JSON string to the message's; other values are none.
func (s *Said) Text(value []byte) { s.add(llm.DeltaText, &s.content, value) }

// Paragraph ends a paragraph of the message's text.
func (s *Said) Paragraph() { s.end(llm.DeltaText, &s.content) }

// Content ends the message's text and returns it.
func (s *Said) Content() string { return s.content.String() }

// Thought is the text of one block of reasoning. Append keeps text that is not
// shown, as it repeats what is.
type Thought struct{ jsonscan.Text }

// Thought adds the text of a JSON string to a block of reasoning; other values
// are none.
func (s *Said) Thought(t *Thought, value []byte) { s.add(llm.DeltaReasoning, &t.Text, value) }

// ThoughtParagraph ends a paragraph of a block of reasoning.
func (s *Said) ThoughtParagraph(t *Thought) { s.end(llm.DeltaReasoning, &t.Text) }

// Call shows that a call of a tool has begun.
func (s *Said) Call(name string) {
	if name != "" {
		s.show(llm.DeltaToolCall, name)
	}
}

func (s *Said) add(kind llm.DeltaKind, to *jsonscan.Text, value []byte) {
	if jsonscan.IsString(value) {
		s.show(kind, to.Append(jsonscan.Inner(value)))
	}
}

const paragraph = "\n\n"

func (s *Said) end(kind llm.DeltaKind, to *jsonscan.Text) {
	s.show(kind, to.AppendRaw([]byte(paragraph)))
}

func (s *Said) show(kind llm.DeltaKind, text string) {
	if text != "" && s.emit != nil {
		s.emit(llm.Delta{Kind: kind, Text: text})
	}
}
