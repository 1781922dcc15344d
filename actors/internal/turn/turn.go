// Package turn is the actor of one user turn: it asks the model, runs the
// calls of each answer as a batch, and goes on until the model is done. It is
// the unit of cancellation: when its actor has ended, nothing of the turn is
// alive.
package turn

import (
	"context"
	"errors"

	"github.com/asynkron/protoactor-go/actor"

	"clm/actors/internal/family"
	"clm/actors/msg"
	"clm/llm"
)

// Config is what a turn needs of its agent. The history moves to the turn: the
// agent does not touch it until the turn's actor has ended.
type Config struct {
	ID      uint64
	Agent   *actor.PID
	History *llm.History
	Compact bool // a turn that only compacts
	Queued  bool // it begins when [msg.TurnAdmitted] comes

	System          string
	Model           string
	Origins         []string          // of each connection: whose reasoning may be sent back to it
	Tools           func() []llm.Tool // as of now; safe from any goroutine
	Stream          bool
	Sequential      bool // one tool call at a time, and the model is asked for no more
	MaxIterations   int  // tool batches; 0: no limit
	Volatile        func(tool string) bool
	NoTools         func(connection int) bool // it refuses them
	MaxOutputTokens int

	ContextMax int64 // tokens; 0: unknown
	Percent    int   // of the window
	// Probe asks the server for the window; nil when it is known or was asked.
	Probe func(ctx context.Context) (int64, error)
	// Spend counts what a request cost, if anything, and says when a ceiling is
	// reached.
	Spend func(connection int, u llm.Usage) error
	Price func(connection int, u llm.Usage) float64

	// SpawnModel makes the actor of a request that begins with this connection.
	SpawnModel func(n *family.Node, c actor.Context, connection int) (*family.Node, error)
	SpawnTool  func(n *family.Node, c actor.Context, call llm.ToolCall) (*family.Node, error)
}

// DefaultThreshold is where a conversation is compacted when the window is
// unknown, in tokens.
const DefaultThreshold = 100_000

// Spec describes a turn's actor.
func Spec(cfg Config, name string) family.Spec {
	return family.Spec{Kind: family.KindTurn, Name: name, Behavior: &turn{cfg: cfg, repeats: repeats{}}}
}

type turn struct {
	cfg   Config
	text  string // the last answer
	steer []string

	told       bool  // what the turn is about
	refusal    error // it waited, and may not begin
	iterations int
	probing    bool
	compacting *compaction
	compacted  bool // once for an answer that says the prompt is too long
	noCompact  bool // it failed: not again in this turn
	batch      *batch
	repeats    repeats
	done       bool
	conn       int // the connection that answered last
	model      *family.Node
	onModel    func(n *family.Node, c actor.Context, m msg.ModelAnswered)
}

// probed comes from the own edge.
type probed struct{ size int64 }

func (t *turn) Receive(n *family.Node, c actor.Context, message any) {
	switch m := message.(type) {
	case msg.RunTurn:
		t.run(n, c, m)
	case msg.TurnAdmitted:
		t.cfg.Queued, t.refusal = false, m.Err
		t.start(n, c)
	case msg.SteerTurn:
		t.steer = append(t.steer, m.Text)
	case msg.ModelAnswered:
		t.model = nil
		if m.Err == nil {
			t.conn = m.Connection // the turn stays with it
		}
		t.onModel(n, c, m)
	case msg.ToolStarted:
		t.callBegun(n, c, m)
	case msg.ToolDone:
		t.batch.result(c.Sender(), m)
	case family.ChildEnded:
		t.childEnded(n, c, m)
	case probed:
		t.probed(n, c, m)
	}
}

func (t *turn) report(n *family.Node, d msg.EventData) {
	n.Tell(t.cfg.Agent, msg.Report{Turn: t.cfg.ID, Data: d})
}

// add appends messages to the conversation and tells the agent, as they are in
// the history: repaired, with unique ids.
func (t *turn) add(n *family.Node, ms ...llm.Message) []llm.Message {
	added := t.cfg.History.Append(ms...)
	t.tell(n, added)
	return added
}

func (t *turn) tell(n *family.Node, added []llm.Message) {
	for _, m := range added {
		t.report(n, msg.MessageAdded{Message: m})
	}
}

// run takes up what the turn is about. It is a part of the conversation also
// when the turn has to wait and is cancelled meanwhile.
func (t *turn) run(n *family.Node, c actor.Context, m msg.RunTurn) {
	t.told = true
	t.add(n, m.Input...)
	if t.cfg.Queued {
		n.SetState(msg.StateQueued.String())
		t.report(n, msg.StateChanged{State: msg.StateQueued})
	}
	t.start(n, c)
}

// start begins when the turn is told what it is about and may begin.
func (t *turn) start(n *family.Node, c actor.Context) {
	if !t.told || t.cfg.Queued {
		return
	}
	if t.refusal != nil {
		t.finish(n, c, t.refusal, "overloaded")
		return
	}
	if t.cfg.Compact {
		t.compact(n, c, false)
		return
	}
	if t.cfg.Probe != nil {
		t.probing = true
		n.Go("context size", t.probe)
	}
	t.compactOrAsk(n, c)
}

func (t *turn) probe(ctx context.Context) any {
	size, err := t.cfg.Probe(ctx)
	if err != nil {
		size = 0 // it goes on as unknown
	}
	return probed{size}
}

func (t *turn) probed(n *family.Node, c actor.Context, m probed) {
	waited := t.probing && t.model == nil && t.batch == nil && t.compacting == nil
	t.probing = false
	t.cfg.ContextMax = m.size
	n.Tell(t.cfg.Agent, msg.Learned{ContextSize: m.size})
	if waited {
		t.next(n, c)
	}
}

// next goes on after a batch: what came in meanwhile joins the request, and the
// conversation is compacted first if it has grown too long.
func (t *turn) next(n *family.Node, c actor.Context) {
	if t.probing {
		n.SetState("waiting for the context size")
		return // probed goes on
	}
	t.takeSteer(n)
	t.compactOrAsk(n, c)
}

func (t *turn) compactOrAsk(n *family.Node, c actor.Context) {
	if !t.noCompact && t.used() >= t.threshold() {
		t.compact(n, c, true)
		return
	}
	t.ask(n, c)
}

// takeSteer adds what came in meanwhile to the conversation.
func (t *turn) takeSteer(n *family.Node) {
	for _, s := range t.steer {
		t.add(n, llm.Message{Role: llm.RoleUser, Content: s})
		n.Tell(t.cfg.Agent, msg.TurnSteered{})
	}
	t.steer = nil
}

// used is what the next request takes of the window, in tokens.
func (t *turn) used() int64 {
	var tools []llm.Tool
	if !t.cfg.NoTools(t.conn) {
		tools = t.cfg.Tools()
	}
	return t.cfg.History.EstimateTokens(Fixed(t.cfg.System, tools))
}

// Fixed is the size of what goes with each request, in bytes.
func Fixed(system string, tools []llm.Tool) int {
	n := len(system)
	for _, x := range tools {
		n += len(x.Name) + len(x.Description) + len(x.Schema)
	}
	return n
}

func (t *turn) threshold() int64 { return Threshold(t.cfg.ContextMax, t.cfg.Percent) }

// Threshold is the use at which a conversation is compacted, in tokens: a part
// of the window, which is 0 when it is unknown.
func Threshold(window int64, percent int) int64 {
	if window > 0 {
		return window * int64(percent) / 100
	}
	return DefaultThreshold
}

func (t *turn) ask(n *family.Node, c actor.Context) {
	t.takeSteer(n)
	if err := t.cfg.Spend(t.conn, llm.Usage{}); err != nil { // what others spent counts too
		t.finish(n, c, err, "ceiling")
		return
	}
	req := &llm.Request{
		Model: t.cfg.Model, System: t.cfg.System, Messages: t.cfg.History.Request(t.cfg.Origins[t.conn]),
		Stream: t.cfg.Stream, DisableParallelToolCalls: t.cfg.Sequential, MaxTokens: t.cfg.MaxOutputTokens,
		Tools: t.cfg.Tools(),
	}
	t.send(n, c, msg.AskModel{Request: req}, t.answered)
}

func (t *turn) send(n *family.Node, c actor.Context, ask msg.AskModel, then func(*family.Node, actor.Context, msg.ModelAnswered)) {
	node, err := t.cfg.SpawnModel(n, c, t.conn)
	if err != nil {
		if !n.Ending() { // else the turn is being cancelled
			t.finish(n, c, err, "internal")
		}
		return
	}
	n.SetState("THINKING")
	t.model, t.onModel = node, then
	n.Request(c, node.PID(), ask)
}

func (t *turn) answered(n *family.Node, c actor.Context, m msg.ModelAnswered) {
	if m.Err != nil {
		t.refused(n, c, m.Err)
		return
	}
	r := m.Response
	r.Message.Role = llm.RoleAssistant
	t.text = llm.Clean(r.Message.Content)
	before := t.used()
	added := t.cfg.History.Append(r.Message)
	t.cfg.History.Observe(r.Usage)
	t.usage(n, r)
	t.report(n, msg.Finished{Reason: r.Finish})
	t.tell(n, added)
	spent := r.Usage
	if spent.Total() == 0 { // the server does not say
		spent = llm.Usage{Input: before, Output: t.used() - before}
	}
	if err := t.cfg.Spend(t.conn, spent); err != nil {
		t.finish(n, c, err, "ceiling")
		return
	}
	if len(added) == 0 || len(added[0].ToolCalls) == 0 {
		t.complete(n, c, r)
		return
	}
	t.runBatch(n, c, added[0].ToolCalls, r.Finish == llm.FinishLength)
}

// complete ends the turn, unless text came in that the model has not seen.
func (t *turn) complete(n *family.Node, c actor.Context, r *llm.Response) {
	if len(t.steer) > 0 {
		t.next(n, c)
		return
	}
	if r.Finish == llm.FinishLength {
		t.report(n, msg.Notice{Text: "the answer was cut by the token limit"})
	}
	t.finish(n, c, nil, "")
}

func (t *turn) usage(n *family.Node, r *llm.Response) {
	t.report(n, msg.UsageReported{
		Usage: r.Usage, ContextUsed: t.used(), ContextMax: t.cfg.ContextMax,
		TokensPerSecond: r.TokensPerSecond, Price: t.cfg.Price(t.conn, r.Usage),
	})
}

// refused takes up a failed request: with a shorter conversation it may be
// accepted.
func (t *turn) refused(n *family.Node, c actor.Context, err error) {
	var e *llm.Error
	if !errors.As(err, &e) {
		t.finish(n, c, err, "internal")
		return
	}
	switch {
	case e.Started: // people may have seen a part of the answer
		t.finish(n, c, err, string(e.Kind))
	case e.Kind == llm.ErrContext && !t.compacted && !t.noCompact:
		t.compacted = true
		plan, fails := llm.PlanCompaction(t.cfg.History)
		if fails != nil {
			t.finish(n, c, err, string(e.Kind)) // nothing can be left out
			return
		}
		t.summarise(n, c, plan, true)
	default:
		t.finish(n, c, err, string(e.Kind))
	}
}

func (t *turn) finish(n *family.Node, c actor.Context, err error, kind string) {
	if t.done {
		return
	}
	t.done = true
	n.Request(c, t.cfg.Agent, msg.TurnEnded{
		Text: t.text, Err: err, Kind: kind,
	})
	n.Stop()
}

func (t *turn) childEnded(n *family.Node, c actor.Context, m family.ChildEnded) {
	switch {
	case t.done || n.Ending():
		// The children of a turn that ends do, too.
	case m.Child == t.model:
		// It ended without an answer: it panicked.
		t.model = nil
		t.finish(n, c, m.Err, "panic")
	case t.batch != nil && t.callEnded(n, m):
		if t.batch.complete() {
			t.batchDone(n, c)
		} else {
			t.batch.more(t, n, c)
		}
	}
}
