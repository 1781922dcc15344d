package actors_test

import (
	"context"
	"io"
	"net/http"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"clm/actors"
	"clm/actors/msg"
	"clm/llm"
	"clm/llm/llmtest"
)

func TestMain(m *testing.M) {
	if os.Getenv("CLM_TEST_SERVER") != "" {
		stubbornServer()
		return
	}
	goleak.VerifyTestMain(m)
}

// rig is an engine with a scripted model and a web server, in memory.
type rig struct {
	*testing.T
	engine *actors.Engine
	model  *llmtest.Model
	web    web
	mcp    map[string]http.Handler // by host
	wire   *llmtest.Transport
}

// web is what plugins reach: /text/BODY, /slow/MS/BODY, /hang.
type web struct{ active, seen, left atomic.Int64 }

func (w *web) ServeHTTP(rw http.ResponseWriter, r *http.Request) {
	w.seen.Add(1)
	w.active.Add(1)
	defer w.active.Add(-1)
	part := strings.SplitN(strings.Trim(r.URL.Path, "/"), "/", 3)
	wait := time.Duration(0)
	switch part[0] {
	case "slow":
		wait, _ = time.ParseDuration(part[1] + "ms")
	case "hang":
		wait = time.Hour
	}
	select {
	case <-time.After(wait):
		_, _ = io.WriteString(rw, part[len(part)-1])
	case <-r.Context().Done():
		w.left.Add(1)
	}
}

func (r *rig) ServeHTTP(w http.ResponseWriter, q *http.Request) {
	if q.URL.Host == "web" {
		r.web.ServeHTTP(w, q)
		return
	}
	if s := r.mcp[q.URL.Host]; s != nil {
		s.ServeHTTP(w, q)
		return
	}
	r.model.ServeHTTP(w, q)
}

// newRig starts an engine whose model plays replies.
func newRig(t *testing.T, o actors.Options, replies ...string) *rig {
	r := &rig{T: t, model: llmtest.New(replies...)}
	r.wire = llmtest.NewTransport(r)
	o.Transport = r.wire
	var err error
	if r.engine, err = actors.Start(context.Background(), o); err != nil {
		t.Fatal(err)
	}
	return r
}

// bubble runs f in virtual time; afterwards nothing of the engine may be alive.
func bubble(t *testing.T, o actors.Options, f func(r *rig), replies ...string) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, o, replies...)
		f(r)
		r.close()
	})
}

func (r *rig) close() {
	r.Helper()
	if err := r.engine.Stop(context.Background()); err != nil {
		r.Error(err)
	}
	r.wire.Wait()
	for _, c := range r.engine.Counts() {
		if c.Live != 0 {
			r.Errorf("after the engine's end %d %s actors are alive", c.Live, c.Kind)
		}
	}
	r.quiet()
	time.Sleep(10 * time.Millisecond) // past the dead-letter throttle
}

// quiet checks that no goroutine and no request of a turn is alive.
func (r *rig) quiet() {
	r.Helper()
	if n, _ := r.engine.Goroutines(); n != 0 {
		r.Errorf("%d goroutines are alive: %+v", n, r.engine.Tree())
	}
	if n := r.model.Active() + int(r.web.active.Load()); n != 0 {
		r.Errorf("%d requests are in flight", n)
	}
}

// idle checks that nothing of a turn is alive.
func (r *rig) idle() {
	r.Helper()
	for _, c := range r.engine.Counts() {
		switch c.Kind {
		case "engine", "agent", "plugin", "store", "mcp":
		default:
			if c.Live != 0 {
				r.Errorf("after the turn's end %d %s actors are alive", c.Live, c.Kind)
			}
		}
	}
	r.wire.Wait() // the handlers see that their client has left
	r.quiet()
}

const modelURL = "http://model/v1"

func (r *rig) spawn(o actors.AgentOptions) (*actors.Agent, *actors.Listener) {
	r.Helper()
	if o.Model.ID == "" {
		o.Model = actors.Model{Connection: llm.Connection{URL: modelURL}, ID: "mock", ContextSize: 100_000}
	}
	a, err := r.engine.Spawn(context.Background(), o)
	if err != nil {
		r.Fatal(err)
	}
	l, err := a.Listen()
	if err != nil {
		r.Fatal(err)
	}
	return a, l
}

// tools makes a set of Lua plugins, named p1, p2, … and Go tools.
func (r *rig) tools(goTools actors.GoTools, sources ...string) *actors.Toolset {
	r.Helper()
	var o actors.PluginOptions
	for i, s := range sources {
		o.Files = append(o.Files, actors.PluginFile{Name: "p" + string(rune('1'+i)), Source: s})
	}
	p, errs := actors.LoadPlugins(context.Background(), o)
	for _, err := range errs {
		r.Fatal(err)
	}
	set, err := actors.NewToolset(goTools, p)
	if err != nil {
		r.Fatal(err)
	}
	return set
}

// turn submits a prompt and returns how its turn ended, with its events.
func (r *rig) turn(a *actors.Agent, l *actors.Listener, prompt string) (msg.TurnDone, []actors.Event) {
	r.Helper()
	n, err := a.Submit(prompt)
	if err != nil {
		r.Fatal(err)
	}
	return r.end(l, n)
}

func (r *rig) end(l *actors.Listener, turn uint64) (msg.TurnDone, []actors.Event) {
	r.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 24*time.Hour)
	defer cancel()
	var events []actors.Event
	d, err := l.Turn(ctx, turn, func(e actors.Event) { events = append(events, e) })
	if err != nil {
		r.Fatalf("the turn did not end: %v; %+v", err, r.engine.Tree())
	}
	return d, events
}

// results collects the texts of the tools' results by call.
func results(events []actors.Event) map[string]string {
	out := map[string]string{}
	for _, e := range events {
		if t, ok := e.Data.(msg.ToolResult); ok {
			out[t.CallID] = t.Text
		}
	}
	return out
}

// lua is a plugin whose tool t does what the body says.
func lua(name, body string) string {
	return `clm.tool_register("` + name + `", { no_prompt = true, invoke = function(args, ctx) ` + body + ` end })`
}
