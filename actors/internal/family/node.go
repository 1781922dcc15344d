package family

import (
	"context"
	"fmt"
	"reflect"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"

	"github.com/asynkron/protoactor-go/actor"
)

// Behavior is what a kind of actors does with its messages. n is the actor's
// own node, c protoactor's context, valid only during the call.
type Behavior interface {
	Receive(n *Node, c actor.Context, message any)
}

// Ender is a [Behavior] that is told when nothing of its node is alive any
// more: its goroutines and all below it have ended. It may tell others; it can
// start nothing.
type Ender interface{ Ended(n *Node) }

// Spec says what to spawn.
type Spec struct {
	Kind     Kind
	Name     string // last part of the path
	Timeout  time.Duration
	Behavior Behavior
}

// Node is one actor of a family, for its parent a handle: its PID takes
// messages, Done joins.
type Node struct {
	Kind Kind
	Name string

	sys      *System
	parent   *Node
	pid      *actor.PID
	behavior Behavior
	born     time.Time
	base     context.Context // values for the context
	deadline Timer
	mailbox  *mailbox
	stopping bool     // this and left are touched by the actor's goroutine alone
	left     []string // goroutines that the node and those below it left behind

	last    atomic.Pointer[string]
	state   atomic.Pointer[string]
	outcome atomic.Pointer[error]

	mu        sync.Mutex
	cause     error           // of its end; nil until then
	ctx       context.Context // made when someone asks for it
	cancelCtx context.CancelCauseFunc
	undo      func() bool   // of a root: it no longer ends with the context from outside
	gone      bool          // nothing of it is alive
	done      chan struct{} // made when someone asks for it
	children  brood
	effects   []*effect
	nextTimer uint64
	idle      chan struct{} // closed when the last effect ends, if someone waits
	timers    []timer
}

func (s *System) spawn(base context.Context, parent *Node, sp actor.SpawnerContext, spec Spec) (*Node, error) {
	n := &Node{
		Kind: spec.Kind, Name: spec.Name, sys: s, parent: parent, behavior: spec.Behavior,
		born: s.Clock.Now(), base: base, mailbox: newMailbox(s),
	}
	if spec.Timeout > 0 {
		n.deadline = s.Clock.AfterFunc(spec.Timeout, func() { n.Cancel(context.DeadlineExceeded) })
	}
	s.kinds[n.Kind].Add(1)
	s.spawned[n.Kind].Add(1)
	id := n.Kind.String() + "/" + s.Actors.ProcessRegistry.NextId()
	if err := s.start(n, sp, id); err != nil {
		s.kinds[n.Kind].Add(-1)
		if n.deadline != nil {
			n.deadline.Stop()
		}
		return nil, fmt.Errorf("spawn %s: %w", id, err)
	}
	return n, nil
}

// start starts a node's actor.
func (s *System) start(n *Node, sp actor.SpawnerContext, id string) error {
	if n.parent == nil {
		_, err := sp.SpawnNamed(propsOf(func() *Node { return n }), id)
		return err
	}
	return s.slots[s.spawned[n.Kind].Load()%slots].spawn(n, sp, id)
}

// Spawn starts a child. Only from the node's own Receive.
func (n *Node) Spawn(c actor.Context, spec Spec) (*Node, error) {
	if n.stopping || n.Ending() {
		return nil, ErrStopping
	}
	child, err := n.sys.spawn(n.base, n, c, spec)
	if err != nil {
		return nil, err
	}
	n.adopt(child)
	return child, nil
}

// PID is the actor's address.
func (n *Node) PID() *actor.PID { return n.pid }

// System is what the node's family shares.
func (n *Node) System() *System { return n.sys }

// Parent is the node above, nil at the root.
func (n *Node) Parent() *Node { return n.parent }

// Err says why an ended node ended: nil by itself, else the cause of its
// cancellation, a *[PanicError], or an *[AbandonedError]. Valid after Done.
func (n *Node) Err() error {
	if e := n.outcome.Load(); e != nil {
		return *e
	}
	return nil
}

// LeftBehind names the goroutines that the node and all below it left behind
// because they ignored their cancellation. Valid after Done.
func (n *Node) LeftBehind() []string { return n.left }

// Watch has the node told by [Gone] when another actor, not one below it, has
// ended. Only from the node's own Receive.
func (n *Node) Watch(c actor.Context, pid *actor.PID) { c.Watch(pid) }

// SetState names what the node does now, for [Node.Info].
func (n *Node) SetState(s string) { n.state.Store(&s) }

// Request sends a message to another actor, whose answer comes to this node.
func (n *Node) Request(c actor.Context, to *actor.PID, message any) { c.Request(to, message) }

// Tell sends from any goroutine, in the node's name.
func (n *Node) Tell(to *actor.PID, message any) {
	n.sys.Actors.Root.RequestWithCustomSender(to, message, n.pid)
}

func (n *Node) fail(err error) { n.outcome.CompareAndSwap(nil, &err) }

// Receive is protoactor's entry.
func (n *Node) Receive(c actor.Context) {
	switch m := c.Message().(type) {
	case *actor.Started:
		n.deliver(c, Started{})
	case *actor.Stopping:
		n.stop(c)
	case *actor.Stopped:
		n.tellEnd()
		n.sys.kinds[n.Kind].Add(-1)
		n.mailbox.end()
		n.ended()
		if n.parent == nil {
			n.sys.crew.dismiss()
		}
	case *actor.DeadLetterResponse: // a request of ours found nobody
		n.deliver(c, Refused{ErrStopped})
	case *actor.Terminated:
		// A system message overtakes what the child sent before it ended;
		// through the mailbox it comes after.
		child := n.forget(m.Who.Id)
		if child != nil {
			n.left = append(n.left, child.left...)
		}
		switch {
		case n.stopping:
		case child != nil:
			c.Send(n.pid, ChildEnded{child, child.Err()})
		default:
			n.deliver(c, Gone{m.Who})
		}
	case *actor.Restarting, *actor.ReceiveTimeout:
	default:
		if n.stopping {
			n.refuse(c)
			return
		}
		n.deliver(c, m)
	}
}

func (n *Node) refuse(c actor.Context) {
	if s := c.Sender(); s != nil {
		if _, again := c.Message().(Refused); !again {
			n.sys.Actors.Root.Send(s, Refused{n.endCause()})
		}
	}
}

func (n *Node) forget(id string) *Node {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.children.remove(id)
}

// deliver runs the behaviour. A panic ends the node, after an answer to
// whoever waits for one.
func (n *Node) deliver(c actor.Context, message any) {
	n.observe(c, message)
	defer func() {
		if r := recover(); r != nil {
			p := &PanicError{Value: r, Where: fmt.Sprintf("%s handling %T", n.label(), message), Stack: debug.Stack()}
			n.panicked(p)
			if s := c.Sender(); s != nil {
				n.sys.Actors.Root.Send(s, Refused{p})
			}
		}
	}()
	n.behavior.Receive(n, c, message)
}

// tellEnd tells a behaviour that wants to know that all has ended.
func (n *Node) tellEnd() {
	e, ok := n.behavior.(Ender)
	if !ok {
		return
	}
	defer func() {
		if r := recover(); r != nil {
			p := &PanicError{Value: r, Where: n.label() + " telling its end", Stack: debug.Stack()}
			n.fail(p)
			n.sys.Log.Error("actor panicked", "actor", n.Path(), "error", p.Error(), "stack", string(p.Stack))
		}
	}()
	e.Ended(n)
}

func (n *Node) panicked(p *PanicError) {
	n.fail(p)
	n.sys.Log.Error("actor panicked", "actor", n.Path(), "error", p.Error(), "stack", string(p.Stack))
	n.Cancel(p)
}

func (n *Node) observe(c actor.Context, message any) {
	n.last.Store(typeName(message))
	if n.sys.Trace != nil {
		n.trace(Trace{From: kindOf(c.Sender()), To: n.Kind, ToPath: n.Path(), Message: message})
	}
}

// trace keeps a watcher's panic from the node.
func (n *Node) trace(t Trace) {
	defer func() {
		if r := recover(); r != nil {
			n.sys.Log.Error("the watcher of messages panicked", "panic", r, "stack", string(debug.Stack()))
		}
	}()
	n.sys.Trace(t)
}

func (n *Node) stop(c actor.Context) {
	n.stopping = true
	n.settle()
	n.unwatch()
	if n.deadline != nil {
		n.deadline.Stop()
	}
	n.end(ErrStopped)
	n.stopTimers()
	n.deliver(c, Stopping{})
	n.join()
}

var typeNames sync.Map // reflect.Type -> *string

func typeName(m any) *string {
	t := reflect.TypeOf(m)
	if s, ok := typeNames.Load(t); ok {
		return s.(*string)
	}
	s := t.String()
	v, _ := typeNames.LoadOrStore(t, &s)
	return v.(*string)
}
