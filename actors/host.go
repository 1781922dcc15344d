package actors

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"sync/atomic"
	"time"

	"github.com/asynkron/protoactor-go/actor"
	"golang.org/x/time/rate"

	"clm/actors/internal/agent"
	"clm/actors/internal/builtin"
	"clm/actors/internal/family"
	"clm/actors/internal/model"
	"clm/actors/internal/permit"
	"clm/actors/internal/plugin"
	"clm/actors/internal/toolcall"
	"clm/actors/internal/turn"
	"clm/actors/msg"
	"clm/llm"
	"clm/llm/provider"
)

// host wires one agent: what its actor has done by others. Its methods run on
// the agent's actor, but for those that turns and listeners use through atomics.
type host struct {
	e        *Engine
	opts     settings
	first    *AgentOptions // until the agent is spawned
	handle   *Agent
	model    *resolved
	tools    atomic.Pointer[Toolset] // without those of MCP servers, see offer
	offered  atomic.Pointer[offered]
	depth    int                          // of sub-agents above
	builtins *builtin.Set                 // nil: none
	children atomic.Int32                 // live sub-agents
	begun    atomic.Int64                 // sub-agents that ever were
	rules    atomic.Pointer[permit.Rules] // sub-agents that start read them, too
	own      *permit.Rules                // of a sub-agent: what these deny is denied, too; nil for others
	rate     *rate.Limiter
	volatile func(string) bool
	percent  atomic.Int64        // of the window, where the conversation is compacted
	reserved []*rate.Reservation // of calls that may be cancelled before they run
	place    *place              // of the turn, among those of the engine; nil: it needs none
	waits    bool                // place was not free at once
}

// settings is what an agent needs of its options as long as it lives.
type settings struct {
	ID, System           string
	NoStream, Sequential bool
	Ask                  bool
	MaxIterations        int
	Budget               *Budget
	MCP                  *MCP
	SubAgents            map[string]AgentOptions
}

// The changes of settings that [host.Configure] knows.
type (
	setModel      struct{ model *resolved }
	setTools      struct{ tools *Toolset }
	reloadPlugins struct{ plugins *Plugins }
	addTool       struct{ tool Tool }
	removeTool    struct{ name string }
)

func newHost(e *Engine, o AgentOptions, depth int) (*host, error) {
	o = o.clone()
	h := &host{e: e, first: &o, depth: depth, opts: settings{
		ID: o.ID, System: o.System, NoStream: o.NoStream, Sequential: o.Sequential, Ask: o.Permissions.Ask,
		MaxIterations: o.MaxIterations, Budget: o.Budget, MCP: o.MCP, SubAgents: o.SubAgents,
	}}
	h.handle = &Agent{host: h}
	var err error
	if h.volatile, err = matcher(o.Volatile); err != nil {
		return nil, err
	}
	if err := h.permissions(o.Permissions, o.Builtins); err != nil {
		return nil, err
	}
	if err := h.checkProfiles(h.opts.SubAgents, map[uintptr]bool{}); err != nil {
		return nil, err
	}
	if o.ToolRate > 0 {
		h.rate = rate.NewLimiter(rate.Limit(o.ToolRate), max(o.ToolBurst, 1))
	}
	if o.Builtins != nil {
		h.builtins = h.newBuiltins(*o.Builtins)
	}
	t, err := h.whole(o.Tools)
	if err != nil {
		return nil, err
	}
	h.tools.Store(t)
	return h, nil
}

func (h *host) newBuiltins(b Builtins) *builtin.Set {
	dir := b.Dir
	if dir == "" {
		dir = h.e.dir
	}
	return builtin.New(builtin.Options{
		Dir: dir, SpoolDir: b.SpoolDir, SecretEnv: b.SecretEnv, Secrets: b.Secrets, Private: b.Private,
		Clock: h.e.opts.Clock,
		// Without an answer: the job's goroutine is joined by the agent's end.
		Notify: func(text string) { h.e.sys.Send(h.handle.node.PID(), msg.Notify{Text: text}) },
	})
}

// whole is the agent's own tools and then those of a set.
func (h *host) whole(t *Toolset) (*Toolset, error) {
	var own some
	if h.builtins != nil {
		own = GoTools(h.builtins.Tools()).entries()
	}
	if len(h.opts.SubAgents) > 0 && h.depth < maxAgentDepth {
		tool := subAgentTool(h.opts.SubAgents)
		own = append(own, &entry{tool: &tool, sub: true})
	}
	if own == nil {
		return t, nil
	}
	return NewToolset(own, t)
}

// permissions compiles the rules. Relative paths in them begin where those of
// the file tools do.
func (h *host) permissions(p Permissions, b *Builtins) error {
	dir := h.e.dir
	if b != nil {
		dir = cmp.Or(b.Dir, dir)
	}
	rules, err := permit.New(permit.Options{Allow: p.Allow, Deny: p.Deny, AllowAll: p.AllowAll, Dir: dir, Home: h.e.home})
	h.rules.Store(rules)
	return err
}

// checkProfiles finds at the start what is wrong with the sub-agents' options:
// later only the model would be told.
func (h *host) checkProfiles(profiles map[string]AgentOptions, done map[uintptr]bool) error {
	key := reflect.ValueOf(profiles).Pointer()
	if done[key] {
		return nil // profiles may name themselves
	}
	done[key] = true
	for name, o := range profiles {
		if err := h.checkProfile(o, done); err != nil {
			return fmt.Errorf("sub-agent %s: %w", name, err)
		}
	}
	return nil
}

func (h *host) checkProfile(o AgentOptions, done map[uintptr]bool) error {
	if _, err := matcher(o.Volatile); err != nil {
		return err
	}
	sub := &host{e: h.e}
	if err := sub.permissions(o.Permissions, o.Builtins); err != nil {
		return err
	}
	if m := o.Model; m.ID != "" {
		for _, f := range append([]Model{m}, m.Fallback...) {
			if _, err := provider.New(f.Connection, h.e.opts.Transport); err != nil {
				return connectionError(f.Connection, err)
			}
		}
	}
	return h.checkProfiles(o.SubAgents, done)
}

func (h *host) setModel(m *resolved) {
	m.hold()
	if h.model != nil {
		h.model.release()
	}
	h.model = m
	h.percent.Store(int64(m.AutocompactPct))
	if m.AutocompactPct <= 0 {
		h.percent.Store(DefaultAutocompactPct)
	}
	h.handle.view.ContextMax.Store(cmp.Or(m.ContextSize, m.window.size.Load()))
}

// threshold is where the conversation is compacted now. It may be called from
// any goroutine.
func (h *host) threshold() int64 {
	return turn.Threshold(h.handle.view.ContextMax.Load(), int(h.percent.Load()))
}

// StartTurn implements [agent.Host].
func (h *host) StartTurn(n *family.Node, c actor.Context, t agent.TurnStart) (*family.Node, error) {
	m := h.model
	probe := h.probe(m)
	cfg := turn.Config{
		ID: t.ID, Agent: n.PID(), History: t.History, Compact: t.Compact, Queued: h.waits,
		System: h.opts.System, Model: m.ID, Origins: m.origins,
		Tools:  func() []llm.Tool { return h.offer().tools() },
		Stream: !h.opts.NoStream, Sequential: h.opts.Sequential, MaxIterations: iterations(h.opts.MaxIterations),
		Volatile: h.volatile, MaxOutputTokens: m.MaxOutputTokens,
		ContextMax: h.handle.view.ContextMax.Load(), Percent: int(h.percent.Load()),
		Probe:   probe,
		NoTools: func(conn int) bool { return m.conns[conn].NoTools.Load() },
		Spend:   func(conn int, u llm.Usage) error { return h.opts.Budget.spend(u, m.prices[conn].Of(u)) },
		Price:   func(conn int, u llm.Usage) float64 { return m.prices[conn].Of(u) },
		SpawnModel: func(n *family.Node, c actor.Context, first int) (*family.Node, error) {
			return n.Spawn(c, model.Spec(model.Config{Agent: h.handle.node.PID(), Turn: t.ID, Connections: m.conns, First: first, Rand: jitter}))
		},
		SpawnTool: func(n *family.Node, c actor.Context, call llm.ToolCall) (*family.Node, error) {
			return h.spawnTool(n, c, t.ID, call.Name, call.ID, 0)
		},
	}
	node, err := n.Spawn(c, turn.Spec(cfg, fmt.Sprint(t.ID)))
	switch {
	case err != nil:
		h.leave()
	case h.waits:
		h.e.turns.seat(h.place, node)
	}
	return node, err
}

// TurnEnded implements [agent.Host].
func (h *host) TurnEnded() {
	h.leave()
	h.unreserve()
}

// Stopping implements [agent.Host].
func (h *host) Stopping(n *family.Node) {
	h.model.release()
	if h.builtins != nil {
		n.Go("end background jobs", func(context.Context) any { h.builtins.Close(); return nil })
	}
}

func iterations(n int) int {
	switch {
	case n == 0:
		return DefaultMaxIterations
	case n < 0:
		return 0
	}
	return n
}

// probe asks the server for the window, once for all agents of the model.
func (h *host) probe(m *resolved) func(ctx context.Context) (int64, error) {
	max := &h.handle.view.ContextMax
	max.CompareAndSwap(0, m.window.size.Load()) // another agent may have asked
	if max.Load() > 0 || m.Connection.Kind == llm.KindDemo {
		return nil
	}
	return m.window.ask(h.e.opts.Clock, m.conns[0].Client, m.ID)
}

// spawnTool spawns the toolcall of one call.
func (h *host) spawnTool(n *family.Node, c actor.Context, turn uint64, name, id string, depth int) (*family.Node, error) {
	cfg := toolcall.Config{Agent: h.handle.node.PID(), Turn: turn, Nested: depth > 0, Timeout: DefaultToolTimeout}
	if e := h.offer().get(name); e != nil {
		cfg.Tool, cfg.Check = e.tool, e.check
		switch {
		case h.builtins != nil && e.tool.Source == "builtin":
			cfg.Path = func(args string) string { return h.builtins.Path(name, args) }
		case e.sub:
			cfg.Spawn = func(n *family.Node, c actor.Context, _ *actor.PID, call llm.ToolCall) (*family.Node, error) {
				return h.spawnSubAgent(n, c, turn, call.ID)
			}
		}
		if p := e.plugin; p != nil {
			cfg.Plugin = p.id
			cfg.Spawn = func(n *family.Node, c actor.Context, pid *actor.PID, call llm.ToolCall) (*family.Node, error) {
				return h.spawnTask(n, c, taskOf{p, pid, turn, call, depth, e.tool})
			}
		}
	}
	return n.Spawn(c, toolcall.Spec(cfg, id))
}

// SpawnPlugin implements [agent.Host].
func (h *host) SpawnPlugin(n *family.Node, c actor.Context, id string) (*family.Node, error) {
	p := h.tools.Load().plugin(id)
	if p == nil {
		return nil, errors.New("it is not loaded any more")
	}
	pid := n.PID()
	return n.Spawn(c, plugin.Spec(plugin.Config{
		Program: p.program, Options: p.options, Access: p.loadAccess,
		Notice: func(text string) { h.e.sys.Send(pid, msg.Notice{Text: text}) },
	}))
}

// Admit implements [agent.Host].
func (h *host) Admit() error {
	if err := h.enter(); err != nil {
		return err
	}
	err := h.opts.Budget.admit()
	if err != nil {
		h.leave()
	}
	return err
}

// enter takes a place for a turn. A sub-agent's turn is a part of the one above,
// which has one: if it had to wait for another, all might wait for each other.
func (h *host) enter() (err error) {
	if h.depth > 0 {
		return h.e.turns.memory()
	}
	h.place, h.waits, err = h.e.turns.enter()
	return err
}

func (h *host) leave() {
	if h.place != nil {
		h.e.turns.leave(h.place)
		h.place, h.waits = nil, false
	}
}

func (h *host) query(p msg.PrepareTool) permit.Query {
	q := permit.Query{Tool: p.Tool, Args: p.Args, NoPrompt: p.NoPrompt, Path: p.Path}
	if p.File != "" {
		q.Path, q.Access = p.File, permit.Read
		if p.Write {
			q.Access = permit.Write
		}
	}
	return q
}

// Fixed implements [agent.Host].
func (h *host) Fixed() int { return turn.Fixed(h.opts.System, h.offer().tools()) }

// Decide implements [agent.Host].
func (h *host) Decide(p msg.PrepareTool) (agent.Verdict, string) {
	q := h.query(p)
	if h.own != nil {
		if v, why := h.own.Decide(q); v == permit.Deny {
			return agent.Deny, why
		}
	}
	switch v, why := h.rules.Load().Decide(q); {
	case v == permit.Allow:
		return agent.Allow, why
	case v == permit.Deny:
		return agent.Deny, why
	case !h.opts.Ask:
		return agent.Deny, "permission denied: " + permit.HowToAllow(q)
	}
	return agent.Ask, ""
}

// Remember implements [agent.Host].
func (h *host) Remember(p msg.PrepareTool, allow bool) {
	h.rules.Store(h.rules.Load().Remember(h.query(p), allow))
}

// Question implements [agent.Host].
func (h *host) Question(p msg.PrepareTool) string { return permit.Question(h.query(p), p.Reason) }

// Rate implements [agent.Host].
func (h *host) Rate(now time.Time) time.Duration {
	if h.rate == nil {
		return 0
	}
	r := h.rate.ReserveN(now, 1)
	delay := r.DelayFrom(now)
	if delay > 0 {
		h.reserved = append(h.reserved, r)
	}
	return delay
}

// unreserve gives back what calls reserved that did not come to run, the last
// one first: what was reserved behind one does not come back.
func (h *host) unreserve() {
	now := h.e.opts.Clock.Now()
	for _, r := range slices.Backward(h.reserved) {
		r.CancelAt(now)
	}
	h.reserved = nil
}

// checkTime is how long a connection's check may take.
const checkTime = 30 * time.Second

// Check implements [agent.Host].
func (h *host) Check() func(context.Context) msg.Connection {
	client, clock := h.model.conns[0].Client, h.e.opts.Clock
	return func(ctx context.Context) msg.Connection {
		limited, cancel := family.Timeout(ctx, clock, checkTime)
		defer cancel()
		models, err := client.Models(limited)
		switch {
		case err != nil && ctx.Err() == nil && limited.Err() != nil:
			return msg.Connection{Error: fmt.Sprintf("no answer within %v; is the server running?", checkTime)}
		case err != nil:
			return msg.Connection{Error: err.Error()}
		}
		out := msg.Connection{OK: true}
		for _, m := range models {
			out.Models = append(out.Models, m.ID)
		}
		return out
	}
}

// Configure implements [agent.Host].
func (h *host) Configure(m any, busy bool) (known bool, drop []string, err error) {
	switch m := m.(type) {
	case setModel:
		if busy {
			return true, nil, msg.ErrBusy
		}
		h.setModel(m.model)
	case setTools:
		drop, err = h.change(h.whole(m.tools))
	case reloadPlugins:
		if busy {
			return true, nil, msg.ErrBusy
		}
		drop, err = h.change(h.tools.Load().reloaded(m.plugins))
	case addTool:
		drop, err = h.change(h.tools.Load().with(GoTools{m.tool}))
	case removeTool:
		drop, err = h.change(h.tools.Load().without(m.name))
	default:
		return false, nil, nil
	}
	return true, drop, err
}

// change puts a set in the place of the present one, and names the plugins
// whose files are not the same in it.
func (h *host) change(t *Toolset, err error) (drop []string, _ error) {
	if err != nil {
		return nil, err
	}
	if old := h.tools.Load(); old != nil {
		for id, p := range old.plugins {
			if next := t.plugin(id); next == nil || !next.same(p) {
				drop = append(drop, id)
			}
		}
	}
	h.tools.Store(t)
	return drop, nil
}

// dataDir is where a plugin may keep files of its own.
func dataDir(plugin string) string {
	base := os.Getenv("XDG_DATA_HOME")
	if !filepath.IsAbs(base) {
		home, err := os.UserHomeDir()
		if err != nil {
			return ""
		}
		base = filepath.Join(home, ".local", "share")
	}
	return filepath.Join(base, "clm", plugin)
}
