package actorstest_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"clm/actors"
	"clm/actors/actorstest"
	"clm/actors/msg"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// clock is a tool of an embedder, as an example of what there is to test.
var clock = actors.GoTools{{
	Name: "clock", NoPrompt: true,
	Run: func(ctx context.Context, _ actors.ToolCall) (actors.ToolOutput, error) {
		select {
		case <-time.After(30 * time.Second):
			return actors.ToolOutput{Text: "half past"}, nil
		case <-ctx.Done():
			return actors.ToolOutput{}, ctx.Err()
		}
	},
}}

func TestTurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := actorstest.Start(t, actors.Options{}, "!tool c1 clock {}\n!finish tool_calls\n", "!text half past it is\n!finish stop\n")
		set, err := actors.NewToolset(clock)
		if err != nil {
			t.Fatal(err)
		}
		a := e.Spawn(actors.AgentOptions{Tools: set})
		d, events := a.Turn("what time is it?")
		if d.Text != "half past it is" || actorstest.Results(events)["c1"] != "half past" {
			t.Errorf("%+v, results %v", d, actorstest.Results(events))
		}
		if n := len(e.Model.Requests()); n != 2 {
			t.Errorf("%d requests", n)
		}
	})
}

func TestCancel(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := actorstest.Start(t, actors.Options{}, "!tool c1 clock {}\n!finish tool_calls\n")
		set, err := actors.NewToolset(clock)
		if err != nil {
			t.Fatal(err)
		}
		a := e.Spawn(actors.AgentOptions{Tools: set})
		turn, err := a.Submit("what time is it?")
		if err != nil {
			t.Fatal(err)
		}
		a.Await(func(e actors.Event) bool { _, ok := e.Data.(msg.ToolBegin); return ok })
		if err := a.Cancel(); err != nil {
			t.Fatal(err)
		}
		if d, _ := a.End(turn); !errors.Is(d.Err, actors.ErrCanceled) {
			t.Errorf("%+v", d)
		}
	})
}

// TestLeftovers has the package notice a tool that ignores its cancellation.
func TestLeftovers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		probe := &recorder{TB: t}
		e := actorstest.Start(probe, actors.Options{Grace: time.Second}, "!tool c1 deaf {}\n!finish tool_calls\n")
		set, err := actors.NewToolset(actors.GoTools{{Name: "deaf", NoPrompt: true, Run: func(context.Context, actors.ToolCall) (actors.ToolOutput, error) {
			time.Sleep(time.Minute)
			return actors.ToolOutput{}, nil
		}}})
		if err != nil {
			t.Fatal(err)
		}
		a := e.Spawn(actors.AgentOptions{Tools: set})
		if _, err := a.Submit("go"); err != nil {
			t.Fatal(err)
		}
		a.Await(func(e actors.Event) bool { _, ok := e.Data.(msg.ToolBegin); return ok })
		synctest.Wait() // the tool runs
		probe.end()
		if probe.errors == 0 {
			t.Error("nothing was noticed")
		}
		time.Sleep(time.Minute)
	})
}

// recorder counts errors instead of failing.
type recorder struct {
	testing.TB
	errors int
	after  []func()
}

func (r *recorder) Helper()               {}
func (r *recorder) Cleanup(f func())      { r.after = append(r.after, f) }
func (r *recorder) Error(...any)          { r.errors++ }
func (r *recorder) Errorf(string, ...any) { r.errors++ }

func (r *recorder) end() {
	for _, f := range r.after {
		f()
	}
}
