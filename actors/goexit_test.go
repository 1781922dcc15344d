package actors_test

import (
	"context"
	"runtime"
	"strings"
	"testing"

	"clm/actors"
	"clm/actors/msg"
)

// Code from outside that ends its goroutine, as FailNow of a test does, ends what
// it was called for and nothing else: no turn waits for it, no event is lost.
func TestGoexit(t *testing.T) {
	for _, where := range []string{"run", "reason", "event"} {
		t.Run(where, func(t *testing.T) {
			bubble(t, actors.Options{}, func(r *rig) { goexit(r, where) }, "!tool c x {}\n!finish tool_calls\n", "!text ok\n!finish stop\n")
		})
	}
}

func goexit(r *rig, where string) {
	exit := func(here string) {
		if here == where {
			runtime.Goexit()
		}
	}
	told := make(chan msg.TurnDone, 1)
	a, l := r.spawn(actors.AgentOptions{
		Tools: r.tools(actors.GoTools{{
			Name: "x", NoPrompt: true, Reason: func(string) string { exit("reason"); return "" },
			Run: func(context.Context, actors.ToolCall) (actors.ToolOutput, error) {
				exit("run")
				return actors.ToolOutput{Text: "fine"}, nil
			},
		}}),
		OnEvent: func(e actors.Event) {
			if d, ok := e.Data.(msg.TurnDone); ok {
				told <- d
			}
			exit("event")
		},
	})
	d, events := r.turn(a, l, "go")
	if d.Status != "done" || (<-told).Status != "done" {
		r.Fatalf("the turn ended %s: %s", d.Status, d.Error)
	}
	want := "Goexit"
	if where == "event" {
		want = "fine"
	}
	if got := results(events)["c"]; !strings.Contains(got, want) {
		r.Errorf("the result is %q, want something with %q", got, want)
	}
}
