package conformance

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"clm/llm"
)

var two = Answer{
	Text: []string{"Let me ", "see. "},
	Calls: []Call{
		{ID: "c1", Name: "add", Args: []string{`{"x":`, `1}`}},
		{ID: "c2", Name: "now", Args: []string{""}},
	},
	Finish: llm.FinishToolCalls, Usage: llm.Usage{Input: 12, Output: 5},
}

var plain = Answer{Text: []string{"grüße ", "日本 🙂"}, Finish: llm.FinishStop, Usage: llm.Usage{Input: 3, Output: 2}}

// answerTable is what an answer must become.
var answerTable = []struct {
	name   string
	answer Answer
	want   string
}{
	{"text", plain, `"grüße 日本 🙂" stop`},
	{"calls", two, `"Let me see. " tool_calls c1:add({"x":1}) c2:now({})`},
	{"call alone", Answer{Calls: two.Calls[:1], Finish: llm.FinishToolCalls}, `"" tool_calls c1:add({"x":1})`},
	{"call with stop", Answer{Calls: two.Calls[:1], Finish: llm.FinishStop}, `"" tool_calls c1:add({"x":1})`},
	{"cut text", Answer{Text: []string{"half"}, Finish: llm.FinishLength}, `"half" length`},
	{"cut call", Answer{Calls: two.Calls[:1], Finish: llm.FinishLength}, `"" length c1:add({"x":1})`},
	{"nothing", Answer{Finish: llm.FinishStop}, `"" stop`},
	{"empty pieces", Answer{Calls: []Call{{ID: "c1", Name: "add", Args: []string{"", `{"x":`, "", `1}`, ""}}}, Finish: llm.FinishToolCalls}, `"" tool_calls c1:add({"x":1})`},
	{"no ids", Answer{Calls: []Call{{Name: "add", Args: []string{"{}"}}, {Name: "now", Args: []string{""}}}, Finish: llm.FinishToolCalls}, `"" tool_calls call_1:add({}) call_2:now({})`},
	{"an id twice", Answer{Calls: []Call{{ID: "c", Name: "add", Args: []string{"{}"}}, {ID: "c", Name: "now", Args: []string{""}}}, Finish: llm.FinishToolCalls}, `"" tool_calls c:add({}) call_2:now({})`},
}

// sampled is which of the cuts go through a client and a transport.
const sampled = 97

func answers(t *testing.T, d Dialect) {
	for _, tt := range answerTable {
		for _, stream := range []bool{true, false} {
			for form, rt := range map[string]serverFunc{
				"stream":             events(d.Stream(tt.answer)),
				"stream called JSON": serve(200, "application/json", strings.NewReader(d.Stream(tt.answer))),
				"JSON":               serve(200, "application/json", strings.NewReader(d.Whole(tt.answer))),
				"JSON called stream": serve(200, "text/event-stream", strings.NewReader("\n \n"+d.Whole(tt.answer))),
			} {
				resp, seen, err := d.ask(t, rt, stream)
				if err != nil {
					t.Errorf("%s, %s: %v", tt.name, form, err)
					continue
				}
				if got := outline(resp); got != tt.want {
					t.Errorf("%s, %s: got %s, want %s", tt.name, form, got, tt.want)
				}
				if seen != resp.Message.Content {
					t.Errorf("%s, %s: the deltas make %q", tt.name, form, seen)
				}
				if u := resp.Usage; u.Input != tt.answer.Usage.Input || u.Output != tt.answer.Usage.Output {
					t.Errorf("%s, %s: usage %+v, want %+v", tt.name, form, u, tt.answer.Usage)
				}
			}
		}
	}
}

// cuts feeds an answer cut at every byte, and byte by byte; some of the cuts
// through a whole exchange.
func cuts(t *testing.T, d Dialect) {
	for _, tt := range answerTable[:2] {
		for _, body := range []string{d.Stream(tt.answer), d.Whole(tt.answer)} {
			check := func(where string, src io.Reader, alone bool) {
				t.Helper()
				ask := d.exchange
				if alone {
					ask = d.decode
				}
				resp, err := ask(t, src)
				if err != nil || outline(resp) != tt.want {
					t.Fatalf("%s %s: %s, %v", tt.name, where, outline(resp), err)
				}
			}
			check("byte by byte", iotest.OneByteReader(strings.NewReader(body)), false)
			check("with the end in the last read", iotest.DataErrReader(strings.NewReader(body)), false)
			for i := range body {
				src := io.MultiReader(strings.NewReader(body[:i]), strings.NewReader(body[i:]))
				check("cut at "+body[:i], src, i%sampled != 0)
			}
		}
	}
}

// countRE finds the counts of tokens.
var countRE = regexp.MustCompile(`(_tokens":\d+)`)

// forms holds what streams may look like on the wire.
func forms(t *testing.T, d Dialect) {
	body := d.Stream(two)
	want := answerTable[1].want
	for name, in := range map[string]string{
		"CRLF":           strings.ReplaceAll(body, "\n", "\r\n"),
		"CR":             strings.ReplaceAll(body, "\n", "\r"),
		"no space":       strings.ReplaceAll(body, "data: ", "data:"),
		"mark":           "\ufeff" + body,
		"mark and JSON":  "\ufeff\n" + d.Whole(two),
		"blanks":         strings.Repeat(" \n", 500) + d.Whole(two),
		"no last blank":  strings.TrimRight(body, "\n"),
		"comments":       strings.ReplaceAll(body, "data: ", ": ping\n\n:\n\nretry: 1000\n\nevent: ping\n\ndata: "),
		"400 comments":   strings.Repeat(": ping\n\n", 400) + body,
		"leading blanks": "\n\n" + body,
		"without events": dropLines(body, "event:"),
		"null errors":    strings.ReplaceAll(body, "data: {", `data: {"error":null,`),
		"more members":   strings.ReplaceAll(body, "data: {", `data: {"new":[{"error":{"message":"no"}}],`),
		"float counts":   countRE.ReplaceAllString(body, "${1}.0"),
		"as JSON":        countRE.ReplaceAllString(d.Whole(two), "${1}.0"),
	} {
		resp, _, err := d.ask(t, events(in), true)
		if err != nil || outline(resp) != want || resp.Usage.Input != two.Usage.Input || resp.Usage.Output != two.Usage.Output {
			t.Errorf("%s: %s, %v", name, outline(resp), err)
		}
	}
	for _, in := range []string{body, d.Whole(two)} {
		resp, _, err := d.ask(t, events(strings.ReplaceAll(in, `"c1"`, "17")), true)
		if err != nil || outline(resp) != strings.ReplaceAll(want, "c1:", "17:") {
			t.Errorf("an id that is a number: %s, %v", outline(resp), err)
		}
	}
	for _, in := range []string{body, d.Whole(two)} {
		resp, _, err := d.ask(t, serve(200, "", bytes.NewReader(zip(in)), "Content-Encoding", "gzip"), true)
		if err != nil || outline(resp) != want {
			t.Errorf("gzip: %s, %v", outline(resp), err)
		}
	}
	if _, _, err := d.ask(t, serve(200, "", strings.NewReader(body), "Content-Encoding", "br"), true); err == nil || !strings.Contains(err.Error(), `"br"`) {
		t.Errorf("an unknown encoding: %v", err)
	}
	refusal := serve(429, "", strings.NewReader("\x00"), "Content-Encoding", "br", "Retry-After", "3")
	if _, _, err := d.ask(t, refusal, true); err == nil || err.Kind != llm.ErrRateLimit || err.RetryAfter != 3*time.Second || !strings.Contains(err.Error(), "Too Many Requests") {
		t.Errorf("a refusal in an unknown encoding: %v", err)
	}
}

// manyCalls holds that an answer may have many calls, but not any number.
func manyCalls(t *testing.T, d Dialect) {
	for n, ok := range map[int]bool{d.MaxCalls: true, d.MaxCalls + 1: false} {
		a := Answer{Finish: llm.FinishToolCalls}
		for i := range n {
			a.Calls = append(a.Calls, Call{ID: fmt.Sprint("c", i), Name: "f", Args: []string{"{}"}})
		}
		for _, body := range []string{d.Stream(a), d.Whole(a)} {
			resp, err := d.decode(t, strings.NewReader(body))
			switch {
			case ok && (err != nil || len(resp.Message.ToolCalls) != n):
				t.Errorf("%d calls: %v", n, err)
			case !ok && (err == nil || err.Kind != llm.ErrProtocol || !strings.Contains(err.Message, fmt.Sprint(d.MaxCalls))):
				t.Errorf("%d calls: %v", n, err)
			}
		}
	}
}

func dropLines(s, prefix string) string {
	var b strings.Builder
	for line := range strings.SplitAfterSeq(s, "\n") {
		if !strings.HasPrefix(line, prefix) {
			b.WriteString(line)
		}
	}
	return b.String()
}

func zip(s string) []byte {
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	_, _ = io.WriteString(w, s)
	_ = w.Close()
	return b.Bytes()
}

// characters holds that no character breaks at a delta's edge.
func characters(t *testing.T, d Dialect) {
	for _, tt := range []struct {
		inner []string
		want  string
	}{
		{[]string{`\ud83d`, `\ude42`}, "🙂"},
		{[]string{"a\xf0\x9f", "\x99\x82b"}, "a🙂b"},
		{[]string{`x\ud83d`, "y"}, "x\uFFFDy"},
		{[]string{`\ud83d`}, "\uFFFD"},
		{[]string{`a\u0000b\n`}, "a\x00b\n"},
	} {
		resp, seen, err := d.ask(t, events(d.Render(tt.inner, Answer{Finish: llm.FinishStop})), true)
		if err != nil || resp.Message.Content != tt.want {
			t.Errorf("%q: %q, %v", tt.inner, outline(resp), err)
		}
		if !strings.HasPrefix(tt.want, seen) {
			t.Errorf("%q: the deltas make %q", tt.inner, seen)
		}
	}
}

// earlyEnd cuts an answer off after every event, and in the middle of each:
// never a success.
func earlyEnd(t *testing.T, d Dialect) {
	body := d.Stream(two)
	complete := completeFrom(t, d, body)
	for i := range complete {
		for name, src := range map[string]io.Reader{
			"end":   strings.NewReader(body[:i]),
			"break": io.MultiReader(strings.NewReader(body[:i]), iotest.ErrReader(io.ErrUnexpectedEOF)),
		} {
			ask := d.decode
			if i%sampled == 0 {
				ask = d.exchange
			}
			resp, err := ask(t, src)
			if err == nil {
				t.Fatalf("%s after %d bytes is a success: %s\n%s", name, i, outline(resp), body[:i])
			}
			if err.Kind != llm.ErrProtocol && err.Kind != llm.ErrNetwork || !err.Started || err.Retryable() {
				t.Fatalf("%s after %d bytes: kind %s, started %v", name, i, err.Kind, err.Started)
			}
		}
	}
	whole := d.Whole(two)
	for i := range strings.TrimSpace(whole) {
		if resp, err := d.decode(t, strings.NewReader(whole[:i])); err == nil {
			t.Fatalf("JSON of %d bytes is a success: %s", i, outline(resp))
		}
	}
	if _, _, err := d.ask(t, serve(http.StatusNoContent, "", strings.NewReader("")), true); err == nil {
		t.Error("no content is a success")
	}
	if _, _, err := d.ask(t, events(strings.Repeat(": ping\n\n", 5)), true); err == nil {
		t.Error("comments alone are a success")
	}
}

// completeFrom finds the length from which a stream is complete: that of its
// last event which is no mere mark of the end.
func completeFrom(t *testing.T, d Dialect, body string) int {
	t.Helper()
	for i := len(body); i > 0; i-- {
		if i < len(body) && body[i-1] != '\n' {
			continue
		}
		if _, err := d.decode(t, strings.NewReader(body[:i])); err != nil {
			return i + 1 // from the next line on it may be
		}
	}
	t.Fatal("an empty stream is a success")
	return 0
}
