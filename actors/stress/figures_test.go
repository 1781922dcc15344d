package stress_test

import (
	"io"
	"maps"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"clm/actors"
	"clm/actors/msg"
	"clm/actors/stress"
	"clm/llm"
	"clm/llm/llmtest"
)

// A seed repeats what happened, also when agents come and go in another order.
func TestSeedRepeats(t *testing.T) {
	load := stress.Options{
		Agents: 30, Turns: 8, Churn: 0.4, Tools: stress.Tools{Share: 0.4, Calls: 2}, Seed: 11,
		Faults: stress.Faults{Cut: 0.1, Garbage: 0.1, Slow: 0.1, SlowBy: time.Millisecond},
	}
	first := run(t, load)
	for range 3 {
		again := run(t, load)
		if again.Turns != first.Turns || again.Calls != first.Calls || again.Requests != first.Requests || !maps.Equal(again.Injected, first.Injected) {
			t.Errorf("first %+v, %+v, %v, then %+v, %+v, %v", first.Turns, first.Calls, first.Injected, again.Turns, again.Calls, again.Injected)
		}
	}
}

// Each turn is in one place: those cancelled have the time from there to the
// end, the others that from when they were due.
func TestCancelledTurns(t *testing.T) {
	r := run(t, stress.Options{Agents: 40, Turns: 20, Cancel: 0.6, Pace: 20 * time.Microsecond, Seed: 12})
	if r.Turns.Canceled == 0 || r.CancelToDone.Count != r.Turns.Canceled || r.Turn.Count != r.Turns.All-r.Turns.Canceled {
		t.Errorf("%+v; %d times of turns, %d from a cancel to the end", r.Turns, r.Turn.Count, r.CancelToDone.Count)
	}
	if r.FailedReqs != 0 || r.Turns.Cut != 0 {
		t.Errorf("%d requests are said to have failed, and %d turns to be cut: clm cancelled them", r.FailedReqs, r.Turns.Cut)
	}
}

// The few turns that wait for another try are not usual: a moment chosen from
// their time would be after the end of most others.
func TestUsualTurn(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for _, scale := range []time.Duration{time.Microsecond, time.Second} {
		var turns []time.Duration
		for range 2000 {
			d := time.Duration((0.5 + r.Float64()) * float64(scale))
			if r.IntN(20) == 0 {
				d *= 1000
			}
			turns = append(turns, d)
		}
		for i, got := range stress.Usual(2*time.Millisecond, turns)[1000:] {
			if got < scale/2 || got > 2*scale {
				t.Fatalf("of turns of about %v the usual one is said to take %v after %d", scale, got, 1000+i)
			}
		}
	}
}

// A request whose answer breaks off has failed as much as one that is refused.
func TestFailedRequests(t *testing.T) {
	for name, faults := range map[string]stress.Faults{"cut": {Cut: 1}, "500": {Error: 1}} {
		r := run(t, stress.Options{Agents: 3, Seed: 13, Faults: faults})
		kind := map[string]string{"cut": "broke off", "500": "HTTP 500"}[name]
		if len(r.RequestErrors) != 1 || r.RequestErrors[0].Kind != kind || r.RequestErrors[0].Count != r.FailedReqs {
			t.Errorf("%s: %v", name, r.RequestErrors)
		}
		if r.FailedReqs == 0 || r.FailedReqs != r.Injected[name] || r.FailedReqs != r.Requests {
			t.Errorf("%s: %d of %d requests failed, %v were injected", name, r.FailedReqs, r.Requests, r.Injected)
		}
	}
}

// A prompt without a tag meets faults, too.
func TestFaultsWithAnotherPrompt(t *testing.T) {
	s := httptest.NewServer(llmtest.Demo{})
	defer s.Close()
	r := run(t, stress.Options{
		Agents: 3, Seed: 15, Prompt: "hi", Faults: stress.Faults{Cut: 1},
		Model: actors.Model{Connection: llm.Connection{URL: s.URL + "/v1"}, ID: "demo", ContextSize: 8192},
	})
	if r.Injected["cut"] != 3 || r.Turns.Failed != 3 {
		t.Errorf("%v, %+v", r.Injected, r.Turns)
	}
}

// What a plugin takes to be loaded is not the server's time until the first
// token: of an answer that only calls, that is when the calls have come.
func TestFirstToken(t *testing.T) {
	due := time.Now()
	at := func(ms int, data msg.EventData) actors.Event {
		return actors.Event{Time: due.Add(time.Duration(ms) * time.Millisecond), Data: data}
	}
	call := llm.Message{Role: llm.RoleAssistant, ToolCalls: []llm.ToolCall{{ID: "1", Name: "t"}}}
	for name, c := range map[string]struct {
		events []actors.Event
		want   int
	}{
		"calls": {[]actors.Event{at(1, msg.StateChanged{}), at(5, msg.MessageAdded{Message: call}), at(90, msg.ToolBegin{})}, 5},
		"text":  {[]actors.Event{at(3, msg.Text{Text: "x"}), at(5, msg.MessageAdded{Message: call})}, 3},
		"none":  {[]actors.Event{at(3, msg.MessageAdded{Message: llm.Message{Role: llm.RoleUser, Content: "x"}})}, 0},
	} {
		if got := stress.FirstToken(due, c.events...); got != time.Duration(c.want)*time.Millisecond {
			t.Errorf("%s: after %v, want %d ms", name, got, c.want)
		}
	}
}

// What a model or a plugin of somebody's does is no promise of the engine.
func TestToolsOfOthers(t *testing.T) {
	r := run(t, stress.Options{
		Agents: 2, Seed: 14, Tools: stress.Tools{Share: 1},
		Engine: actors.Options{Transport: llmtest.NewTransport(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			body, _ := io.ReadAll(r.Body)
			reply := "!tool c1 hello {\"name\":\"you\"}\n!finish tool_calls\n"
			if strings.Contains(string(body), `"role":"tool"`) {
				reply = "!text done\n!finish stop\n"
			}
			llmtest.Play(w, r, reply, "", true)
		}))},
		Model: actors.Model{Connection: llm.Connection{URL: "http://model/v1"}, ID: "m", ContextSize: 1000},
	})
	if r.Turns.Done != 2 || r.Calls.All != 2 || r.Calls.Failed != 0 {
		t.Errorf("a model that says another name: %+v, %+v", r.Turns, r.Calls)
	}
	for name, result := range map[string]string{"another hello": `ctx:complete("hi")`, "one that fails": `ctx:fail("no")`} {
		p, errs := actors.LoadPlugins(t.Context(), actors.PluginOptions{Files: []actors.PluginFile{{Name: "mine", Source: `
clm.tool_register("hello", { description = "mine", no_prompt = true, invoke = function(args, ctx) ` + result + ` end })`}}})
		if len(errs) > 0 {
			t.Fatal(errs)
		}
		set, err := actors.NewToolset(p)
		if err != nil {
			t.Fatal(err)
		}
		if r := run(t, stress.Options{Agents: 2, Seed: 14, Toolset: set, Tools: stress.Tools{Share: 1}}); r.Turns.Done != 2 || r.Calls.All != 2 {
			t.Errorf("%s: %+v, %+v", name, r.Turns, r.Calls)
		}
		r := run(t, stress.Options{Agents: 2, Seed: 14, Toolset: set, Tools: stress.Tools{Share: 1, Calls: 20, Chain: true, Args: "{}"}})
		if len(r.Errors) != 1 || r.Errors[0].Kind != "repeated" {
			t.Errorf("%s, the same call 20 times: %+v", name, r.Errors)
		}
	}
}

// What the server does not say is not 0.
func TestNoTokens(t *testing.T) {
	r := &stress.Report{Turns: stress.Turns{All: 1, Done: 1}}
	var b strings.Builder
	if err := r.Text(&b); err != nil || !strings.Contains(b.String(), "the server reports no tokens") {
		t.Errorf("%v: %s", err, b.String())
	}
	if line := (stress.Progress{}).Line(); strings.Contains(line, "p50") {
		t.Errorf("no turn has ended, and its time is told: %s", line)
	}
}
