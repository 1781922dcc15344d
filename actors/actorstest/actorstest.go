// Package actorstest helps to test what is built on agents: an engine whose
// model plays a script in memory, agents that fail the test instead of
// returning errors, and a check at the test's end that nothing is left alive.
//
// It works inside a testing/synctest bubble, where a turn that waits for a
// minute takes no time, and outside of one.
package actorstest

import (
	"context"
	"testing"
	"time"

	"clm/actors"
	"clm/actors/msg"
	"clm/llm"
	"clm/llm/llmtest"
)

// Engine is an engine of a test.
type Engine struct {
	*actors.Engine
	// Model is the server of every request that the engine makes, plugins'
	// included. It records what it was asked.
	Model *llmtest.Model

	t    testing.TB
	wire *llmtest.Transport
}

// Start starts an engine whose model plays replies (see package llmtest), then
// [llmtest.DefaultReply]. Its transport is set; what else options say holds.
// When the test ends the engine is stopped, and whatever is alive then is an
// error of the test.
func Start(t testing.TB, o actors.Options, replies ...string) *Engine {
	t.Helper()
	e := &Engine{Model: llmtest.New(replies...), t: t}
	e.wire = llmtest.NewTransport(e.Model)
	o.Transport = e.wire
	var err error
	if e.Engine, err = actors.Start(context.Background(), o); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(e.close)
	return e
}

// patience bounds every wait. In a bubble it takes no time.
const patience = time.Minute

func (e *Engine) close() {
	e.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	if err := e.Stop(ctx); err != nil {
		e.t.Error(err)
	}
	e.wire.Wait()
	for _, c := range e.Counts() {
		if c.Live != 0 {
			e.t.Errorf("after the engine's end %d actor(s) of kind %s are alive", c.Live, c.Kind)
		}
	}
	if live, abandoned := e.Goroutines(); live+abandoned != 0 {
		e.t.Errorf("after the engine's end %d goroutine(s) are alive, %d were abandoned", live, abandoned)
	}
	time.Sleep(10 * time.Millisecond) // the actor system's throttle of dead letters ends
}

// Agent is an agent of a test, with a listener that has all its events.
type Agent struct {
	*actors.Agent
	Events *actors.Listener

	t testing.TB
}

// Spawn spawns an agent. Without a model it gets the scripted one.
func (e *Engine) Spawn(o actors.AgentOptions) *Agent {
	e.t.Helper()
	if o.Model.ID == "" {
		o.Model = actors.Model{Connection: llm.Connection{URL: "http://model/v1"}, ID: "mock", ContextSize: 100_000}
	}
	a, err := e.Engine.Spawn(context.Background(), o)
	if err != nil {
		e.t.Fatal(err)
	}
	l, err := a.Listen()
	if err != nil {
		e.t.Fatal(err)
	}
	return &Agent{a, l, e.t}
}

// Turn submits a prompt, waits for its turn's end, and returns it with all
// events of the turn.
func (a *Agent) Turn(prompt string) (msg.TurnDone, []actors.Event) {
	a.t.Helper()
	turn, err := a.Submit(prompt)
	if err != nil {
		a.t.Fatal(err)
	}
	return a.End(turn)
}

// End waits for the end of a turn that was started.
func (a *Agent) End(turn uint64) (msg.TurnDone, []actors.Event) {
	a.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	var events []actors.Event
	d, err := a.Events.Turn(ctx, turn, func(e actors.Event) { events = append(events, e) })
	if err != nil {
		a.t.Fatalf("turn %d of %s has not ended: %v; alive: %+v", turn, a.ID(), err, a.Tree())
	}
	return d, events
}

// Await reads events until one satisfies want, and returns it.
func (a *Agent) Await(want func(actors.Event) bool) actors.Event {
	a.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	for {
		e, err := a.Events.Next(ctx)
		if err != nil {
			a.t.Fatalf("no such event of %s came: %v; alive: %+v", a.ID(), err, a.Tree())
		}
		if want(e) {
			return e
		}
	}
}

// Results is the texts of the tools' results among events, by call id.
func Results(events []actors.Event) map[string]string {
	out := map[string]string{}
	for _, e := range events {
		if r, ok := e.Data.(msg.ToolResult); ok {
			out[r.CallID] = r.Text
		}
	}
	return out
}
