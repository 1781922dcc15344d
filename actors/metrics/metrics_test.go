package metrics_test

import (
	"context"
	"errors"
	"fmt"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/goleak"

	"clm/actors"
	"clm/actors/actorstest"
	"clm/actors/metrics"
	"clm/actors/msg"
	"clm/llm"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestCollector(t *testing.T) {
	e := actorstest.Start(t, actors.Options{}, "!tool c1 hello {}\n!tool c2@1 nobody {}\n!usage 100 10\n!finish tool_calls\n", "!text done\n!usage 200 20\n!finish stop\n")
	c := metrics.New(e.Engine)
	set, err := actors.NewToolset(actors.GoTools{{Name: "hello", NoPrompt: true, Run: func(context.Context, actors.ToolCall) (actors.ToolOutput, error) {
		return actors.ToolOutput{Text: "hi"}, nil
	}}})
	if err != nil {
		t.Fatal(err)
	}
	counted := make(chan struct{})
	a := e.Spawn(actors.AgentOptions{
		Model: actors.Model{Connection: llm.Connection{URL: "http://model/v1"}, ID: "m", ContextSize: 1000, Price: actors.Price{Input: 2, Output: 10}},
		Tools: set, OnEvent: func(ev actors.Event) {
			c.OnEvent(ev)
			if _, last := ev.Data.(msg.TurnDone); last {
				close(counted)
			}
		},
	})
	a.Turn("go")
	<-counted
	w := httptest.NewRecorder()
	c.Handler().ServeHTTP(w, httptest.NewRequest("GET", "/metrics", nil))
	for _, line := range []string{
		`clm_actors{kind="agent"} 1`, `clm_actors{kind="turn"} 0`, `clm_actors_spawned_total{kind="model"} 2`,
		`clm_turns_total{kind="",status="done"} 1`, `clm_tokens_total{direction="input"} 300`, `clm_tokens_total{direction="output"} 30`,
		`clm_tool_calls_total{failed="false"} 1`, `clm_tool_calls_total{failed="true"} 1`, `clm_tool_call_seconds_count 2`,
		`clm_price_total 0.0009`, `clm_abandoned_goroutines_total 0`,
	} {
		if !strings.Contains(w.Body.String(), line+"\n") {
			t.Errorf("%q is not in\n%s", line, w.Body.String())
		}
	}
	r := prometheus.NewPedanticRegistry()
	if err := r.Register(c); err != nil {
		t.Error(err)
	}
	if _, err := r.Gather(); err != nil { // pedantic: what is collected is what was described
		t.Error(err)
	}
}

// The load counts turns that run, wait and were refused.
func TestLoad(t *testing.T) {
	e := actorstest.Start(t, actors.Options{MaxTurns: 1, MaxQueued: 1}, "!hang\n")
	c := metrics.New(e.Engine)
	for i, want := range []error{nil, nil, actors.ErrOverloaded} {
		a := e.Spawn(actors.AgentOptions{Model: actors.Model{Connection: llm.Connection{URL: "http://model/v1"}, ID: "m", ContextSize: 1000}})
		if _, err := a.Submit("go"); !errors.Is(err, want) {
			t.Errorf("turn %d: %v", i+1, err)
		}
	}
	w := httptest.NewRecorder()
	c.Handler().ServeHTTP(w, httptest.NewRequest("GET", "/metrics", nil))
	for _, line := range []string{"clm_turns_running 1", "clm_turns_queued 1", "clm_turns_refused_total 1"} {
		if !strings.Contains(w.Body.String(), line+"\n") {
			t.Errorf("%q is not in\n%s", line, w.Body.String())
		}
	}
}

func Example() {
	e, err := actors.Start(context.Background(), actors.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	c := metrics.New(e)
	registry := prometheus.NewRegistry() // or the embedder's own
	registry.MustRegister(c)
	if _, err := e.Spawn(context.Background(), actors.AgentOptions{
		Model: actors.Model{Connection: llm.Connection{Kind: llm.KindDemo}, ID: "demo"}, OnEvent: c.OnEvent,
	}); err != nil {
		fmt.Println(err)
	}
	families, err := registry.Gather()
	fmt.Println(families[1].GetName(), err)
	fmt.Println(e.Stop(context.Background()))
	// Output:
	// clm_actors <nil>
	// <nil>
}
