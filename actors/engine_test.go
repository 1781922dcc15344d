package actors_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"clm/actors"
	"clm/actors/msg"
	"clm/llm"
)

const (
	call = "!tool c1 t {}\n!finish tool_calls\n"
	ok   = "!text ok\n!finish stop\n"
)

// goTool is a Go tool named t.
func goTool(run func(ctx context.Context, c actors.ToolCall) (actors.ToolOutput, error)) actors.GoTools {
	return actors.GoTools{{Name: "t", NoPrompt: true, Run: run}}
}

func says(text string) func(context.Context, actors.ToolCall) (actors.ToolOutput, error) {
	return func(context.Context, actors.ToolCall) (actors.ToolOutput, error) {
		return actors.ToolOutput{Text: text}, nil
	}
}

func TestOneTurnAtATime(t *testing.T) {
	bubble(t, actors.Options{}, func(r *rig) {
		a, l := r.spawn(actors.AgentOptions{})
		if err := a.Cancel(); !errors.Is(err, actors.ErrNoTurn) {
			r.Errorf("cancel without a turn: %v", err)
		}
		if _, err := a.Submit("  \n"); !errors.Is(err, actors.ErrEmpty) {
			r.Errorf("empty prompt: %v", err)
		}
		n, err := a.Submit("first")
		if err != nil {
			r.Fatal(err)
		}
		for _, try := range []func() error{
			func() error { _, err := a.Submit("second"); return err },
			func() error { _, err := a.Compact(); return err },
			func() error { return a.ClearHistory() },
			func() error { return a.RestoreHistory(nil) },
			func() error {
				return a.SetModel(context.Background(), actors.Model{Connection: llm.Connection{URL: modelURL}, ID: "x"})
			},
		} {
			if err := try(); !errors.Is(err, actors.ErrBusy) || !errors.Is(err, syscall.EBUSY) {
				r.Errorf("while a turn runs: %v, want ErrBusy", err)
			}
		}
		if d, _ := r.end(l, n); d.Status != "done" || d.Text != "ok" {
			r.Errorf("%+v", d)
		}
		if len(r.model.Requests()) != 1 {
			r.Errorf("%d requests", len(r.model.Requests()))
		}
	}, "!sleep 100\n"+ok)
}

func TestEventsEndWithTurnDone(t *testing.T) {
	bubble(t, actors.Options{}, func(r *rig) {
		a, l := r.spawn(actors.AgentOptions{Tools: r.tools(goTool(says("result")))})
		_, events := r.turn(a, l, "go")
		var names []string
		last := uint64(0)
		for _, e := range events {
			if e.Seq <= last || e.Agent != a.ID() {
				r.Errorf("event %+v after seq %d", e, last)
			}
			last = e.Seq
			names = append(names, e.Data.EventName())
		}
		want := "message state finish message state tool_begin tool_result batch message state text finish message state turn_done"
		got := strings.ReplaceAll(strings.Join(names, " "), "usage ", "")
		if got != want {
			r.Errorf("events\n%s, want\n%s", got, want)
		}
		if s := a.State(); s != msg.StateComplete {
			r.Errorf("state %v", s)
		}
	}, call, ok)
}

func TestResultsInCallOrder(t *testing.T) {
	bubble(t, actors.Options{}, func(r *rig) {
		var mu sync.Mutex
		var order []string
		tool := actors.Tool{Name: "t", NoPrompt: true, Run: func(_ context.Context, c actors.ToolCall) (actors.ToolOutput, error) {
			wait := map[string]time.Duration{"c1": 300, "c2": 100, "c3": 200}[c.ID]
			time.Sleep(wait * time.Millisecond)
			mu.Lock()
			defer mu.Unlock()
			order = append(order, c.ID)
			return actors.ToolOutput{Text: "r" + c.ID}, nil
		}}
		a, l := r.spawn(actors.AgentOptions{Tools: r.tools(actors.GoTools{tool})})
		start := time.Now()
		r.turn(a, l, "go")
		if took := time.Since(start); took > 350*time.Millisecond {
			r.Errorf("the calls did not run at once: %v", took)
		}
		if got := fmt.Sprint(order); got != "[c2 c3 c1]" {
			r.Errorf("ended in order %s", got)
		}
		h, err := a.History()
		if err != nil {
			r.Fatal(err)
		}
		var ids []string
		for _, m := range h {
			if m.Role == llm.RoleTool {
				ids = append(ids, m.ToolCallID+"="+m.Content)
			}
		}
		if got := strings.Join(ids, " "); got != "c1=rc1 c2=rc2 c3=rc3" {
			r.Errorf("results %s", got)
		}
	}, fanOut(3)+"!finish tool_calls\n", ok)
}

func TestFailingTools(t *testing.T) {
	tools := map[string]struct {
		run  func(context.Context, actors.ToolCall) (actors.ToolOutput, error)
		want string
	}{
		"error": {func(context.Context, actors.ToolCall) (actors.ToolOutput, error) {
			return actors.ToolOutput{}, errors.New("no luck")
		}, "[tool failed: no luck]"},
		"panic": {func(context.Context, actors.ToolCall) (actors.ToolOutput, error) { panic("oops") }, "panic"},
		"timeout": {func(ctx context.Context, _ actors.ToolCall) (actors.ToolOutput, error) {
			<-ctx.Done()
			return actors.ToolOutput{}, ctx.Err()
		}, "[tool failed: timed out after 600000 ms]"},
		"dirty": {says("a\x00b\x1b[31mred\xff"), "abred\uFFFD"},
	}
	for name, tc := range tools {
		t.Run(name, func(t *testing.T) {
			bubble(t, actors.Options{}, func(r *rig) {
				a, l := r.spawn(actors.AgentOptions{Tools: r.tools(goTool(tc.run))})
				d, events := r.turn(a, l, "go")
				if got := results(events)["c1"]; d.Status != "done" || !strings.Contains(got, tc.want) {
					r.Errorf("%+v, result %q, want %q", d, got, tc.want)
				}
				r.idle()
			}, call, ok)
		})
	}
}

func TestDeafToolIsNamed(t *testing.T) {
	hold := make(chan struct{})
	synctest.Test(t, func(t *testing.T) {
		hold = make(chan struct{})
		r := newRig(t, actors.Options{Grace: time.Second}, call, ok)
		a, l := r.spawn(actors.AgentOptions{Tools: r.tools(goTool(func(context.Context, actors.ToolCall) (actors.ToolOutput, error) {
			<-hold // ignores its context
			return actors.ToolOutput{}, nil
		}))})
		n, err := a.Submit("go")
		if err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		start := time.Now()
		if err := a.Cancel(); err != nil {
			t.Fatal(err)
		}
		d, events := r.end(l, n)
		if got := notices(events); len(got) != 1 || !strings.Contains(got[0], "left behind: tool t") {
			t.Errorf("notices %q", got)
		}
		if took := time.Since(start); took < time.Second || took > 2*time.Second {
			t.Errorf("the turn ended after %v, not after the grace period", took)
		}
		if _, left := r.engine.Goroutines(); left != 1 || d.Status != "canceled" {
			t.Errorf("%d left behind, %+v", left, d)
		}
		close(hold)
		synctest.Wait()
		if err := r.engine.Stop(context.Background()); err == nil || !strings.Contains(err.Error(), "left behind") {
			t.Errorf("Stop: %v", err)
		}
		time.Sleep(10 * time.Millisecond)
	})
}

func TestMaxIterationsAndRepeats(t *testing.T) {
	many := make([]string, 20)
	for i := range many {
		many[i] = fmt.Sprintf("!tool c%d t {\"n\": %d}\n!finish tool_calls\n", i, i)
	}
	bubble(t, actors.Options{}, func(r *rig) {
		a, l := r.spawn(actors.AgentOptions{MaxIterations: 4, Tools: r.tools(goTool(says("x")))})
		d, _ := r.turn(a, l, "go")
		if d.Kind != "iterations" || !strings.Contains(d.Error, "max iterations") || len(r.model.Requests()) != 4 {
			r.Errorf("%+v after %d requests", d, len(r.model.Requests()))
		}
		if a.LastError() != d.Error || a.State() != msg.StateError {
			r.Errorf("last error %q, state %v", a.LastError(), a.State())
		}
	}, many...)

	for i := range many {
		many[i] = strings.Replace(call, "c1", fmt.Sprint("c", i), 1)
	}
	bubble(t, actors.Options{}, func(r *rig) {
		a, l := r.spawn(actors.AgentOptions{Tools: r.tools(goTool(says("same")))})
		d, events := r.turn(a, l, "go")
		if d.Kind != "repeated" || len(r.model.Requests()) != 8 {
			r.Errorf("%+v after %d requests", d, len(r.model.Requests()))
		}
		if got := results(events)["c2"]; !strings.Contains(got, "3rd identical call") {
			r.Errorf("third result %q", got)
		}
	}, many...)

	bubble(t, actors.Options{}, func(r *rig) {
		a, l := r.spawn(actors.AgentOptions{Volatile: []string{"t"}, Tools: r.tools(goTool(says("same")))})
		d, _ := r.turn(a, l, "go")
		if d.Status != "done" {
			r.Errorf("polling: %+v", d)
		}
		h, _ := a.History()
		stubs := 0
		for _, m := range h {
			if m.Content == "[superseded by newer t]" {
				stubs++
			}
		}
		if stubs != 11 {
			r.Errorf("%d stubs, want 11", stubs)
		}
	}, append(many[:12:12], ok)...)
}

func TestPermission(t *testing.T) {
	gated := func() actors.GoTools { return actors.GoTools{{Name: "t", Run: says("ran")}} }
	bubble(t, actors.Options{}, func(r *rig) {
		a, l := r.spawn(actors.AgentOptions{Tools: r.tools(gated())})
		_, events := r.turn(a, l, "go")
		if got := results(events)["c1"]; !strings.Contains(got, "--allow") || strings.Contains(got, "ran") {
			r.Errorf("headless: %q", got)
		}
	}, call, ok)

	answers := []struct {
		answer msg.PermitAnswer
		ran    int
	}{{msg.AllowOnce, 3}, {msg.DenyOnce, 0}, {msg.AllowAlways, 3}, {msg.DenyAlways, 0}}
	for _, tc := range answers {
		bubble(t, actors.Options{}, func(r *rig) {
			a, l := r.spawn(actors.AgentOptions{Tools: r.tools(gated()), Permissions: actors.Permissions{Ask: true}})
			n, err := a.Submit("go")
			if err != nil {
				r.Fatal(err)
			}
			asked, ran := 0, 0
			if _, err := l.Turn(context.Background(), n, func(e actors.Event) {
				switch d := e.Data.(type) {
				case msg.PermissionAsked:
					asked++
					synctest.Wait() // the other calls ask too
					err := a.Permit(d.ID, tc.answer)
					if errors.Is(err, actors.ErrNoQuestion) && (tc.answer == msg.AllowAlways || tc.answer == msg.DenyAlways) {
						return // settled by the first answer
					}
					if err != nil {
						r.Error(err)
					}
				case msg.ToolResult:
					if d.Text == "ran" {
						ran++
					}
				}
			}); err != nil {
				r.Fatal(err)
			}
			if asked != 3 || ran != tc.ran {
				r.Errorf("%s: %d questions, %d ran, want %d", tc.answer, asked, ran, tc.ran)
			}
			if err := a.Permit(1, msg.AllowOnce); !errors.Is(err, actors.ErrNoQuestion) {
				r.Errorf("late answer: %v", err)
			}
		}, fanOut(3)+"!finish tool_calls\n", ok)
	}
}

func TestCancelSettlesQuestions(t *testing.T) {
	bubble(t, actors.Options{}, func(r *rig) {
		a, l := r.spawn(actors.AgentOptions{Tools: r.tools(actors.GoTools{{Name: "t", Run: says("ran")}}), Permissions: actors.Permissions{Ask: true}})
		n, err := a.Submit("go")
		if err != nil {
			r.Fatal(err)
		}
		synctest.Wait()
		if err := a.Cancel(); err != nil {
			r.Fatal(err)
		}
		d, events := r.end(l, n)
		settled := false
		for _, e := range events {
			if s, ok := e.Data.(msg.PermissionSettled); ok && s.By == "cancel" && !s.Allowed {
				settled = true
			}
		}
		if d.Status != "canceled" || !settled {
			r.Errorf("%+v, settled %v", d, settled)
		}
		r.idle()
	}, call)
}

func TestBudget(t *testing.T) {
	b := &actors.Budget{MaxTurns: 2}
	bubble(t, actors.Options{}, func(r *rig) {
		a, l := r.spawn(actors.AgentOptions{Budget: b})
		r.turn(a, l, "1")
		r.turn(a, l, "2")
		if _, err := a.Submit("3"); !errors.Is(err, actors.ErrCeiling) {
			r.Errorf("third turn: %v", err)
		}
	}, ok, ok)
	bubble(t, actors.Options{}, func(r *rig) {
		a, l := r.spawn(actors.AgentOptions{Budget: &actors.Budget{MaxTokens: 100}, Tools: r.tools(goTool(says("x")))})
		if d, _ := r.turn(a, l, "1"); d.Status != "ceiling" || !errors.Is(d.Err, actors.ErrCeiling) || len(r.model.Requests()) != 1 {
			r.Errorf("%+v after %d requests", d, len(r.model.Requests()))
		}
	}, "!tool c1 t {}\n!usage 90 20\n!finish tool_calls\n", ok)
}

func TestToolsAtRunTime(t *testing.T) {
	bubble(t, actors.Options{}, func(r *rig) {
		a, l := r.spawn(actors.AgentOptions{})
		if err := a.AddTool(goTool(says("added"))[0]); err != nil {
			r.Fatal(err)
		}
		if err := a.AddTool(goTool(says("again"))[0]); err == nil {
			r.Error("a second tool of the name was taken")
		}
		_, events := r.turn(a, l, "go")
		if got := results(events)["c1"]; got != "added" {
			r.Errorf("result %q", got)
		}
		if err := a.RemoveTool("t"); err != nil {
			r.Fatal(err)
		}
		_, events = r.turn(a, l, "go")
		if got := results(events)["c2"]; !strings.Contains(got, `unknown tool "t"`) {
			r.Errorf("removed: %q", got)
		}
	}, call, ok, strings.Replace(call, "c1", "c2", 1), ok)
}

func TestSlowListenerLosesNothing(t *testing.T) {
	bubble(t, actors.Options{}, func(r *rig) {
		var b strings.Builder
		for i := range 2000 {
			fmt.Fprintf(&b, "!text w%d\n", i)
		}
		r.model.Replies = []string{b.String() + "!finish stop\n"}
		got, panics := "", 0
		a, l := r.spawn(actors.AgentOptions{OnEvent: func(e actors.Event) {
			time.Sleep(time.Second) // slower than the agent by far
			if t, ok := e.Data.(msg.Text); ok {
				got += t.Text
			}
			if panics++; panics == 2 {
				panic("a listener's own fault")
			}
		}})
		d, events := r.turn(a, l, "go")
		seen := ""
		for _, e := range events {
			if t, ok := e.Data.(msg.Text); ok {
				seen += t.Text
			}
		}
		if seen != d.Text {
			r.Errorf("the listener read %d bytes of %d", len(seen), len(d.Text))
		}
		time.Sleep(time.Hour)
		synctest.Wait()
		if got != d.Text {
			r.Errorf("the slow one heard %d bytes of %d", len(got), len(d.Text))
		}
	})
}

func TestCallbackMayUseTheAgent(t *testing.T) {
	bubble(t, actors.Options{}, func(r *rig) {
		ready := make(chan *actors.Agent, 1)
		a, l := r.spawn(actors.AgentOptions{OnEvent: func(e actors.Event) {
			if s, ok := e.Data.(msg.StateChanged); ok && s.State == msg.StateThinking {
				a := <-ready
				if err := a.Cancel(); err != nil {
					r.Error(err)
				}
			}
		}})
		ready <- a
		if d, _ := r.turn(a, l, "go"); d.Status != "canceled" {
			r.Errorf("%+v", d)
		}
	}, "!hang\n")
}

func TestBuiltins(t *testing.T) {
	r := newRig(t, actors.Options{}, `!tool c1 write_file {"path":"a.txt","content":"hello"}
!finish tool_calls
`, `!tool c2@0 read_file {"path":"a.txt"}
!tool c3@1 shell_exec {"command":"cat a.txt; exit 3"}
!finish tool_calls
`, ok)
	dir := t.TempDir()
	a, l := r.spawn(actors.AgentOptions{Builtins: &actors.Builtins{Dir: dir}, Permissions: actors.Permissions{AllowAll: true}})
	_, events := r.turn(a, l, "go")
	got := results(events)
	if b, err := os.ReadFile(filepath.Join(dir, "a.txt")); err != nil || string(b) != "hello" {
		t.Errorf("file %q, %v", b, err)
	}
	if !strings.Contains(got["c2"], "hello") || !strings.Contains(got["c3"], "(exit status 3)") {
		t.Errorf("results %q", got)
	}
	r.idle()
	r.close()
}

// A child that uses up the call's time ends the call, also while main waits.
func TestChildEndsTheCall(t *testing.T) {
	r := newRig(t, actors.Options{}, call, ok)
	set := r.tools(nil, `clm.tool_register("t", { no_prompt = true, timeout_ms = 200, invoke = function(_, ctx)
		local t = clm.spawn(function() while true do end end)
		t:wait()
		ctx:complete("not reached")
	end })`)
	a, l := r.spawn(actors.AgentOptions{Tools: set})
	d, events := r.turn(a, l, "go")
	if got := results(events)["c1"]; d.Status != "done" || got != "[tool failed: timed out after 200 ms]" {
		t.Errorf("%+v, %q", d, got)
	}
	r.idle()
	r.close()
}
