package actors

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"os"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"clm/actors/internal/agent"
	"clm/actors/internal/family"
	"clm/actors/internal/store"
	"clm/actors/msg"
	"clm/llm"
)

// Engine is the root of everything that clm starts.
type Engine struct {
	opts  Options
	sys   *family.System
	root  *family.Node
	own   bool   // the actor system is ours
	dir   string // working folder at the start
	home  string // empty: ~/ in rules is literal
	turns admission
	ids   atomic.Uint64
	calls calls
	close sync.Once
}

// Start starts an engine. When ctx ends, the engine stops; see [Engine.Stop]
// for waiting until it has.
func Start(ctx context.Context, opts Options) (*Engine, error) {
	if opts.Transport == nil {
		opts.Transport = llm.NewTransport()
	}
	if opts.Clock == nil {
		opts.Clock = family.SystemClock{}
	}
	if opts.Logger == nil {
		opts.Logger = slog.New(slog.DiscardHandler)
	}
	if opts.Grace == 0 {
		opts.Grace = 2 * time.Second
	}
	if opts.Version == "" {
		opts.Version = "dev"
	}
	own := opts.System == nil
	if own {
		opts.System = actor.NewActorSystem(
			actor.WithLoggerFactory(func(*actor.ActorSystem) *slog.Logger { return slog.New(quiet{opts.Logger.Handler()}) }),
			actor.WithDeadLetterThrottleInterval(time.Millisecond))
	}
	e := &Engine{opts: opts, own: own}
	e.turns.maxTurns, e.turns.maxQueued, e.turns.maxMemory = opts.MaxTurns, opts.MaxQueued, opts.MaxMemory
	e.turns.read = readMetric
	e.turns.ending = func() bool { return e.root.Ending() }
	e.turns.collect = func() { e.sys.Send(e.root.PID(), collectGarbage{}) }
	var err error
	if e.dir, err = os.Getwd(); err != nil {
		return nil, fmt.Errorf("start engine: working folder: %w", err)
	}
	e.home, _ = os.UserHomeDir()
	e.sys = &family.System{Actors: opts.System, Clock: opts.Clock, Log: opts.Logger, Grace: opts.Grace, Trace: e.trace()}
	root, err := e.sys.SpawnRoot(ctx, family.Spec{Kind: family.KindEngine, Behavior: &engine{e: e, agents: map[string]*family.Node{}, conns: connections{servers: map[string]*server{}}}})
	if err != nil {
		return nil, err
	}
	e.root = root
	return e, nil
}

func (e *Engine) trace() func(Trace) {
	watch, log := e.opts.Watch, e.opts.Logger
	switch {
	case e.opts.Trace:
		return func(t Trace) {
			log.Debug("message", "from", t.From.String(), "to", t.ToPath, "type", fmt.Sprintf("%T", t.Message))
			if watch != nil {
				watch(t)
			}
		}
	}
	return watch
}

// Stop ends all agents and waits until nothing of the engine is alive, or ctx
// ends. It returns what was left behind after the grace period, if anything;
// an event callback that calls Stop is left behind itself. It may be called
// again.
func (e *Engine) Stop(ctx context.Context) error {
	e.root.Stop()
	select {
	case <-e.root.Done():
	case <-ctx.Done():
		return fmt.Errorf("stop engine: %w", context.Cause(ctx))
	}
	late, stop := family.Alarm(e.opts.Clock, e.opts.Grace)
	defer stop()
	slow := false
	select {
	case <-e.calls.none():
	case <-late:
		slow = true
	case <-ctx.Done():
		return fmt.Errorf("stop engine: event callbacks run: %w", context.Cause(ctx))
	}
	e.close.Do(func() {
		if e.own {
			e.opts.System.Shutdown()
		}
		closeIdle(e.opts.Transport)
	})
	if slow {
		return fmt.Errorf("stop engine: event callbacks still run after %v", e.opts.Grace)
	}
	if n := e.sys.Abandoned.Load(); n > 0 {
		return fmt.Errorf("stop engine: %d goroutine(s) ignored their cancellation and were left behind", n)
	}
	return nil
}

// closeIdle closes a transport's idle connections if it can, as [http.Client]
// does.
func closeIdle(t http.RoundTripper) {
	if c, ok := t.(interface{ CloseIdleConnections() }); ok {
		c.CloseIdleConnections()
	}
}

// Done is closed when nothing of the engine is alive any more.
func (e *Engine) Done() <-chan struct{} { return e.root.Done() }

// PID is the engine's actor.
func (e *Engine) PID() *actor.PID { return e.root.PID() }

// Tree pictures the live actors.
func (e *Engine) Tree() Info { return e.root.Info() }

// Count is how many actors of a kind there are and ever were.
type Count struct {
	Kind          string
	Live, Spawned int64
}

// Counts counts the actors by kind, by rank.
func (e *Engine) Counts() []Count {
	var out []Count
	for _, k := range family.Kinds() {
		out = append(out, Count{k.String(), e.sys.Live(k), e.sys.Spawned(k)})
	}
	return out
}

// Load is how many turns run and wait now, and how many were refused.
func (e *Engine) Load() Load { return e.turns.load() }

// Goroutines is how many goroutines run at the actors' edges now; Abandoned how
// many were ever left behind because they ignored their cancellation.
func (e *Engine) Goroutines() (live, abandoned int64) {
	return e.sys.Effects.Load(), e.sys.Abandoned.Load()
}

// Spawn starts an agent. On an error nothing was started, and the session that
// the options name is still the caller's. [ErrOverloaded]: [Options.MaxAgents]
// run. [ErrStopped]: the engine has ended.
func (e *Engine) Spawn(ctx context.Context, o AgentOptions) (*Agent, error) {
	if o.ID == "" {
		o.ID = fmt.Sprintf("a%d", e.ids.Add(1))
	}
	h, err := newHost(e, o, 0)
	if err != nil {
		return nil, fmt.Errorf("agent %s: %w", o.ID, err)
	}
	// The engine's actor answers at once, so that only what comes before it is
	// for ctx to end: an agent that nobody has a handle of must not start.
	if ctx.Err() != nil {
		return nil, fmt.Errorf("agent %s: %w", o.ID, context.Cause(ctx))
	}
	reply := make(chan error, 1)
	e.sys.Send(e.root.PID(), spawnAgent{h, reply})
	select {
	case err := <-reply:
		if err != nil {
			return nil, fmt.Errorf("agent %s: %w", o.ID, err)
		}
		return h.handle, nil
	case <-e.root.Done():
		return nil, fmt.Errorf("agent %s: %w", o.ID, msg.ErrStopped)
	}
}

// engine is the root actor: it knows the agents and the connections.
type engine struct {
	e      *Engine
	agents map[string]*family.Node
	conns  connections
}

// spawnAgent asks the engine for an agent; the answer goes into the channel.
type spawnAgent struct {
	host  *host
	reply chan<- error
}

// connect asks the engine for a model's shared connections.
type connect struct {
	model Model
	reply chan<- connected
}

type connected struct {
	model *resolved
	err   error
}

// collectGarbage asks the engine to have garbage collected at its edge, which
// then says garbageCollected; see [admission].
type (
	collectGarbage   struct{}
	garbageCollected struct{}
)

func (r *engine) Receive(n *family.Node, c actor.Context, message any) {
	switch m := message.(type) {
	case spawnAgent:
		m.reply <- r.spawn(n, c, m.host)
	case startMCP:
		// An engine that ends refuses; who asked watches for that.
		_, _ = n.Spawn(c, family.Spec{Kind: family.KindMCP, Name: m.server.server.Name, Behavior: m.server})
	case connect:
		model, err := r.conns.resolve(m.model, r.e.opts.Transport)
		m.reply <- connected{model, err}
	case collectGarbage:
		n.Go("collect garbage", func(context.Context) any { runtime.GC(); return garbageCollected{} })
	case garbageCollected:
		r.e.turns.collected()
	case family.ChildEnded:
		if r.agents[m.Child.Name] == m.Child {
			delete(r.agents, m.Child.Name)
		}
	}
}

func (r *engine) spawn(n *family.Node, c actor.Context, h *host) error {
	id, o := h.opts.ID, h.first
	h.first = nil // what is left of it is the actor's now
	if _, taken := r.agents[id]; taken {
		return errors.New("an agent of this id is running")
	}
	if limit := r.e.opts.MaxAgents; limit > 0 && len(r.agents) >= limit {
		return fmt.Errorf("%d agents run, as many as may: %w", limit, msg.ErrOverloaded)
	}
	model, err := r.conns.resolve(o.Model, r.e.opts.Transport)
	if err != nil {
		return err
	}
	if o.Session != nil {
		if err := o.Session.give(); err != nil {
			return err
		}
	}
	h.setModel(model)
	cfg := agent.Config{
		ID: id, History: llm.NewHistory(nil), Restore: o.History, Volatile: h.volatile, View: &h.handle.view, Host: h,
	}
	if o.OnEvent != nil {
		cfg.Sinks = append(cfg.Sinks, h.handle.callback(o.OnEvent))
	}
	if s := o.Session; s != nil {
		spec := store.Spec(s.session)
		cfg.Store = &spec
	}
	node, err := n.Spawn(c, agent.Spec(cfg))
	if err != nil {
		h.model.release()
		if o.Session != nil {
			o.Session.given.Store(false)
		}
		return err
	}
	h.handle.node = node
	r.agents[id] = node
	return nil
}

func jitter() float64 { return rand.Float64() }
