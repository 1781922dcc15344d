package actors_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"clm/actors"
	"clm/actors/msg"
	"clm/llm"
)

// begin submits a prompt and lets everything run until it waits.
func (r *rig) begin(a *actors.Agent, prompt string) uint64 {
	r.Helper()
	n, err := a.Submit(prompt)
	if err != nil {
		r.Fatal(err)
	}
	synctest.Wait()
	return n
}

// rest reads the events that are there already.
func rest(l *actors.Listener) []actors.Event {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	var events []actors.Event
	for e := range l.All(ctx) {
		events = append(events, e)
	}
	return events
}

func ends(events []actors.Event) (out []msg.TurnDone) {
	for _, e := range events {
		if d, ok := e.Data.(msg.TurnDone); ok {
			out = append(out, d)
		}
	}
	return out
}

// An engine that stops while turns run ends each of them once, says so, and
// says so last: nothing of the turn is alive then.
func TestStopWhileTurnsRun(t *testing.T) {
	bubble(t, actors.Options{}, func(r *rig) {
		var l [3]*actors.Listener
		set := r.tools(nil, lua("t", `http.get("http://web/hang")`))
		for i := range l {
			var a *actors.Agent
			a, l[i] = r.spawn(actors.AgentOptions{Tools: set})
			r.begin(a, "go")
		}
		if n := r.web.active.Load(); n != 3 {
			r.Fatalf("%d requests in flight", n)
		}
		for range 2 { // a second stop is no fault
			if err := r.engine.Stop(context.Background()); err != nil {
				r.Error(err)
			}
		}
		for _, l := range l {
			events := rest(l)
			done := ends(events)
			if len(done) != 1 || done[0].Status != "canceled" || !errors.Is(done[0].Err, actors.ErrStopped) {
				r.Errorf("%+v", done)
			}
			if _, last := events[len(events)-1].Data.(msg.TurnDone); !last {
				r.Errorf("the last event is %+v", events[len(events)-1])
			}
		}
		if _, err := r.engine.Spawn(context.Background(), actors.AgentOptions{}); !errors.Is(err, actors.ErrStopped) {
			r.Errorf("spawn after the end: %v", err)
		}
	}, call, call, call)
}

// The end of a turn that its agent's end brought about is told when nothing of
// it is alive, as any other.
func TestStopTellsTheTurnsEndLast(t *testing.T) {
	bubble(t, actors.Options{}, func(r *rig) {
		var ended atomic.Bool
		early := false
		tool := goTool(func(ctx context.Context, _ actors.ToolCall) (actors.ToolOutput, error) {
			<-ctx.Done()
			time.Sleep(500 * time.Millisecond) // slow to end, but within the grace period
			ended.Store(true)
			return actors.ToolOutput{}, ctx.Err()
		})
		a, _ := r.spawn(actors.AgentOptions{Tools: r.tools(tool), OnEvent: func(e actors.Event) {
			if _, ok := e.Data.(msg.TurnDone); ok && !ended.Load() {
				early = true
			}
		}})
		r.begin(a, "go")
		if err := a.Stop(context.Background()); err != nil {
			r.Error(err)
		}
		synctest.Wait()
		if early || !ended.Load() {
			r.Errorf("the turn's end was told early: %v; the tool ended: %v", early, ended.Load())
		}
		if _, err := a.Submit("more"); !errors.Is(err, actors.ErrStopped) {
			r.Errorf("submit after the end: %v", err)
		}
	}, call)
}

func TestStopFromACallback(t *testing.T) {
	bubble(t, actors.Options{}, func(r *rig) {
		ready := make(chan *actors.Agent, 1)
		took := time.Duration(-1)
		a, _ := r.spawn(actors.AgentOptions{OnEvent: func(e actors.Event) {
			if s, ok := e.Data.(msg.StateChanged); !ok || s.State != msg.StateThinking {
				return
			}
			start := time.Now()
			if err := (<-ready).Stop(context.Background()); err != nil {
				r.Error(err)
			}
			took = time.Since(start)
		}})
		ready <- a
		r.begin(a, "go")
		time.Sleep(time.Minute)
		synctest.Wait()
		if took < 0 || took > 100*time.Millisecond {
			r.Errorf("Stop in a callback took %v", took)
		}
		<-a.Done()
	}, "!hang\n")
}

// A slow callback is no part of the agent: its end does not wait for it, and
// nothing is lost on it.
func TestStopWithASlowCallback(t *testing.T) {
	bubble(t, actors.Options{}, func(r *rig) {
		var got []string
		a, l := r.spawn(actors.AgentOptions{OnEvent: func(e actors.Event) {
			time.Sleep(200 * time.Millisecond)
			got = append(got, e.Data.EventName())
		}})
		r.turn(a, l, "go")
		start := time.Now()
		if err := a.Stop(context.Background()); err != nil {
			r.Error(err)
		}
		if took := time.Since(start); took > 100*time.Millisecond {
			r.Errorf("the stop took %v", took)
		}
		time.Sleep(time.Minute)
		synctest.Wait()
		if len(got) == 0 || got[len(got)-1] != "turn_done" {
			r.Errorf("the callback heard %v", got)
		}
	}, ok)
}

// Who listens to an agent that has ended is told so, after all of its events.
func TestListenersEndWithTheAgent(t *testing.T) {
	bubble(t, actors.Options{}, func(r *rig) {
		a, l := r.spawn(actors.AgentOptions{})
		n := r.begin(a, "go")
		if err := a.Stop(context.Background()); err != nil {
			r.Error(err)
		}
		ctx, cancel := context.WithTimeout(context.Background(), time.Hour)
		defer cancel()
		if d, err := l.Turn(ctx, n, nil); err != nil || d.Status != "canceled" {
			r.Errorf("%+v, %v", d, err)
		}
		if _, err := l.Next(ctx); !errors.Is(err, actors.ErrStopped) {
			r.Errorf("after the end: %v", err)
		}
		if _, err := a.Listen(); !errors.Is(err, actors.ErrStopped) {
			r.Errorf("listen after the end: %v", err)
		}
	}, "!hang\n")
}

func TestPanicInAnAgent(t *testing.T) {
	bubble(t, actors.Options{}, func(r *rig) {
		bad := actors.Model{Connection: llm.Connection{URL: modelURL}, ID: "mock", ContextSize: 1000}
		a, l := r.spawn(actors.AgentOptions{Model: bad})
		b, lb := r.spawn(actors.AgentOptions{})
		r.begin(a, "go")
		actors.PanicIn(a)
		<-a.Done()
		done := ends(rest(l))
		if len(done) != 1 || done[0].Status != "failed" || done[0].Kind != "panic" || !strings.Contains(done[0].Error, "panic") {
			r.Errorf("%+v", done)
		}
		if err := a.Stop(context.Background()); err == nil || !strings.Contains(err.Error(), "panic") {
			r.Errorf("Stop: %v", err)
		}
		if d, _ := r.turn(b, lb, "go"); d.Status != "done" {
			r.Errorf("the other agent: %+v", d)
		}
		if _, err := r.engine.Spawn(context.Background(), actors.AgentOptions{ID: a.ID(), Model: bad}); err != nil {
			r.Errorf("its name is free again: %v", err)
		}
	}, "!hang\n", ok)
}

func TestAWatchThatPanics(t *testing.T) {
	bubble(t, actors.Options{Watch: func(actors.Trace) { panic("the watcher's own fault") }}, func(r *rig) {
		a, l := r.spawn(actors.AgentOptions{})
		if d, _ := r.turn(a, l, "go"); d.Status != "done" {
			r.Errorf("%+v", d)
		}
	}, ok)
}

func TestTraceLogsMessages(t *testing.T) {
	var mu sync.Mutex
	var log bytes.Buffer
	h := slog.NewTextHandler(lockedWriter{&mu, &log}, &slog.HandlerOptions{Level: slog.LevelDebug})
	bubble(t, actors.Options{Trace: true, Logger: slog.New(h)}, func(r *rig) {
		a, l := r.spawn(actors.AgentOptions{Model: actors.Model{Connection: llm.Connection{URL: modelURL, Key: "sk-secret-1"}, ID: "m", ContextSize: 1000}})
		r.turn(a, l, "a private prompt")
	}, ok)
	mu.Lock()
	defer mu.Unlock()
	text := log.String()
	if !strings.Contains(text, "type=msg.RunTurn") || !strings.Contains(text, "to=engine/agent/a1/turn/1") {
		t.Errorf("log %.2000s", text)
	}
	if strings.Contains(text, "a private prompt") || strings.Contains(text, "sk-secret-1") {
		t.Error("the log holds what messages hold")
	}
}

type lockedWriter struct {
	mu *sync.Mutex
	b  *bytes.Buffer
}

func (w lockedWriter) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.b.Write(p)
}

// What an embedder's actor sends by mistake is refused, or harms nobody.
func TestMessagesByMistake(t *testing.T) {
	system := actor.NewActorSystem(silent...)
	defer system.Shutdown()
	r := newRig(t, actors.Options{System: system}, ok)
	a, l := r.spawn(actors.AgentOptions{})
	system.Root.Send(a.PID(), msg.Listen{}) // nobody to tell
	system.Root.Send(a.PID(), "hello")
	for _, m := range []any{"hello", 42, msg.Event{}, msg.Permit{}} {
		got, err := system.Root.RequestFuture(a.PID(), m, 5*time.Second).Result()
		if _, rejected := got.(msg.Rejected); err != nil || !rejected {
			t.Errorf("%T is answered by %#v, %v", m, got, err)
		}
	}
	if d, _ := r.turn(a, l, "go"); d.Status != "done" {
		t.Errorf("%+v", d)
	}
	r.close()
}

// A listener that is an actor is forgotten when it has ended.
func TestActorListenersAreForgotten(t *testing.T) {
	system := actor.NewActorSystem(silent...)
	defer system.Shutdown()
	var late atomic.Int64
	r := newRig(t, actors.Options{System: system, Watch: func(m actors.Trace) {
		if _, ok := m.Message.(*actor.DeadLetterResponse); ok {
			late.Add(1)
		}
	}}, ok, ok)
	a, l := r.spawn(actors.AgentOptions{})
	done := make(chan int, 10)
	events := 0
	pid := system.Root.Spawn(actor.PropsFromFunc(func(c actor.Context) {
		switch m := c.Message().(type) {
		case *actor.Started:
			c.Request(a.PID(), msg.Listen{})
			c.Request(a.PID(), msg.Listen{}) // once is enough
		case msg.Accepted:
			done <- 0
		case msg.Event:
			events++
			if _, ok := m.Data.(msg.TurnDone); ok {
				done <- events
			}
		}
	}))
	<-done
	<-done
	_, all := r.turn(a, l, "go")
	if n := <-done; n != len(all) {
		t.Errorf("the actor heard %d events of %d", n, len(all))
	}
	if err := system.Root.StopFuture(pid).Wait(); err != nil {
		t.Error(err)
	}
	if _, err := a.History(); err != nil { // behind the news of its end
		t.Error(err)
	}
	dead := system.EventStream.Subscribe(func(e any) {
		if d, ok := e.(*actor.DeadLetterEvent); ok && d.PID.Equal(pid) {
			late.Add(1)
		}
	})
	defer system.EventStream.Unsubscribe(dead)
	r.turn(a, l, "again")
	if n := late.Load(); n > 1 {
		t.Errorf("%d events went to an actor that has ended", n)
	}
	r.close()
}

// The tree and the counters show what lives, while it lives.
func TestTreeAndCounts(t *testing.T) {
	bubble(t, actors.Options{}, func(r *rig) {
		a, l := r.spawn(actors.AgentOptions{ID: "a", Tools: r.tools(nil, lua("t", `
clm.spawn(function() http.get("http://web/hang") end)
clm.sleep(3600000)`))})
		n := r.begin(a, "go")
		time.Sleep(time.Minute)
		var lines []string
		var walk func(i actors.Info, path string)
		walk = func(i actors.Info, path string) {
			path += "/" + i.Kind
			lines = append(lines, path+" "+i.Name)
			if i.Last == "" || i.State == "" && i.Kind != "engine" && i.Kind != "request" && i.Kind != "plugin" || i.Mailbox > i.High {
				r.Errorf("%s: %+v", path, i)
			}
			if i.Age < time.Minute {
				r.Errorf("%s is %v old", path, i.Age)
			}
			for _, k := range i.Children {
				walk(k, path)
			}
		}
		walk(r.engine.Tree(), "")
		want := `/engine 
/engine/agent a
/engine/agent/turn 1
/engine/agent/turn/toolcall c1
/engine/agent/turn/toolcall/task 1
/engine/agent/turn/toolcall/task/subtask 2
/engine/agent/turn/toolcall/task/subtask/request GET http://web/hang
/engine/agent/turn/toolcall/task/request timer
/engine/agent/plugin p1`
		if got := strings.Join(lines, "\n"); got != want {
			r.Errorf("tree\n%s\nwant\n%s", got, want)
		}
		for _, c := range r.engine.Counts() {
			if c.Kind == "request" && (c.Live != 2 || c.Spawned != 2) || c.Kind == "model" && (c.Live != 0 || c.Spawned != 1) {
				r.Errorf("%+v", c)
			}
		}
		if err := a.Cancel(); err != nil {
			r.Fatal(err)
		}
		r.end(l, n)
		if k := a.Tree().Children; len(k) != 1 || k[0].Kind != "plugin" {
			r.Errorf("after the turn %+v", k)
		}
	}, call)
}

// A transport of the embedder's that panics ends the turn, and no more.
func TestATransportThatPanics(t *testing.T) {
	r := newRig(t, actors.Options{}, ok)
	e, err := actors.Start(context.Background(), actors.Options{Transport: panics{}})
	if err != nil {
		t.Fatal(err)
	}
	a, err := e.Spawn(context.Background(), actors.AgentOptions{Model: mock(1 << 20)})
	if err != nil {
		t.Fatal(err)
	}
	l, err := a.Listen()
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		n, err := a.Submit("go")
		if err != nil {
			t.Fatal(err)
		}
		if d, _ := r.end(l, n); d.Status != "failed" || d.Kind != "panic" || !strings.Contains(d.Error, "the transport's own fault") {
			t.Errorf("%+v", d)
		}
	}
	if err := e.Stop(context.Background()); err != nil {
		t.Error(err)
	}
	r.close()
}

type panics struct{}

func (panics) RoundTrip(*http.Request) (*http.Response, error) { panic("the transport's own fault") }
