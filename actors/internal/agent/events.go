package agent

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/asynkron/protoactor-go/actor"

	"clm/actors/internal/family"
	"clm/actors/msg"
	"clm/llm"
)

// View is what an agent's handle may read at any time without asking the actor.
type View struct {
	State      atomic.Int32
	ContextMax atomic.Int64 // tokens; 0: unknown
	Used       atomic.Int64 // tokens of the last request
	LastError  atomic.Pointer[string]

	// Mid-chain compaction: set once each time, cleared by reading.
	CompactStarted, CompactSucceeded, CompactFailed atomic.Bool
}

// publish gives an event to every listener.
func (a *agent) publish(n *family.Node, d msg.EventData) {
	a.seq++
	if len(a.cfg.Sinks) == 0 && len(a.pids) == 0 {
		return
	}
	e := msg.Event{Seq: a.seq, Agent: a.cfg.ID, Time: n.System().Clock.Now(), Data: d}
	if a.turn != nil || a.closing != nil {
		e.Turn = a.turns
	}
	a.cfg.Sinks = slices.DeleteFunc(a.cfg.Sinks, func(s Sink) bool {
		more := s.Push(e)
		n.System().Wake(s)
		return !more
	})
	for _, p := range a.pids {
		n.Tell(p, e)
	}
}

// reported makes an event of what an actor of the turn found out.
func (a *agent) reported(n *family.Node, d msg.EventData) {
	switch m := d.(type) {
	case msg.StateChanged:
		a.setState(n, m.State)
		return
	case msg.MessageAdded:
		a.keep(n, msg.KeepMessages{Messages: []llm.Message{m.Message}})
	case msg.UsageReported:
		a.cfg.View.Used.Store(m.ContextUsed)
	case msg.Compaction:
		a.compaction(m)
	}
	a.publish(n, d)
}

func (a *agent) compaction(m msg.Compaction) {
	v := a.cfg.View
	if m.Phase == "failed" {
		a.setError(m.Error)
	}
	if !m.MidChain {
		return
	}
	switch m.Phase {
	case "started":
		v.CompactStarted.Store(true)
	case "succeeded":
		v.CompactSucceeded.Store(true)
	case "failed":
		v.CompactFailed.Store(true)
	}
}

func (a *agent) setState(n *family.Node, s msg.State) {
	if msg.State(a.cfg.View.State.Swap(int32(s))) == s {
		return
	}
	n.SetState(s.String())
	a.publish(n, msg.StateChanged{State: s})
}

func (a *agent) setError(text string) { a.cfg.View.LastError.Store(&text) }

func (a *agent) childEnded(n *family.Node, c actor.Context, m family.ChildEnded) {
	if m.Child == a.store {
		a.storeEnded(n, c, m.Err)
		return
	}
	if m.Child != a.turn {
		for name, p := range a.plugins {
			if p == m.Child {
				delete(a.plugins, name) // made anew at the next call
				if m.Err != nil {
					a.publish(n, msg.Notice{Text: fmt.Sprintf("plugin %s ended, its Lua state is lost: %v", name, m.Err)})
				}
			}
		}
		return
	}
	a.closeTurn(n, c, m.Err)
}

// storeEnded goes on without a session whose actor broke.
func (a *agent) storeEnded(n *family.Node, c actor.Context, cause error) {
	a.store = nil
	a.synced(n, c, msg.SessionSynced{Err: fmt.Errorf("nothing more is kept: %w", cause)})
}

// closeTurn runs when nothing of the turn is alive: it leaves a valid history,
// settles what was asked, and has the session written before the turn's end is
// told.
func (a *agent) closeTurn(n *family.Node, c actor.Context, cause error) {
	if cause == nil && n.Ending() {
		cause = msg.ErrStopped // the turn has heard of it before the agent
	}
	d := a.settleTurn(n, cause)
	a.endDropped()
	if d.Status != "canceled" { // else whoever cancelled does not want it any more
		a.queue = append(a.steering, a.queue...)
	}
	a.steering = nil
	a.closing, a.turn = &d, nil
	if a.store != nil {
		a.keep(n, msg.SyncSession{})
		return
	}
	a.tell(n, c)
}

// settleTurn settles what the turn left open, and says how it ended.
func (a *agent) settleTurn(n *family.Node, cause error) msg.TurnDone {
	a.cfg.Host.TurnEnded()
	for _, m := range a.cfg.History.CloseOpen("cancelled") {
		a.reported(n, msg.MessageAdded{Message: m})
	}
	for _, q := range a.questions {
		a.publish(n, msg.PermissionSettled{ID: q.id, CallID: q.ask.CallID, By: "cancel"})
	}
	a.questions, a.passed = nil, nil
	if left := a.turn.LeftBehind(); len(left) > 0 {
		a.publish(n, msg.Notice{Text: fmt.Sprintf("%d goroutine(s) of the turn ignored their cancellation and were left behind: %s", len(left), strings.Join(left, ", "))})
	}
	d := outcome(a.ended, cause)
	if d.Err != nil {
		d.Error = llm.Clip(llm.Clean(d.Err.Error()), 2000)
		a.setError(d.Error)
	}
	return d
}

// Ended tells what the agent's own end ended, when nothing of it is alive.
func (a *agent) Ended(n *family.Node) {
	a.store = nil // it has written what it got
	switch {
	case a.turn != nil:
		cause := n.Err()
		if !errors.As(cause, new(*family.PanicError)) {
			cause = msg.ErrStopped
		}
		a.last(n, a.settleTurn(n, cause))
	case a.closing != nil:
		a.last(n, *a.closing)
	}
	for _, s := range a.cfg.Sinks {
		s.End()
	}
}

func (a *agent) synced(n *family.Node, c actor.Context, m msg.SessionSynced) {
	if m.Err != nil {
		a.publish(n, msg.Notice{Text: fmt.Sprintf("the session could not be written: %v", m.Err)})
	}
	if a.closing != nil {
		a.tell(n, c)
	}
}

// tell ends the turn for the outside, and starts the next one if text waits.
func (a *agent) tell(n *family.Node, c actor.Context) {
	d := *a.closing
	next := len(a.queue) > 0 || len(a.notes) > 0 && d.Status != "canceled"
	if next {
		if err := a.cfg.Host.Admit(); err != nil {
			next = false
			a.joinsNext(n, err)
		}
	}
	if next {
		d.Pending = len(a.queue) + len(a.notes)
	}
	a.last(n, d)
	if next {
		a.begin(n, c, nil, false)
	}
}

// joinsNext tells that text waits though no turn runs.
func (a *agent) joinsNext(n *family.Node, why error) {
	a.publish(n, msg.Notice{Text: fmt.Sprintf("a waiting message starts no turn, it joins the next one: %v", why)})
}

// last publishes a turn's last events.
func (a *agent) last(n *family.Node, d msg.TurnDone) {
	switch d.Status {
	case "done":
		a.setState(n, msg.StateComplete)
	case "canceled":
		a.setState(n, msg.StateIdle)
	default:
		a.setState(n, msg.StateError)
	}
	a.publish(n, d)
	a.turn, a.closing, a.ended = nil, nil, nil
}

// outcome makes a turn's end of what the turn said and what became of its actor.
func outcome(said *msg.TurnEnded, cause error) msg.TurnDone {
	var abandoned *family.AbandonedError
	var panicked *family.PanicError
	switch {
	case errors.As(cause, &panicked):
		return msg.TurnDone{Status: "failed", Kind: "panic", Err: cause}
	case errors.As(cause, &abandoned):
		return msg.TurnDone{Status: "failed", Kind: "abandoned", Err: cause}
	case said == nil && (cause == nil || errors.Is(cause, msg.ErrCanceled)):
		return msg.TurnDone{Status: "canceled", Kind: "canceled", Err: msg.ErrCanceled}
	case said == nil && errors.Is(cause, context.DeadlineExceeded):
		return msg.TurnDone{Status: "failed", Kind: "deadline", Err: cause}
	case said == nil:
		return msg.TurnDone{Status: "canceled", Kind: "canceled", Err: cause}
	case said.Err == nil:
		return msg.TurnDone{Status: "done", Text: said.Text}
	case said.Kind == "ceiling":
		return msg.TurnDone{Status: "ceiling", Kind: said.Kind, Text: said.Text, Err: said.Err}
	}
	return msg.TurnDone{Status: "failed", Kind: said.Kind, Text: said.Text, Err: said.Err}
}
