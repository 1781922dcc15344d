package llm

import (
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func user(text string) Message { return Message{Role: RoleUser, Content: text} }

func says(text string) Message { return Message{Role: RoleAssistant, Content: text} }

// calls makes an assistant message; each call is "id name" or "id name args".
func calls(cs ...string) Message {
	m := Message{Role: RoleAssistant}
	for _, c := range cs {
		f := strings.SplitN(c, " ", 3)
		tc := ToolCall{ID: f[0], Name: f[1], Args: "{}"}
		if len(f) > 2 {
			tc.Args = f[2]
		}
		m.ToolCalls = append(m.ToolCalls, tc)
	}
	return m
}

func result(id, text string) Message {
	return Message{Role: RoleTool, ToolCallID: id, Content: text}
}

// outline is a conversation as text, one message a line.
func outline(msgs []Message) string {
	var b strings.Builder
	for _, m := range msgs {
		fmt.Fprintf(&b, "%s", m.Role)
		if m.ToolCallID != "" {
			fmt.Fprintf(&b, " %s/%s", m.ToolCallID, m.ToolName)
		}
		if m.Failed {
			b.WriteString(" failed")
		}
		if m.Content != "" {
			fmt.Fprintf(&b, " %q", m.Content)
		}
		for _, r := range m.Reasoning {
			fmt.Fprintf(&b, " (%s: %s%s)", r.Origin, r.Text, r.Raw)
		}
		for _, c := range m.ToolCalls {
			fmt.Fprintf(&b, " %s=%s%s", c.ID, c.Name, c.Args)
		}
		for _, a := range m.Attachments {
			fmt.Fprintf(&b, " <%s>", a.Name)
		}
		b.WriteByte('\n')
	}
	return b.String()
}

var historyRules = []struct {
	name string
	in   []Message
	want string
}{
	{"a plain turn", []Message{user("hi"), says("yes?")}, "user \"hi\"\nassistant \"yes?\"\n"},
	{
		"cancel while the second of three tools runs, then go on",
		[]Message{user("x"), calls("a t", "b t", "c t"), result("a", "1"), user("go on")},
		"user \"x\"\nassistant a=t{} b=t{} c=t{}\ntool a/t \"1\"\ntool b/t failed \"cancelled\"\n" +
			"tool c/t failed \"cancelled\"\nuser \"go on\"\n",
	},
	{
		"submit while a tool runs; results in reverse order",
		[]Message{calls("a t", "b u"), user("hurry"), result("b", "2"), result("a", "1"), says("ok")},
		"assistant a=t{} b=u{}\ntool a/t \"1\"\ntool b/u \"2\"\nuser \"hurry\"\nassistant \"ok\"\n",
	},
	{
		"an answer before its calls have results",
		[]Message{calls("a t"), says("never mind"), result("a", "late")},
		"assistant a=t{}\ntool a/t failed \"cancelled\"\nassistant \"never mind\"\n",
	},
	{
		"results without a call, twice, and of another call",
		[]Message{result("z", "?"), user("x"), calls("a t"), result("b", "?"), result("a", "1"), result("a", "2")},
		"user \"x\"\nassistant a=t{}\ntool a/t \"1\"\n",
	},
	{
		"the same id twice in one message and again later, and ids that are missing",
		[]Message{
			calls("a t", "a u"), result("a", "1"), result("a", "2"),
			calls("a t"), result("a", "3"),
			{Role: RoleAssistant, ToolCalls: []ToolCall{{Name: "t"}, {Name: "u", Args: " \n"}}},
			result("", "4"), result("", "5"),
		},
		"assistant a=t{} a_2=u{}\ntool a/t \"1\"\ntool a_2/u \"2\"\nassistant a_3=t{}\ntool a_3/t \"3\"\n" +
			"assistant call_4=t{} call_5=u{}\ntool call_4/t \"4\"\ntool call_5/u \"5\"\n",
	},
	{
		"results by the repaired id",
		[]Message{calls("a t", "a u"), result("a_2", "2"), result("a", "1")},
		"assistant a=t{} a_2=u{}\ntool a/t \"1\"\ntool a_2/u \"2\"\n",
	},
	{
		"empty messages",
		[]Message{
			user(" \n"), user("x"), says("\t"),
			{Role: RoleAssistant, Reasoning: []Reasoning{{Origin: "o/m", Text: "hm"}}},
			{Role: RoleAssistant, Content: "  ", ToolCalls: []ToolCall{{ID: "a", Name: "t"}}},
			result("a", "\n"),
			{Role: RoleUser, Attachments: []Attachment{{Name: "a.png"}}},
			{Role: "system", Content: "be evil"},
		},
		"user \"x\"\nassistant a=t{}\ntool a/t \"(empty result)\"\nuser <a.png>\n",
	},
	{
		"bytes that are no text",
		[]Message{user("a\x00b\xff\xfec\r\nd\x1b[31me"), calls("a t {\"x\":\"\x01\"}"), result("a", "\x1b]0;title\x07ok")},
		"user \"ab\ufffdc\\nde\"\nassistant a=t{\"x\":\"\"}\ntool a/t \"ok\"\n",
	},
	{
		"long ids",
		[]Message{calls(strings.Repeat("i", 300)+" t", strings.Repeat("i", 9000)+" t"), result(strings.Repeat("i", 9000), "2"), result(strings.Repeat("i", 300), "1")},
		"assistant " + strings.Repeat("i", 300) + "=t{} call_2=t{}\ntool " + strings.Repeat("i", 300) + "/t \"1\"\ntool call_2/t \"2\"\n",
	},
	{
		"names that no provider takes back",
		[]Message{calls("a functions.run:0", "b "+strings.Repeat("n", 70)), result("a", "1"), result("b", "2")},
		"assistant a=functions_run_0{} b=" + strings.Repeat("n", 64) + "{}\n" +
			"tool a/functions_run_0 \"1\"\ntool b/" + strings.Repeat("n", 64) + " \"2\"\n",
	},
	{
		"reasoning of others",
		[]Message{
			{Role: RoleAssistant, Content: "1", Reasoning: []Reasoning{{Origin: "o/m", Text: "mine"}, {Origin: "o/x", Text: "foreign"}}},
			{Role: RoleAssistant, Content: "2", Reasoning: []Reasoning{{Origin: "o/x", Raw: []byte(`{}`)}}},
			{Role: RoleAssistant, Content: "3", Reasoning: []Reasoning{{Origin: "o/m", Raw: []byte(`{broken`)}}},
		},
		"assistant \"1\" (o/m: mine)\nassistant \"2\"\nassistant \"3\"\n",
	},
}

func TestHistoryRules(t *testing.T) {
	for _, tt := range historyRules {
		t.Run(tt.name, func(t *testing.T) {
			h := NewHistory(tt.in)
			if diff := cmp.Diff(tt.want, outline(h.Request("o/m"))); diff != "" {
				t.Errorf("request (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(tt.want, outline(NewHistory(h.Messages()).Request("o/m"))); diff != "" {
				t.Errorf("a history made of its own messages differs (-first +second):\n%s", diff)
			}
		})
	}
}

func TestCloseOpen(t *testing.T) {
	h := NewHistory([]Message{calls("a t", "b t"), result("b", "2"), user("steer")})
	if got, want := h.Len(), 3; got != want {
		t.Errorf("Len() = %d with a result and a message waiting, want %d", got, want)
	}
	if got, want := outline(h.Messages()), "assistant a=t{} b=t{}\ntool b/t \"2\"\nuser \"steer\"\n"; got != want {
		t.Errorf("Messages() while a call is open:\n%swant\n%s", got, want)
	}
	if got, want := outline(h.CloseOpen("interrupted, outcome unknown")), "tool a/t failed \"interrupted, outcome unknown\"\n"; got != want {
		t.Errorf("CloseOpen returned\n%swant\n%s", got, want)
	}
	if got := h.CloseOpen("again"); got != nil {
		t.Errorf("a second CloseOpen returned %s", outline(got))
	}
	want := "assistant a=t{} b=t{}\ntool a/t failed \"interrupted, outcome unknown\"\ntool b/t \"2\"\nuser \"steer\"\n"
	if got := outline(h.Request("")); got != want {
		t.Errorf("Request:\n%swant\n%s", got, want)
	}
}

func TestSupersede(t *testing.T) {
	volatile := func(name string) bool { return strings.HasPrefix(name, "map_") }
	h := NewHistory([]Message{user("x")})
	var seen []string
	for i, names := range []string{"map_read", "other", "map_read map_read map_x", "map_x", "other", "map_read"} {
		var cs []string
		for j, name := range strings.Fields(names) {
			cs = append(cs, fmt.Sprintf("c%d%d %s", i, j, name))
		}
		h.Append(calls(cs...))
		for j := range cs {
			h.Append(result(fmt.Sprintf("c%d%d", i, j), fmt.Sprintf("v%d%d", i, j)))
		}
		h.Append(user("steer"))
		h.Supersede(volatile)
		var line []string
		for _, m := range h.Request("") {
			if m.Role == RoleTool {
				line = append(line, m.Content)
			}
		}
		seen = append(seen, strings.Join(line, " "))
	}
	r, x := "[superseded by newer map_read]", "[superseded by newer map_x]"
	want := []string{
		"v00",
		"v00 v10",
		r + " v10 v20 v21 v22",
		r + " v10 v20 v21 " + x + " v30",
		r + " v10 v20 v21 " + x + " v30 v40",
		r + " v10 " + r + " " + r + " " + x + " v30 v40 v50",
	}
	if diff := cmp.Diff(want, seen); diff != "" {
		t.Errorf("results after each batch (-want +got):\n%s", diff)
	}
}

// anyText is text with what breaks requests in it.
func anyText() *rapid.Generator[string] {
	return rapid.Custom(func(t *rapid.T) string {
		part := rapid.SampledFrom([]string{"", " ", "a", "long text ", "\n", "\x00", "\xff", "\x1b[1m", "ü", "\r\n", "\u0085"})
		return strings.Join(rapid.SliceOfN(part, 0, 5).Draw(t, "text"), "")
	})
}

// anyMessage draws from few ids and tools, so that they meet.
func anyMessage() *rapid.Generator[Message] {
	id := rapid.SampledFrom([]string{"", "a", "b", "a_2", "c"})
	tool := rapid.SampledFrom([]string{"map_read", "run", "bad name"})
	return rapid.Custom(func(t *rapid.T) Message {
		m := Message{Content: anyText().Draw(t, "content")}
		switch rapid.IntRange(0, 5).Draw(t, "role") {
		case 0, 1:
			m.Role = RoleUser
		case 2, 3:
			m.Role = RoleAssistant
			for range rapid.IntRange(0, 3).Draw(t, "calls") {
				m.ToolCalls = append(m.ToolCalls, ToolCall{ID: id.Draw(t, "id"), Name: tool.Draw(t, "tool"), Args: "{}"})
			}
			if rapid.Bool().Draw(t, "thinks") {
				m.Reasoning = []Reasoning{{Origin: rapid.SampledFrom([]string{"o/m", "o/x"}).Draw(t, "origin"), Text: "hm"}}
			}
		default:
			m.Role = RoleTool
			m.ToolCallID = id.Draw(t, "id")
		}
		return m
	})
}

// checkRules fails unless the messages may go to a model.
func checkRules(t interface{ Fatalf(string, ...any) }, msgs []Message, origin string) {
	ids := map[string]bool{}
	var open []string
	for i, m := range msgs {
		if m.Role != RoleTool && len(open) > 0 {
			t.Fatalf("message %d comes before the results of %v:\n%s", i, open, outline(msgs))
		}
		if !utf8.ValidString(m.Content) || Clean(m.Content) != m.Content {
			t.Fatalf("message %d is not clean: %q", i, m.Content)
		}
		if strings.TrimSpace(m.Content) == "" && (len(m.ToolCalls) == 0 || m.Content != "") {
			t.Fatalf("message %d is empty:\n%s", i, outline(msgs))
		}
		for _, r := range m.Reasoning {
			if r.Origin != origin {
				t.Fatalf("message %d has foreign reasoning", i)
			}
		}
		for _, c := range m.ToolCalls {
			if c.ID == "" || ids[c.ID] {
				t.Fatalf("message %d: id %q is used twice:\n%s", i, c.ID, outline(msgs))
			}
			ids[c.ID] = true
			open = append(open, c.ID)
		}
		if m.Role == RoleTool {
			if len(open) == 0 || open[0] != m.ToolCallID {
				t.Fatalf("message %d answers %q, open are %v:\n%s", i, m.ToolCallID, open, outline(msgs))
			}
			open = open[1:]
		}
	}
	if len(open) > 0 {
		t.Fatalf("calls without result: %v:\n%s", open, outline(msgs))
	}
}

// TestHistoryProperties sends requests all through a random conversation:
// each obeys the rules, and none changes what an earlier one said, nor a slice
// that was given out.
func TestHistoryProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		h := NewHistory(nil)
		volatile := func(name string) bool { return name == "map_read" }
		var sent []Message
		var before string
		var log []Message
		changes, superseded := true, false
		for _, m := range rapid.SliceOfN(anyMessage(), 0, 40).Draw(t, "messages") {
			log = append(log, h.Append(m)...)
			switch rapid.IntRange(0, 3).Draw(t, "then") {
			case 0:
				log = append(log, h.CloseOpen("cancelled")...)
				checkRules(t, h.Request("o/m"), "o/m")
				now := h.Request("o/m")
				if outline(sent) != before {
					t.Fatalf("a slice that was given out changed:\n%sto\n%s", before, outline(sent))
				}
				if !changes && !strings.HasPrefix(outline(now), before) {
					t.Fatalf("the request does not continue the one before:\n%safter\n%s", outline(now), before)
				}
				sent, before, changes = now, outline(now), false
			case 1:
				h.Supersede(volatile)
				changes, superseded = true, true
			case 2:
				if n := len(h.Messages()); n != h.Len() {
					t.Fatalf("Len() = %d for %d messages", h.Len(), n)
				}
			}
		}
		log = append(log, h.CloseOpen("cancelled")...)
		sum := 0
		for _, m := range h.Messages() {
			sum += messageBytes(m)
		}
		if !superseded && outline(NewHistory(log).Messages()) != outline(h.Messages()) {
			t.Fatalf("what Append returned makes\n%sthe history is\n%s", outline(NewHistory(log).Messages()), outline(h.Messages()))
		}
		if sum != h.Bytes() {
			t.Fatalf("Bytes() = %d, its messages have %d", h.Bytes(), sum)
		}
	})
}

func TestEstimateTokens(t *testing.T) {
	h := NewHistory([]Message{user(strings.Repeat("a", 4000))})
	if got, want := h.EstimateTokens(8000), int64((h.Bytes()+8000)/4); got != want {
		t.Errorf("without usage: %d tokens, want %d", got, want)
	}
	h.Append(calls("a t"))
	h.Observe(Usage{Input: 600, Output: 5})
	if got := h.EstimateTokens(8000); got != 605 {
		t.Errorf("605 tokens used: %d", got)
	}
	h.Append(result("a", strings.Repeat("c", 4000-32-1)))
	if got := h.EstimateTokens(8000); got != 605+1000 {
		t.Errorf("605 tokens used and 4,000 bytes since: %d", got)
	}
	// The same figures again are news, too.
	h.Append(says("ok"))
	h.Observe(Usage{Input: 600, Output: 5})
	if got := h.EstimateTokens(8000); got != 605 {
		t.Errorf("605 tokens used again: %d", got)
	}
	h.Observe(Usage{})
	h.Clear()
	if got := h.EstimateTokens(800); got > 605 {
		t.Errorf("after Clear the old usage still counts: %d tokens", got)
	}
}
