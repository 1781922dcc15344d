package actors_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"

	"clm/actors"
	"clm/actors/msg"
	"clm/llm"
)

// long is a conversation of n turns of about 1 kB each.
func long(n int) []llm.Message {
	var out []llm.Message
	for i := range n {
		out = append(out,
			llm.Message{Role: llm.RoleUser, Content: fmt.Sprintf("question %d %s", i, strings.Repeat("q", 500))},
			llm.Message{Role: llm.RoleAssistant, Content: fmt.Sprintf("answer %d %s", i, strings.Repeat("a", 500))})
	}
	return out
}

func phases(events []actors.Event) string {
	var out []string
	for _, e := range events {
		if c, ok := e.Data.(msg.Compaction); ok {
			out = append(out, fmt.Sprintf("%s %v", c.Phase, c.MidChain))
		}
	}
	return strings.Join(out, ", ")
}

func TestCompact(t *testing.T) {
	bubble(t, actors.Options{}, func(r *rig) {
		a, l := r.spawn(actors.AgentOptions{System: "be brief", History: long(20)})
		n, err := a.Compact()
		if err != nil {
			r.Fatal(err)
		}
		d, events := r.end(l, n)
		if d.Status != "done" || phases(events) != "started false, succeeded false" {
			r.Errorf("%+v, %s", d, phases(events))
		}
		h, err := a.History()
		if err != nil {
			r.Fatal(err)
		}
		text := fmt.Sprint(h)
		if !strings.Contains(text, "the summary of it all") || !strings.Contains(text, "question 19") || !strings.Contains(text, "question 18") || strings.Contains(text, "question 5 ") {
			r.Errorf("kept: %.2000s", text)
		}
		if a.TakeMidChainCompactStarted() || a.TakeMidChainCompactSucceeded() {
			r.Error("an explicit compaction set the mid-chain flags")
		}
	}, "!text the summary of it all\n!finish stop\n")

	bubble(t, actors.Options{}, func(r *rig) {
		a, l := r.spawn(actors.AgentOptions{})
		n, err := a.Compact()
		if err != nil {
			r.Fatal(err)
		}
		if d, _ := r.end(l, n); d.Status != "failed" || !errors.Is(d.Err, actors.ErrNothingToCompact) || !errors.Is(d.Err, llm.ErrNoProgress) || len(r.model.Requests()) != 0 {
			r.Errorf("an empty conversation: %+v, %d requests", d, len(r.model.Requests()))
		}
	})
}

func TestMidChainCompaction(t *testing.T) {
	model := actors.Model{Connection: llm.Connection{URL: modelURL}, ID: "mock", ContextSize: 8000}
	used := "!tool c1 t {}\n!usage 5700 10\n!finish tool_calls\n"
	bubble(t, actors.Options{}, func(r *rig) {
		a, l := r.spawn(actors.AgentOptions{Model: model, History: long(20), Tools: r.tools(goTool(says("result")))})
		d, events := r.turn(a, l, "go on")
		if d.Status != "done" || d.Text != "ok" || phases(events) != "started true, succeeded true" {
			r.Errorf("%+v, %s", d, phases(events))
		}
		for _, take := range []func() bool{a.TakeMidChainCompactStarted, a.TakeMidChainCompactSucceeded} {
			if !take() || take() {
				r.Error("a mid-chain flag is read once")
			}
		}
		if a.TakeMidChainCompactError() {
			r.Error("the error flag is set")
		}
		q := r.model.Requests()
		last := string(q[len(q)-1].Body)
		if len(q) != 3 || !strings.Contains(last, "a short summary") || !strings.Contains(last, "go on") || !strings.Contains(last, "result") || strings.Contains(last, "question 3 ") {
			r.Errorf("%d requests, the last: %.1500s", len(q), last)
		}
	}, used, "!text a short summary\n!finish stop\n", ok)

	// A summary that fails does not end the chain, and is not tried again.
	bubble(t, actors.Options{}, func(r *rig) {
		a, l := r.spawn(actors.AgentOptions{Model: model, History: long(20), Tools: r.tools(goTool(says("result")))})
		d, events := r.turn(a, l, "go on")
		if d.Status != "done" || phases(events) != "started true, failed true" || !a.TakeMidChainCompactError() || a.LastError() == "" {
			r.Errorf("%+v, %s, %q", d, phases(events), a.LastError())
		}
	}, used, "!status 400\n{\"error\":{\"message\":\"no summaries here\"}}", strings.Replace(used, "c1", "c2", 1), ok)
}

// What is used follows the conversation, so that nobody who compacts over the
// threshold does so again and again; what the summary cost is told like the rest.
func TestContextUsedFollows(t *testing.T) {
	bubble(t, actors.Options{}, func(r *rig) {
		m := mock(10_000)
		m.Price.Input = 1
		a, l := r.spawn(actors.AgentOptions{Model: m, History: long(20)})
		if used := a.ContextUsed(); used < 5000 || a.OverAutocompactThreshold() {
			r.Errorf("of the history %d tokens are used", used)
		}
		r.turn(a, l, "go")
		if !a.OverAutocompactThreshold() {
			r.Errorf("%d tokens are not over the threshold", a.ContextUsed())
		}
		n, err := a.Compact()
		if err != nil {
			r.Fatal(err)
		}
		d, events := r.end(l, n)
		if d.Status != "done" || a.OverAutocompactThreshold() || a.ContextUsed() == 0 {
			r.Errorf("after a compaction (%s) %d tokens are used", d.Status, a.ContextUsed())
		}
		var told []msg.UsageReported
		for _, e := range events {
			if u, ok := e.Data.(msg.UsageReported); ok {
				told = append(told, u)
			}
		}
		if len(told) != 1 || told[0].Usage.Input != 3000 || told[0].Price == 0 || told[0].ContextUsed != a.ContextUsed() {
			r.Errorf("of the summary was told: %+v", told)
		}
		if err := a.ClearHistory(); err != nil || a.ContextUsed() != 0 {
			r.Errorf("%v, of an empty conversation %d tokens are used", err, a.ContextUsed())
		}
		if err := a.RestoreHistory(long(20)); err != nil || a.ContextUsed() < 5000 {
			r.Errorf("%v, after a restore %d tokens are used", err, a.ContextUsed())
		}
	}, "!text fine\n!usage 8000 10\n!finish stop\n", "!text short\n!usage 3000 10\n!finish stop\n")
}

func TestContextSizeIsLearned(t *testing.T) {
	bubble(t, actors.Options{}, func(r *rig) {
		r.model.Props = `{"default_generation_settings":{"n_ctx":2048}}`
		a, l := r.spawn(actors.AgentOptions{
			Model: actors.Model{Connection: llm.Connection{URL: modelURL}, ID: "mock"}, History: long(10),
			Tools: r.tools(goTool(says("result"))),
		})
		_, events := r.turn(a, l, "go")
		if a.ContextMax() != 2048 || phases(events) != "started true, succeeded true" {
			r.Errorf("window %d, %s", a.ContextMax(), phases(events))
		}
		if !a.OverAutocompactThreshold() && a.ContextUsed() >= 2048*70/100 {
			r.Errorf("%d tokens used are not over the threshold", a.ContextUsed())
		}
	}, "!tool c1 t {}\n!usage 1900 10\n!finish tool_calls\n", "!text short\n!finish stop\n", ok)
}

// A turn that only compacts, or is cancelled while it waits, asks for no window,
// and leaves the question to those that follow.
func TestContextSizeIsLearnedLater(t *testing.T) {
	bubble(t, actors.Options{MaxTurns: 1, MaxQueued: 1}, func(r *rig) {
		r.model.Props = `{"default_generation_settings":{"n_ctx":2048}}`
		options := actors.AgentOptions{Model: mock(0)}
		first, l := r.spawn(options)
		n, err := first.Compact()
		if err != nil {
			r.Fatal(err)
		}
		r.end(l, n)
		busy, lb := r.spawn(actors.AgentOptions{})
		m, err := busy.Submit("go")
		if err != nil {
			r.Fatal(err)
		}
		if n, err = first.Submit("wait"); err != nil {
			r.Fatal(err)
		}
		synctest.Wait() // the request hangs
		if err := errors.Join(first.Cancel(), busy.Cancel()); err != nil {
			r.Fatal(err)
		}
		r.end(l, n)
		r.end(lb, m)
		second, l := r.spawn(options)
		if r.turn(second, l, "go"); second.ContextMax() != 2048 {
			r.Errorf("window %d", second.ContextMax())
		}
	}, "!hang\n", "!sleep 10\n!text ok\n!finish stop\n")
}

func TestPromptTooLongIsCompactedOnce(t *testing.T) {
	refusal := "!status 400\n{\"error\":{\"message\":\"This model's maximum context length is 4096 tokens\",\"code\":\"context_length_exceeded\"}}"
	bubble(t, actors.Options{}, func(r *rig) {
		a, l := r.spawn(actors.AgentOptions{History: long(20)})
		d, events := r.turn(a, l, "go on")
		if d.Status != "done" || phases(events) != "started true, succeeded true" {
			r.Errorf("%+v, %s", d, phases(events))
		}
		if d, _ = r.turn(a, l, "more"); d.Status != "failed" || d.Kind != string(llm.ErrContext) {
			r.Errorf("%+v", d)
		}
	}, refusal, "!text short\n!finish stop\n", ok, refusal, "!text short\n!finish stop\n", refusal)
}

func TestSetModelKeepsTheConversation(t *testing.T) {
	bubble(t, actors.Options{}, func(r *rig) {
		a, l := r.spawn(actors.AgentOptions{})
		r.turn(a, l, "first")
		if err := a.SetModel(context.Background(), actors.Model{Connection: llm.Connection{URL: modelURL, Key: "other"}, ID: "second-model"}); err != nil {
			r.Fatal(err)
		}
		r.turn(a, l, "second")
		q := r.model.Requests()
		if !strings.Contains(string(q[1].Body), "second-model") || !strings.Contains(string(q[1].Body), "first") || q[1].Header.Get("Authorization") != "Bearer other" {
			r.Errorf("%s", q[1].Body)
		}
		if _, err := a.Compact(); errors.Is(err, actors.ErrBusy) {
			r.Error(err)
		}
	}, ok, ok, ok)
}
