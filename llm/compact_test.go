package llm

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// script builds a history from lines: "u text", "a text", "c id name" (a call
// with its result), each repeated to some weight with "*N".
func script(lines ...string) *History {
	h := NewHistory(nil)
	for _, line := range lines {
		kind, text, _ := strings.Cut(line, " ")
		if body, n, ok := strings.Cut(text, "*"); ok {
			var k int
			fmt.Sscan(n, &k)
			text = body + strings.Repeat(".", k)
		}
		switch kind {
		case "u":
			h.Append(user(text))
		case "a":
			h.Append(says(text))
		case "c":
			h.Append(calls(text+" run"), result(text, "result of "+text+strings.Repeat("x", 200)))
		}
	}
	return h
}

func heads(msgs []Message) string {
	var out []string
	for _, m := range msgs {
		s := m.Content
		switch {
		case isSummary(m):
			s = "SUMMARY"
		case m.Role == RoleTool:
			s = "=" + m.ToolCallID
		case len(m.ToolCalls) > 0:
			s = m.ToolCalls[0].ID
		}
		out = append(out, strings.TrimRight(s, "."))
	}
	return strings.Join(out, " ")
}

func TestCompactionKeeps(t *testing.T) {
	sum := summaryHead + "old"
	tests := []struct {
		name string
		h    *History
		want string
	}{
		{
			"the last two turns",
			script("u q1*300", "a a1", "u q2*300", "c c1", "a a2", "u q3", "c c2", "a a3", "u q4", "a a4"),
			"SUMMARY q3 c2 =c2 a3 q4 a4",
		},
		{
			"the mission and two exchanges of a single long turn",
			script("u mission", "c c1", "c c2", "c c3", "c c4", "c c5"),
			"mission SUMMARY c4 =c4 c5 =c5",
		},
		{
			"the newest message of a turn that was steered",
			script("u mission", "c c1", "u steer1", "c c2", "u steer2", "c c3", "c c4", "c c5"),
			"mission steer2 SUMMARY c4 =c4 c5 =c5",
		},
		{
			"both openings when the last turn but one is large",
			script("u q0*100", "a a0", "u q1", "c c1", "c c2", "c c3", "c c4", "a a1", "u q2", "a a2"),
			"q1 SUMMARY a1 q2 a2",
		},
		{
			"no earlier summary",
			script("u mission", "u "+sum, "c c1", "c c2", "c c3", "c c4"),
			"mission SUMMARY c3 =c3 c4 =c4",
		},
		{
			"no earlier summary in front of kept turns",
			script("u "+sum, "u q1", "a a1*900", "u q2", "a a2", "u q3", "a a3"),
			"SUMMARY q2 a2 q3 a3",
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			p, err := PlanCompaction(tt.h)
			if err != nil {
				t.Fatal(err)
			}
			msgs, err := p.Apply("short")
			if err != nil {
				t.Fatal(err)
			}
			if got := heads(msgs); got != tt.want {
				t.Errorf("kept %s\nwant %s", got, tt.want)
			}
		})
	}
}

func TestCompactionRequest(t *testing.T) {
	h := script("u mission", "u "+summaryHead+"an older summary", "c c1", "c c2", "a text of the answer", "c c3", "c c4")
	p, err := PlanCompaction(h)
	if err != nil {
		t.Fatal(err)
	}
	text := p.Request()[0].Content
	for _, want := range []string{"an older summary", "result of c1", "(calls run {})", "text of the answer"} {
		if !strings.Contains(text, want) {
			t.Errorf("the request lacks %q:\n%s", want, text)
		}
	}
	if strings.Contains(text, "result of c4") {
		t.Errorf("the request has what is kept:\n%s", text)
	}
	p.MaxBytes = 1500
	small := p.Request()[0].Content
	if len(small) > 1500 || !strings.Contains(small, "an older summary") || !strings.HasSuffix(small, endOfTranscript) {
		t.Errorf("the request of at most 1,500 bytes has %d:\n%s", len(small), small)
	}
}

func TestCompactionWithoutProgress(t *testing.T) {
	for name, h := range map[string]*History{
		"empty":          script(),
		"one turn":       script("u q1*5000", "a a1"),
		"two exchanges":  script("u q1", "c c1", "c c2"),
		"a huge mission": script("u q1*90000", "c c1", "c c2", "c c3"),
	} {
		if _, err := PlanCompaction(h); !errors.Is(err, ErrNoProgress) {
			t.Errorf("%s: %v, want ErrNoProgress", name, err)
		}
	}
	p, err := PlanCompaction(script("u q1*500", "a a1", "u q2", "a a2", "u q3", "a a3"))
	if err != nil {
		t.Fatal(err)
	}
	for _, summary := range []string{"", " \n\x00", summaryHead, strings.Repeat("long ", 200)} {
		if _, err := p.Apply(summary); !errors.Is(err, ErrNoProgress) {
			t.Errorf("summary %.20q: %v, want ErrNoProgress", summary, err)
		}
	}
}

// TestCompactionOfALongTurn runs one turn of 300 batches of parallel calls and
// compacts whenever the conversation is large, between batches: the task and
// what the last summary said stay, and the size stays bounded.
func TestCompactionOfALongTurn(t *testing.T) {
	const limit = 8000
	h := NewHistory([]Message{user("the mission")})
	compactions := 0
	for i := range 300 {
		a, b := fmt.Sprint("a", i), fmt.Sprint("b", i)
		h.Append(calls(a+" run", b+" run"), result(b, strings.Repeat("y", 100)), result(a, strings.Repeat("x", 100)))
		if h.Bytes() < limit {
			continue
		}
		p, err := PlanCompaction(h)
		if err != nil {
			t.Fatal(err)
		}
		if text := p.Request()[0].Content; compactions > 0 && !strings.Contains(text, fmt.Sprint("summary number ", compactions)) {
			t.Fatalf("the earlier summary is not in the request for the next:\n%s", text)
		}
		compactions++
		msgs, err := p.Apply(fmt.Sprint("summary number ", compactions))
		if err != nil {
			t.Fatal(err)
		}
		h.Clear()
		h.Append(msgs...)
		got := h.Request("o/m")
		checkRules(t, got, "o/m")
		want := fmt.Sprintf("the mission SUMMARY a%d =a%d =b%d a%d =a%d =b%d", i-1, i-1, i-1, i, i, i)
		if heads(got) != want || h.Bytes() > limit/4 {
			t.Fatalf("after batch %d: %s (%d bytes), want %s", i, heads(got), h.Bytes(), want)
		}
	}
	if compactions < 5 || compactions > 60 {
		t.Errorf("%d compactions", compactions)
	}
}

// TestCompactionProperties compacts random conversations again and again, with
// messages in between: pairs stay whole, what must be kept is there as it was,
// the result is smaller, and it ends.
func TestCompactionProperties(t *testing.T) {
	done := 0
	rapid.Check(t, func(t *rapid.T) {
		h := NewHistory(nil)
		grow := rapid.SliceOfN(anyMessage(), 20, 60)
		for range 3 {
			for _, m := range grow.Draw(t, "messages") {
				if m.Role == RoleTool {
					m.Content += strings.Repeat("x", rapid.IntRange(0, 300).Draw(t, "size"))
				}
				h.Append(m)
			}
			for n := 0; ; n++ {
				if n > 60 {
					t.Fatalf("compaction goes on for ever:\n%s", outline(h.Messages()))
				}
				if !compactOnce(t, h, strings.Repeat("s", rapid.IntRange(1, 400).Draw(t, "summary"))) {
					break
				}
				done++
			}
		}
	})
	if done < 20 {
		t.Errorf("only %d compactions made progress: the conversations are too small to test anything", done)
	}
}

// compactOnce tells whether there was progress.
func compactOnce(t *rapid.T, h *History, summary string) bool {
	h.CloseOpen("")
	old := h.Messages()
	before := h.Bytes()
	p, err := PlanCompaction(h)
	if err != nil {
		if !errors.Is(err, ErrNoProgress) {
			t.Fatal(err)
		}
		return false
	}
	if n := len(p.Request()[0].Content); n > DefaultPlanBytes {
		t.Fatalf("the summarising request has %d bytes", n)
	}
	msgs, err := p.Apply(summary)
	if errors.Is(err, ErrNoProgress) {
		return false
	}
	checkKept(t, old, msgs)
	h.Clear()
	h.Append(msgs...)
	got := h.Request("o/m")
	checkRules(t, got, "o/m")
	if diff := cmp.Diff(outline(NewHistory(msgs).Request("o/m")), outline(got)); diff != "" {
		t.Fatalf("a history that was used before differs:\n%s", diff)
	}
	if len(got) != len(msgs) || h.Bytes() >= before {
		t.Fatalf("%d messages of %d bytes became %d (%d of them valid) of %d", len(old), before, len(msgs), len(got), h.Bytes())
	}
	return true
}

// checkKept finds on its own what a compaction must keep: the last two turns
// whole, or their openings, the newest message and the last two exchanges.
func checkKept(t *rapid.T, old, msgs []Message) {
	var turns, exchanges []Message
	answers, users := 0, 0
	for i := len(old) - 1; i >= 0; i-- {
		m := old[i]
		if isSummary(m) {
			continue
		}
		opens := m.Role == RoleUser && (i == 0 || old[i-1].Role == RoleAssistant || isSummary(old[i-1]))
		newest := m.Role == RoleUser && !slices.ContainsFunc(old[i+1:], func(m Message) bool { return m.Role == RoleUser && !isSummary(m) })
		if users < 2 {
			turns = append(turns, m)
		}
		if newest || answers < 2 && m.Role != RoleUser || users < 2 && opens {
			exchanges = append(exchanges, m)
		}
		if m.Role == RoleAssistant {
			answers++
		}
		if opens {
			users++
		}
	}
	if lost(turns, msgs) != "" && lost(exchanges, msgs) != "" {
		t.Fatalf("lost\n%sand\n%sof\n%s->\n%s", lost(turns, msgs), lost(exchanges, msgs), outline(old), outline(msgs))
	}
	summaries := 0
	for _, m := range msgs {
		if isSummary(m) {
			summaries++
		}
	}
	if summaries != 1 {
		t.Fatalf("%d summaries in\n%s", summaries, outline(msgs))
	}
}

// lost is the outline of the messages of must that msgs does not have, in
// their order.
func lost(must, msgs []Message) string {
	slices.Reverse(must)
	defer slices.Reverse(must)
	var gone []Message
	for _, m := range must {
		same := func(k Message) bool { return outline([]Message{m}) == outline([]Message{k}) }
		i := slices.IndexFunc(msgs, same)
		if i < 0 {
			gone = append(gone, m)
			continue
		}
		msgs = msgs[i+1:]
	}
	return outline(gone)
}
