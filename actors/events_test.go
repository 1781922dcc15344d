package actors_test

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"clm/actors"
	"clm/actors/msg"
	"clm/llm"
)

// Every event is one JSON object that names its type; a message in it is
// written as sessions hold it.
func TestEventsAsJSON(t *testing.T) {
	bubble(t, actors.Options{}, func(r *rig) {
		a, l := r.spawn(actors.AgentOptions{ID: "a", SubAgents: helper(actors.AgentOptions{}), Tools: r.tools(goTool(says("x")))})
		_, events := r.turn(a, l, "go")
		seen := map[string]map[string]any{}
		for _, e := range events {
			b, err := json.Marshal(e)
			if err != nil {
				r.Fatal(err)
			}
			var got struct {
				Type, Agent string
				Seq, Turn   uint64
				Time        time.Time
				Data        map[string]any
			}
			if err := json.Unmarshal(b, &got); err != nil || got.Type != e.Data.EventName() || got.Agent != "a" || got.Seq != e.Seq || got.Turn != 1 || !got.Time.Equal(e.Time) || got.Data == nil {
				r.Errorf("%s: %v", b, err)
			}
			if m, ok := e.Data.(msg.MessageAdded); ok {
				inner := got.Data["message"].(map[string]any)
				if inner["role"] != string(m.Message.Role) || (m.Message.Content != "") != (inner["content"] != nil && inner["content"] != "") {
					r.Errorf("%s", b)
				}
				if calls, ok := inner["tool_calls"].([]any); len(m.Message.ToolCalls) > 0 && (!ok || calls[0].(map[string]any)["name"] != m.Message.ToolCalls[0].Name) {
					r.Errorf("%s", b)
				}
			}
			seen[got.Type] = got.Data
		}
		want := []string{"batch", "finish", "message", "state", "sub_agent", "text", "tool_begin", "tool_result", "turn_done", "usage"}
		if got := slices.Sorted(maps.Keys(seen)); !slices.Equal(got, want) {
			r.Errorf("events %v, want %v", got, want)
		}
		if s := seen["state"]["state"]; s != "COMPLETE" && s != "THINKING" {
			r.Errorf("state %v", s)
		}
		if e := seen["sub_agent"]["event"].(map[string]any); e["type"] != "turn_done" {
			r.Errorf("%v", e)
		}
	}, "!tool c1@0 t {}\n!tool s1@1 agent {\"agent\":\"helper\",\"prompt\":\"x\"}\n!usage 5 5\n!finish tool_calls\n", ok, ok)
	if s := msg.State(77).String(); s != "State(77)" {
		t.Errorf("a state that is none is %q", s)
	}
}

// Steering joins the turn at whatever point it comes; too late, it starts the
// next one; never is it lost, nor said twice.
func TestSteeringAtEachMessage(t *testing.T) {
	total := steerAt(t, -1)
	if total < 20 {
		t.Fatalf("only %d messages", total)
	}
	for n := range total {
		steerAt(t, n+1)
	}
}

func steerAt(t *testing.T, n int) int {
	var mu sync.Mutex
	got := 0
	var hit chan struct{}
	watch := func(actors.Trace) {
		mu.Lock()
		defer mu.Unlock()
		if hit != nil {
			if got++; got == n {
				close(hit)
			}
		}
	}
	bubble(t, actors.Options{Watch: watch}, func(r *rig) {
		a, l := r.spawn(actors.AgentOptions{Tools: r.tools(nil, lua("t", `clm.sleep(10) ctx:complete("x")`))})
		mu.Lock()
		hit = make(chan struct{})
		now := hit
		mu.Unlock()
		stop, gone := make(chan struct{}), make(chan struct{})
		steered := false
		go func() {
			defer close(gone)
			select {
			case <-now:
				steered = true
				if _, err := a.Steer("STEERED"); err != nil {
					t.Errorf("at message %d: %v", n, err)
				}
			case <-stop:
			}
		}()
		r.turn(a, l, "go")
		close(stop)
		<-gone
		synctest.Wait()
		h, err := a.History()
		said := 0
		for _, m := range h {
			said += strings.Count(m.Content, "STEERED")
		}
		if err != nil || steered != (said == 1) {
			t.Errorf("steered at message %d: it was said %d times, %v", n, said, err)
		}
		q := r.model.Requests()
		valid(r, q[len(q)-1].Body)
		if steered && !strings.Contains(string(q[len(q)-1].Body), "STEERED") {
			t.Errorf("steered at message %d: no model was told", n)
		}
	}, call, ok, ok)
	return got
}

// Options are the agent's own when it is spawned: what the caller does with
// what it gave changes nothing.
func TestOptionsAreCopied(t *testing.T) {
	bubble(t, actors.Options{}, func(r *rig) {
		o := actors.AgentOptions{
			Volatile: []string{"t"}, Model: mock(1 << 20), History: []llm.Message{{Role: llm.RoleUser, Content: "before"}},
			SubAgents: helper(actors.AgentOptions{System: "the helper", Model: mock(1 << 20)}),
		}
		o.Model.Connection.Headers = map[string]llm.Secret{"X-A": "1"}
		a, l := r.spawn(o)
		o.Volatile[0], o.History[0].Content = "x", "after"
		o.Model.Connection.Headers["X-A"] = "2"
		delete(o.SubAgents, "helper")
		r.turn(a, l, "go")
		q := r.model.Requests()
		if q[0].Header.Get("X-A") != "1" || !strings.Contains(string(q[0].Body), "before") || !strings.Contains(string(q[1].Body), "the helper") {
			r.Errorf("%s\n%s", q[0].Body, q[1].Body)
		}
	}, delegate("s1"), ok, ok)
}

func TestFaultyOptionsAreRefused(t *testing.T) {
	bubble(t, actors.Options{MaxAgents: 1}, func(r *rig) {
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		if _, err := r.engine.Spawn(ctx, actors.AgentOptions{Model: mock(1)}); !errors.Is(err, context.Canceled) {
			r.Errorf("spawn with an ended context: %v", err)
		}
		for name, o := range map[string]actors.AgentOptions{
			"volatile": {Model: mock(1), Volatile: []string{"[a"}},
			"rule":     {Model: mock(1), Permissions: actors.Permissions{Allow: []string{"x:y"}}},
			"url":      {Model: actors.Model{Connection: llm.Connection{URL: "no url"}, ID: "m"}},
		} {
			if _, err := r.engine.Spawn(context.Background(), o); err == nil {
				r.Errorf("%s: taken", name)
			}
		}
		for _, tool := range []actors.Tool{{Name: "t"}, {Name: "", Run: says("x")}, {Name: "a b", Run: says("x")}, {Name: "s", Run: says("x"), Schema: json.RawMessage(`{`)}} {
			if _, err := actors.NewToolset(actors.GoTools{tool}); err == nil {
				r.Errorf("tool %+v is taken", tool)
			}
		}
		r.spawn(actors.AgentOptions{ID: "one"})
		if _, err := r.engine.Spawn(context.Background(), actors.AgentOptions{Model: mock(1)}); !errors.Is(err, actors.ErrOverloaded) {
			r.Errorf("one agent too many: %v", err)
		}
	})
}

func TestTurnsInFlightAreLimited(t *testing.T) {
	bubble(t, actors.Options{MaxTurns: 2}, func(r *rig) {
		var l []*actors.Listener
		var refused *actors.Agent
		for range 3 {
			a, listener := r.spawn(actors.AgentOptions{})
			switch _, err := a.Submit("go"); {
			case errors.Is(err, actors.ErrOverloaded):
				refused = a
			case err != nil:
				r.Fatal(err)
			default:
				l = append(l, listener)
			}
		}
		if len(l) != 2 || refused == nil {
			r.Fatalf("%d turns were started", len(l))
		}
		for _, l := range l {
			r.end(l, 1)
		}
		if _, err := refused.Submit("now"); err != nil {
			r.Error(err)
		}
		synctest.Wait()
	}, "!sleep 100\n"+ok, "!sleep 100\n"+ok, ok)
}

// handClock is a clock that a test turns.
type handClock struct {
	mu     sync.Mutex
	now    time.Time
	timers []*handTimer
}

type handTimer struct {
	c    *handClock
	at   time.Time
	f    func()
	done bool
}

func (c *handClock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *handClock) AfterFunc(d time.Duration, f func()) actors.Timer {
	c.mu.Lock()
	defer c.mu.Unlock()
	t := &handTimer{c: c, at: c.now.Add(d), f: f}
	c.timers = append(c.timers, t)
	return t
}

func (t *handTimer) Stop() bool {
	t.c.mu.Lock()
	defer t.c.mu.Unlock()
	was := !t.done
	t.done = true
	return was
}

func (c *handClock) turn(d time.Duration) {
	c.mu.Lock()
	c.now = c.now.Add(d)
	var due []func()
	for _, t := range c.timers {
		if !t.done && !t.at.After(c.now) {
			t.done = true
			due = append(due, t.f)
		}
	}
	c.mu.Unlock()
	for _, f := range due {
		go f()
	}
}

// until turns the clock by seconds, at most that many, until something is over,
// and counts them.
func (c *handClock) until(most int, over func() bool) (steps int) {
	for ; !over() && steps < most; steps++ {
		c.turn(time.Second)
		synctest.Wait()
	}
	return steps
}

// A server that does not answer is waited for by the embedder's clock.
func TestSilentServerByTheEmbeddersClock(t *testing.T) {
	clock := &handClock{now: time.Date(2001, 2, 3, 4, 5, 6, 0, time.UTC)}
	bubble(t, actors.Options{Clock: clock}, func(r *rig) {
		r.mcp = map[string]http.Handler{"silent": http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
			if q.Method == http.MethodGet {
				<-q.Context().Done()
				return
			}
			r.model.ServeHTTP(w, q)
		})}
		m := mock(0) // its window is asked for
		m.Connection.URL = "http://silent/v1"
		a, l := r.spawn(actors.AgentOptions{Model: m, Tools: r.tools(goTool(says("x")))})
		n := r.begin(a, "go")
		if steps := clock.until(100, func() bool { return a.State() == msg.StateComplete }); steps != 5 {
			r.Errorf("waited %d s for the window, want 5", steps)
		}
		r.end(l, n)
		if err := a.CheckConnection(); err != nil {
			r.Fatal(err)
		}
		synctest.Wait()
		var told atomic.Pointer[msg.Connection]
		go func() {
			for e := range l.All(r.Context()) {
				if c, ok := e.Data.(msg.Connection); ok {
					told.Store(&c)
					return
				}
			}
		}()
		steps := clock.until(100, func() bool { return told.Load() != nil })
		if c := told.Load(); steps != 30 || c == nil || c.OK || c.Error != "no answer within 30s; is the server running?" {
			r.Errorf("told %+v after %d s", c, steps)
		}
	}, call, ok)
}

// The engine lives by the embedder's clock: sleeps, rates, retries, deadlines
// and the times of events.
func TestClockOfTheEmbedder(t *testing.T) {
	clock := &handClock{now: time.Date(2001, 2, 3, 4, 5, 6, 0, time.UTC)}
	bubble(t, actors.Options{Clock: clock}, func(r *rig) {
		begun := clock.Now()
		m := mock(1 << 20)
		m.RateTokensPerSec, m.RateBurst = 1, 60
		a, l := r.spawn(actors.AgentOptions{Model: m, Tools: r.tools(nil, lua("t", `clm.sleep(5000) ctx:complete("slept")`))})
		n := r.begin(a, strings.Repeat("x", 400))
		time.Sleep(time.Hour) // of the machine's
		complete := func() bool { return a.State() == msg.StateComplete }
		steps := clock.until(300, complete)
		_, events := r.end(l, n)
		// 5 s of sleep, then a minute until the second request may be sent.
		if steps < 55 || steps > 80 || results(events)["c1"] != "slept" {
			r.Errorf("the turn took %d s, %v", steps, results(events))
		}
		for _, e := range events {
			if e.Time.Sub(begun) > 2*time.Minute {
				r.Errorf("event at %v", e.Time)
			}
		}
		// A wait that is cancelled gives its tokens back, by that clock.
		for range 3 {
			n = r.begin(a, "more")
			if a.State() != msg.StateRateLimited {
				r.Fatalf("state %v", a.State())
			}
			if err := a.Cancel(); err != nil {
				r.Fatal(err)
			}
			r.end(l, n)
		}
		n = r.begin(a, "more")
		steps = clock.until(300, complete)
		if r.end(l, n); steps > 70 {
			r.Errorf("after three waits that were cancelled the next took %d s", steps)
		}
	}, call, ok, ok)
}
