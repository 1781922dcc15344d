// Package agent is the actor of one agent: it keeps the conversation, the
// settings, the permission rules and the listeners, runs one turn at a time,
// and reports a turn's end only after the last of its descendants has ended.
package agent

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"clm/actors/internal/family"
	"clm/actors/msg"
	"clm/llm"
)

// Verdict is what the permission rules say.
type Verdict int

// The verdicts.
const (
	Ask Verdict = iota
	Allow
	Deny
)

// Sink takes events. Its methods must not block.
type Sink interface {
	Push(msg.Event) (more bool) // false: it takes no more
	Wake()                      // what was pushed may be read now
	End()                       // nothing of the agent is alive, no event follows
}

// TurnStart is what changes from turn to turn.
type TurnStart struct {
	ID      uint64
	History *llm.History
	Compact bool
}

// Config is what an agent's actor needs.
type Config struct {
	ID       string
	History  *llm.History
	Restore  []llm.Message // appended to it first, see [msg.RestoreHistory]
	Volatile func(tool string) bool
	View     *View
	Sinks    []Sink
	Host     Host
	Store    *family.Spec // the actor that keeps messages; nil: there is none
	// Above is who is asked for a sub-agent's gated calls: the agent whose turn
	// AboveTurn wanted it. Nil for an agent of its own.
	Above     *actor.PID
	AboveTurn uint64
}

// Host is what the agent's actor has done by those who wire it. Its methods are
// called on the actor's goroutine only, and do not block.
type Host interface {
	// StartTurn spawns a turn below n.
	StartTurn(n *family.Node, c actor.Context, t TurnStart) (*family.Node, error)
	// SpawnPlugin spawns a plugin's actor below n.
	SpawnPlugin(n *family.Node, c actor.Context, name string) (*family.Node, error)
	// TurnEnded is told when nothing of a turn is alive.
	TurnEnded()
	// Stopping is told when the agent is about to end; what it starts on n is
	// joined.
	Stopping(n *family.Node)
	// Admit takes what a turn needs that is about to start, or says why it may
	// not. The turn may have to wait before it does anything.
	Admit() error
	// Decide applies the permission rules; why goes to the model or the question.
	Decide(p msg.PrepareTool) (v Verdict, why string)
	// Remember makes a rule of an answer "always" or "never".
	Remember(p msg.PrepareTool, allow bool)
	// Question is a question's text for people.
	Question(p msg.PrepareTool) string
	// Rate is how long the next dispatched call has to wait.
	Rate(now time.Time) time.Duration
	// Configure carries out a change of settings, a message that is not of
	// package msg, and names the plugins whose actors it made obsolete. known
	// is false for a message that is no such change.
	Configure(m any, busy bool) (known bool, drop []string, err error)
	// Fixed is the size of what goes with each request, in bytes.
	Fixed() int
	// Check gives a probe of the present connection, to run on a goroutine.
	Check() func(ctx context.Context) msg.Connection
}

// Spec describes an agent's actor.
func Spec(cfg Config) family.Spec {
	return family.Spec{Kind: family.KindAgent, Name: cfg.ID, Behavior: &agent{cfg: cfg, plugins: map[string]*family.Node{}}}
}

type agent struct {
	cfg     Config
	seq     uint64
	pids    []*actor.PID // listeners that are actors
	turns   uint64
	turn    *family.Node
	ended   *msg.TurnEnded // the running turn's outcome
	closing *msg.TurnDone  // waits for the session to be on disk
	noTools []int          // the connections of which people know that they refuse tools

	steering  []string     // given to the turn that runs, not in the conversation yet
	queue     []string     // said after the turn that runs was over: starts the next one
	notes     []string     // from outside: starts the next turn or, after a cancel, joins it
	store     *family.Node // nil: nothing is kept
	questions []question
	asked     uint64
	passed    map[uint64]question // to the agent above
	plugins   map[string]*family.Node
	dropped   []*family.Node // plugins that end with the turn
}

type question struct {
	id   uint64
	from *actor.PID
	ask  msg.PrepareTool
}

func (a *agent) busy() bool { return a.turn != nil || a.closing != nil }

func (a *agent) Receive(n *family.Node, c actor.Context, message any) {
	switch m := message.(type) {
	case msg.Report:
		if m.Turn == a.turns && a.turn != nil {
			a.reported(n, m.Data)
		}
	case msg.PrepareTool:
		a.prepare(n, c, m)
	case msg.ToolPrepared:
		a.fromAbove(n, c, m)
	case msg.Learned:
		a.learned(n, m)
	case msg.Replaced:
		a.keep(n, msg.RewriteSession(m))
	case msg.TurnEnded:
		a.ended = &m
	case family.ChildEnded:
		a.childEnded(n, c, m)
	case msg.SessionSynced:
		a.synced(n, c, m)
	case msg.Connection: // from the own edge
		a.publish(n, m)
	case msg.Notice: // from a plugin's actor
		a.publish(n, m)
	case family.Stopping:
		a.cfg.Host.Stopping(n)
	case family.Started:
		a.started(n, c)
	case family.Gone:
		a.pids = slices.DeleteFunc(a.pids, m.PID.Equal)
	case msg.TurnSteered:
		a.steering = a.steering[min(1, len(a.steering)):]
	case family.Refused, msg.Accepted, msg.Rejected, msg.Submitted, msg.History:
	default:
		a.command(n, c, m)
	}
}

func (a *agent) started(n *family.Node, c actor.Context) {
	n.SetState(msg.StateIdle.String())
	a.restore(a.cfg.Restore)
	a.cfg.Restore = nil
	if a.cfg.Store == nil {
		return
	}
	store, err := n.Spawn(c, *a.cfg.Store)
	if err == nil { // else the agent is stopping
		a.store = store
	}
}

// keep has the session's actor write something.
func (a *agent) keep(n *family.Node, m any) {
	if a.store != nil {
		n.Tell(a.store.PID(), m)
	}
}

// restore appends messages of a stored conversation as the turns did that made
// it: what they superseded is superseded again, so that a model is told the
// same as before.
func (a *agent) restore(messages []llm.Message) {
	for i, m := range messages {
		a.cfg.History.Append(m)
		if m.Role == llm.RoleTool && (i+1 == len(messages) || messages[i+1].Role != llm.RoleTool) {
			a.cfg.History.Supersede(a.cfg.Volatile)
		}
	}
	a.cfg.History.CloseOpen("interrupted: it is not known what this call did")
	a.estimate()
}

// estimate takes a guess at what the conversation takes of the window: it is not
// what the last request was any more.
func (a *agent) estimate() {
	var used int64
	if a.cfg.History.Len() > 0 {
		used = a.cfg.History.EstimateTokens(a.cfg.Host.Fixed())
	}
	a.cfg.View.Used.Store(used)
}

// command carries out what an embedder sent and answers it.
func (a *agent) command(n *family.Node, c actor.Context, message any) {
	var answer any = msg.Accepted{}
	switch m := message.(type) {
	case msg.Submit:
		answer = a.submit(n, c, llm.Message{Role: llm.RoleUser, Content: m.Prompt, Attachments: m.Attachments})
	case msg.Steer:
		answer = a.steer(n, c, m.Text)
	case msg.Notify:
		answer = a.notify(n, c, m.Text)
	case msg.Cancel:
		answer = a.cancel(m)
	case msg.Compact:
		answer = a.start(n, c, nil, true)
	case msg.CheckConnection:
		check := a.cfg.Host.Check()
		n.Go("connection check", func(ctx context.Context) any { return check(ctx) })
	case msg.Permit:
		answer = a.permit(n, c, m)
	case msg.Listen:
		a.listen(n, c)
	case Sink:
		a.cfg.Sinks = append(a.cfg.Sinks, m)
	default:
		answer = a.between(n, message)
	}
	if answer != nil && c.Sender() != nil {
		n.Request(c, c.Sender(), answer)
	}
}

// listen makes the sender a listener until it ends.
func (a *agent) listen(n *family.Node, c actor.Context) {
	if from := c.Sender(); from != nil && !slices.ContainsFunc(a.pids, from.Equal) {
		a.pids = append(a.pids, from)
		n.Watch(c, from)
	}
}

// between carries out commands that need the conversation to rest.
func (a *agent) between(n *family.Node, message any) any {
	switch m := message.(type) {
	case msg.RestoreHistory:
		if a.busy() {
			return msg.Rejected{Err: msg.ErrBusy}
		}
		a.restore(m.Messages)
		a.keep(n, msg.RewriteSession{Messages: a.cfg.History.Messages()})
		return msg.Accepted{}
	case msg.ClearHistory:
		if a.busy() {
			return msg.Rejected{Err: msg.ErrBusy}
		}
		a.cfg.History.Clear()
		a.estimate()
		a.keep(n, msg.RewriteSession{})
		return msg.Accepted{}
	case msg.GetHistory:
		if a.busy() {
			return msg.Rejected{Err: msg.ErrBusy}
		}
		return msg.History{Messages: a.cfg.History.Messages()}
	default:
		known, drop, err := a.cfg.Host.Configure(message, a.busy())
		switch {
		case !known:
			return msg.Rejected{Err: fmt.Errorf("an agent does not take messages of type %T; see package msg", message)}
		case err != nil:
			return msg.Rejected{Err: err}
		}
		a.noTools = nil // perhaps other connections, or other tools
		a.dropPlugins(n, drop)
		return msg.Accepted{}
	}
}

func (a *agent) submit(n *family.Node, c actor.Context, m llm.Message) any {
	if strings.TrimSpace(m.Content) == "" && len(m.Attachments) == 0 {
		return msg.Rejected{Err: msg.ErrEmpty}
	}
	return a.start(n, c, []llm.Message{m}, false)
}

func (a *agent) start(n *family.Node, c actor.Context, input []llm.Message, compact bool) any {
	if a.busy() {
		return msg.Rejected{Err: msg.ErrBusy}
	}
	if err := a.cfg.Host.Admit(); err != nil {
		return msg.Rejected{Err: err}
	}
	return a.begin(n, c, input, compact)
}

// begin starts a turn that was admitted. What waits joins it.
func (a *agent) begin(n *family.Node, c actor.Context, input []llm.Message, compact bool) any {
	if waiting := a.waiting(); waiting != "" && !compact {
		input = append([]llm.Message{{Role: llm.RoleUser, Content: waiting}}, input...)
		a.queue, a.notes = nil, nil
	}
	a.turns++
	node, err := a.cfg.Host.StartTurn(n, c, TurnStart{
		ID: a.turns, History: a.cfg.History, Compact: compact,
	})
	if err != nil {
		a.turns--
		return msg.Rejected{Err: err}
	}
	a.turn, a.ended = node, nil
	n.Request(c, node.PID(), msg.RunTurn{Input: input})
	return msg.Submitted{Turn: a.turns}
}

// waiting is the text that waits for the next turn.
func (a *agent) waiting() string {
	return strings.Join(slices.Concat(a.queue, a.notes), "\n\n")
}

func (a *agent) steer(n *family.Node, c actor.Context, text string) any {
	if strings.TrimSpace(text) == "" {
		return msg.Rejected{Err: msg.ErrEmpty}
	}
	if !a.busy() {
		return a.submit(n, c, llm.Message{Role: llm.RoleUser, Content: text})
	}
	if a.turn == nil || a.ended != nil || a.turn.Ending() {
		a.queue = append(a.queue, text)
		return msg.Submitted{Turn: a.turns + 1}
	}
	a.steering = append(a.steering, text)
	n.Request(c, a.turn.PID(), msg.SteerTurn{Text: text})
	return msg.Submitted{Turn: a.turns}
}

func (a *agent) notify(n *family.Node, c actor.Context, text string) any {
	if strings.TrimSpace(text) == "" {
		return msg.Rejected{Err: msg.ErrEmpty}
	}
	if a.busy() {
		a.notes = append(a.notes, text)
		return msg.Accepted{}
	}
	r, refused := a.submit(n, c, llm.Message{Role: llm.RoleUser, Content: text}).(msg.Rejected)
	switch {
	case !refused:
		return msg.Accepted{}
	case c.Sender() != nil:
		return r
	}
	// Nobody hears of the refusal who could say it again: a job of bg_exec ended.
	a.notes = append(a.notes, text)
	a.joinsNext(n, r.Err)
	return nil
}

func (a *agent) cancel(m msg.Cancel) any {
	if a.turn == nil || m.Turn != 0 && m.Turn != a.turns {
		return msg.Rejected{Err: msg.ErrNoTurn}
	}
	a.turn.Cancel(msg.ErrCanceled)
	return msg.Accepted{}
}

func (a *agent) learned(n *family.Node, m msg.Learned) {
	if m.NoTools && !slices.Contains(a.noTools, m.Connection) {
		a.noTools = append(a.noTools, m.Connection)
		a.publish(n, msg.Notice{Text: "the model does not take tools; going on without them"})
	}
	if m.ContextSize > 0 {
		a.cfg.View.ContextMax.Store(m.ContextSize)
	}
}
