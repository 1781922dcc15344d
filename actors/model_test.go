package actors_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"clm/actors"
	"clm/actors/msg"
	"clm/llm"
)

func mock(window int64) actors.Model {
	return actors.Model{Connection: llm.Connection{URL: modelURL}, ID: "mock", ContextSize: window}
}

func TestAutocompactPct(t *testing.T) {
	for _, tc := range []struct {
		pct, used int
		compacts  bool
	}{{30, 3000, true}, {0, 3000, false}, {0, 5700, true}, {90, 5700, false}} {
		bubble(t, actors.Options{}, func(r *rig) {
			m := mock(8000)
			m.AutocompactPct = tc.pct
			a, l := r.spawn(actors.AgentOptions{Model: m, History: long(10), Tools: r.tools(goTool(says("result")))})
			_, events := r.turn(a, l, "go")
			if got := phases(events) != ""; got != tc.compacts {
				r.Errorf("%d tokens at %d %%: compacted %v", tc.used, tc.pct, got)
			}
		}, fmt.Sprintf("!tool c1 t {}\n!usage %d 10\n!finish tool_calls\n", tc.used), "!text short\n!finish stop\n", ok)
	}
	bubble(t, actors.Options{}, func(r *rig) {
		m := mock(8000)
		m.AutocompactPct = 90
		a, l := r.spawn(actors.AgentOptions{Model: m})
		r.turn(a, l, "go")
		if a.OverAutocompactThreshold() {
			r.Error("7,010 of 8,000 tokens are over 90 %")
		}
		r.turn(a, l, "go")
		if !a.OverAutocompactThreshold() {
			r.Error("7,210 of 8,000 tokens are not over 90 %")
		}
	}, "!text ok\n!usage 7000 10\n!finish stop\n", "!text ok\n!usage 7200 10\n!finish stop\n")
}

// A conversation without tools has no batches to compact between.
func TestLongTalkIsCompacted(t *testing.T) {
	bubble(t, actors.Options{}, func(r *rig) {
		a, l := r.spawn(actors.AgentOptions{Model: mock(4000), History: long(20)})
		d, events := r.turn(a, l, "the new question")
		if d.Text != "ok" || phases(events) != "started true, succeeded true" {
			r.Errorf("%+v, %s", d, phases(events))
		}
		q := r.model.Requests()
		if last := string(q[len(q)-1].Body); !strings.Contains(last, "the new question") || !strings.Contains(last, "short summary") {
			r.Errorf("%.1000s", last)
		}
	}, "!text a short summary\n!finish stop\n", ok)
}

// The request for a summary must fit the window, too.
func TestSummaryRequestFitsTheWindow(t *testing.T) {
	bubble(t, actors.Options{}, func(r *rig) {
		a, l := r.spawn(actors.AgentOptions{Model: mock(8000), History: long(200)})
		n, err := a.Compact()
		if err != nil {
			r.Fatal(err)
		}
		r.end(l, n)
		if n := len(r.model.Requests()[0].Body); n > 8000*4 {
			r.Errorf("%d bytes for a window of 8000 tokens", n)
		}
	}, "!text a short summary\n!finish stop\n")
}

// A server that does not tell its window is asked once, not each turn.
func TestWindowIsAskedForOnce(t *testing.T) {
	bubble(t, actors.Options{}, func(r *rig) {
		for range 2 {
			a, l := r.spawn(actors.AgentOptions{Model: mock(0)})
			for range 2 {
				r.turn(a, l, "go")
			}
		}
		if len(r.model.Gets()) == 0 {
			r.Error("the server was not asked")
		}
		seen := map[string]int{}
		for _, g := range r.model.Gets() {
			seen[g]++
		}
		for g, n := range seen {
			if n > 1 {
				r.Errorf("GET %s %d times", g, n)
			}
		}
	}, "!sleep 50\n"+ok, "!sleep 50\n"+ok, "!sleep 50\n"+ok, "!sleep 50\n"+ok)
}

// The bucket is the connection's: what agents and profiles call it and which
// model they use makes no other.
func TestRequestRateIsShared(t *testing.T) {
	bubble(t, actors.Options{}, func(r *rig) {
		const agents = 6
		var l [agents]*actors.Listener
		var turns [agents]uint64
		start := time.Now()
		for i := range agents {
			m := actors.Model{
				Connection: llm.Connection{Name: fmt.Sprint("profile", i), URL: modelURL, Key: "k"},
				ID:         fmt.Sprint("m", i%2), ContextSize: 1 << 20, RateTokensPerSec: 100, RateBurst: 100,
			}
			var a *actors.Agent
			a, l[i] = r.spawn(actors.AgentOptions{Model: m})
			turns[i] = r.begin(a, strings.Repeat("x", 400)) // 100 tokens and a bit, which the burst caps
		}
		var took []time.Duration
		for i := range agents {
			_, events := r.end(l[i], turns[i])
			took = append(took, time.Since(start).Round(time.Second))
			limited := false
			for _, e := range events {
				if s, ok := e.Data.(msg.StateChanged); ok && s.State == msg.StateRateLimited {
					limited = true
				}
			}
			if limited != (i > 0) {
				r.Errorf("agent %d was limited: %v", i, limited)
			}
		}
		want := []time.Duration{0, time.Second, 2 * time.Second, 3 * time.Second, 4 * time.Second, 5 * time.Second}
		if !slices.Equal(took, want) {
			r.Errorf("the turns ended after %v, want %v: first come, first served", took, want)
		}
	}, ok, ok, ok, ok, ok, ok)
}

func TestCancelWhileRateLimited(t *testing.T) {
	m := mock(1 << 20)
	m.RateTokensPerSec, m.RateBurst = 1, 1000
	bubble(t, actors.Options{}, func(r *rig) {
		a, l := r.spawn(actors.AgentOptions{Model: m})
		r.turn(a, l, strings.Repeat("x", 4000))
		n := r.begin(a, "next")
		if a.State() != msg.StateRateLimited || len(r.model.Requests()) != 1 {
			r.Fatalf("state %v, %d requests", a.State(), len(r.model.Requests()))
		}
		if _, err := a.Submit("x"); !errors.Is(err, actors.ErrBusy) {
			r.Errorf("submit while it waits: %v", err)
		}
		if _, err := a.Compact(); !errors.Is(err, actors.ErrBusy) {
			r.Errorf("compact while it waits: %v", err)
		}
		start := time.Now()
		if err := a.Cancel(); err != nil {
			r.Fatal(err)
		}
		if d, _ := r.end(l, n); d.Status != "canceled" || time.Since(start) > time.Second {
			r.Errorf("%+v after %v", d, time.Since(start))
		}
		r.idle()
		// What was not sent is given back.
		start = time.Now()
		r.turn(a, l, "again")
		if took := time.Since(start); took > 20*time.Minute {
			r.Errorf("the next request waited %v", took)
		}
	}, ok, ok)
}

func TestToolRate(t *testing.T) {
	bubble(t, actors.Options{}, func(r *rig) {
		a, l := r.spawn(actors.AgentOptions{ToolRate: 1, ToolBurst: 2, Tools: r.tools(goTool(says("x")))})
		start := time.Now()
		r.turn(a, l, "go")
		if took := time.Since(start).Round(time.Second); took != 3*time.Second {
			r.Errorf("5 calls at 1 a second after a burst of 2 took %v", took)
		}
		// Calls that a cancel kept from running do not use the rate up.
		n := r.begin(a, "many")
		if err := a.Cancel(); err != nil {
			r.Fatal(err)
		}
		r.end(l, n)
		start = time.Now()
		r.turn(a, l, "one")
		if took := time.Since(start); took > 2*time.Second {
			r.Errorf("the next call waited %v", took)
		}
	}, fanOut(5)+"!finish tool_calls\n", ok, fanOut(40)+"!finish tool_calls\n", "!tool d1 t {}\n!finish tool_calls\n", ok)
	bubble(t, actors.Options{}, func(r *rig) {
		a, l := r.spawn(actors.AgentOptions{Tools: r.tools(goTool(says("x")))})
		start := time.Now()
		r.turn(a, l, "go")
		if took := time.Since(start); took > 100*time.Millisecond {
			r.Errorf("without a rate 40 calls took %v", took)
		}
	}, fanOut(40)+"!finish tool_calls\n", ok)
}

func TestCheckConnectionInATurn(t *testing.T) {
	bubble(t, actors.Options{}, func(r *rig) {
		a, l := r.spawn(actors.AgentOptions{})
		n := r.begin(a, "go")
		if err := a.CheckConnection(); err != nil {
			r.Fatal(err)
		}
		time.Sleep(time.Second)
		if err := a.Cancel(); err != nil {
			r.Fatal(err)
		}
		d, events := r.end(l, n)
		found := slices.ContainsFunc(events, func(e actors.Event) bool {
			c, ok := e.Data.(msg.Connection)
			return ok && c.OK && len(c.Models) > 0
		})
		if !found || d.Status != "canceled" {
			r.Errorf("%+v, connection told: %v", d, found)
		}
		// The probe is of the connection as it is then, and may outlast it.
		if err := a.CheckConnection(); err != nil {
			r.Fatal(err)
		}
		if err := a.SetModel(context.Background(), mock(10)); err != nil {
			r.Fatal(err)
		}
		synctest.Wait()
	}, "!hang\n")
}

// Reasoning is sent back to the model that made it, and to no other.
func TestSetModelDropsForeignReasoning(t *testing.T) {
	bubble(t, actors.Options{}, func(r *rig) {
		a, l := r.spawn(actors.AgentOptions{Tools: r.tools(goTool(says("x")))})
		r.turn(a, l, "first")
		other := mock(1 << 20)
		other.ID = "other"
		if err := a.SetModel(context.Background(), other); err != nil {
			r.Fatal(err)
		}
		r.turn(a, l, "second")
		if err := a.SetModel(context.Background(), mock(1<<20)); err != nil {
			r.Fatal(err)
		}
		r.turn(a, l, "third")
		for i, want := range []bool{false, true, false, true} {
			if got := strings.Contains(string(r.model.Requests()[i].Body), "deep thought"); got != want {
				r.Errorf("request %d holds the reasoning: %v, want %v", i, got, want)
			}
		}
	}, "!reasoning deep thought\n"+call, ok, ok, ok)
}

func TestToolsAreDroppedWhereTheModelTakesNone(t *testing.T) {
	refusal := "!status 400\n{\"error\":{\"message\":\"mock does not support tools\"}}"
	bubble(t, actors.Options{}, func(r *rig) {
		a, l := r.spawn(actors.AgentOptions{Tools: r.tools(goTool(says("x")))})
		d, events := r.turn(a, l, "go")
		notices := 0
		for _, e := range events {
			if _, ok := e.Data.(msg.Notice); ok {
				notices++
			}
		}
		r.turn(a, l, "more")
		q := r.model.Requests()
		if d.Text != "ok" || notices != 1 || len(q) != 3 {
			r.Fatalf("%+v, %d notices, %d requests", d, notices, len(q))
		}
		for i, want := range []bool{true, false, false} {
			if _, got := q[i].JSON()["tools"]; got != want {
				r.Errorf("request %d has tools: %v, want %v", i, got, want)
			}
		}
	}, refusal, ok, ok)
}

// What one agent finds out of a connection and a model all agents know that
// have it, and the people of each are told once.
func TestToolsAreRefusedForAllAgents(t *testing.T) {
	refusal := "!status 400\n{\"error\":{\"message\":\"mock does not support tools\"}}"
	bubble(t, actors.Options{}, func(r *rig) {
		other := mock(1 << 20)
		other.ID = "other"
		for i, m := range []actors.Model{mock(1 << 20), mock(1 << 20), other} {
			a, l := r.spawn(actors.AgentOptions{Model: m, Tools: r.tools(goTool(says("x")))})
			told := 0
			for range 2 {
				_, events := r.turn(a, l, "go")
				told += len(notices(events))
			}
			if want := []int{1, 1, 0}[i]; told != want {
				r.Errorf("agent %d: %d notices, want %d", i, told, want)
			}
		}
		var with []bool
		for _, q := range r.model.Requests() {
			_, has := q.JSON()["tools"]
			with = append(with, has)
		}
		if want := []bool{true, false, false, false, false, true, true}; !slices.Equal(with, want) {
			r.Errorf("requests with tools: %v, want %v", with, want)
		}
	}, refusal, ok, ok, ok, ok, ok, ok)
}

// messagesOf is the raw text of a request's messages.
func messagesOf(r *rig, body []byte) []json.RawMessage {
	r.Helper()
	var q struct{ Messages []json.RawMessage }
	if err := json.Unmarshal(body, &q); err != nil {
		r.Fatal(err)
	}
	return q.Messages
}

// What a model was told once stays as it was, byte for byte, but for results
// that were superseded; a resumed conversation is the same as the one before.
func TestPrefixStaysTheSame(t *testing.T) {
	reply := func(id string) string {
		return "!text let me see\n!tool " + id + "@0 t {\"x\": [1, 2]}\n!tool v" + id + "@1 poll {}\n!finish tool_calls\n"
	}
	var before []json.RawMessage
	n := 0
	check := func(r *rig, body []byte) {
		now := messagesOf(r, body)
		for i := range min(len(before), len(now)) {
			stub := bytes.Contains(now[i], []byte("[superseded by newer poll]"))
			if !bytes.Equal(before[i], now[i]) && (!stub || bytes.Contains(before[i], []byte("superseded"))) {
				r.Errorf("request %d, message %d was\n%s, is\n%s", n, i, before[i], now[i])
			}
		}
		if len(now) <= len(before) {
			r.Errorf("request %d has %d messages after %d", n, len(now), len(before))
		}
		before = now
		n++
	}
	var history []llm.Message
	tools := actors.GoTools{{Name: "t", NoPrompt: true, Run: says("<a> & b")}, {Name: "poll", NoPrompt: true, Run: says("state")}}
	for round := range 2 {
		bubble(t, actors.Options{}, func(r *rig) {
			o := actors.AgentOptions{System: "s", Volatile: []string{"po*"}, Tools: r.tools(tools)}
			a, l := r.spawn(o)
			if err := a.RestoreHistory(history); err != nil {
				r.Fatal(err)
			}
			r.turn(a, l, fmt.Sprintf("question <%d>", round))
			r.turn(a, l, "and then?")
			for _, q := range r.model.Requests() {
				check(r, q.Body)
			}
			var err error
			if history, err = a.History(); err != nil {
				r.Fatal(err)
			}
			for i := range history { // as a session's log holds them
				if history[i].ToolName == "poll" {
					history = slices.Clone(history)
					history[i].Content = "state"
				}
			}
		}, reply(fmt.Sprint("a", round)), reply(fmt.Sprint("b", round)), ok, reply(fmt.Sprint("c", round)), ok)
	}
	if n != 10 {
		t.Errorf("%d requests", n)
	}
}
