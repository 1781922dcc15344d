package family

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/asynkron/protoactor-go/actor"
)

var (
	// ErrStopped is the cause of a context whose node ended by itself.
	ErrStopped = errors.New("actor stopped")
	// ErrStopping is returned by Spawn once the node or its context has ended.
	ErrStopping = errors.New("actor is stopping")
)

// Clock is the time that nodes live by.
type Clock interface {
	Now() time.Time
	// AfterFunc runs f once, on a goroutine of its own, after d.
	AfterFunc(d time.Duration, f func()) Timer
}

// Timer is a started timer. Stop reports whether it prevented the timer from
// firing.
type Timer interface{ Stop() bool }

// SystemClock is the machine's clock.
type SystemClock struct{}

// Now is [time.Now].
func (SystemClock) Now() time.Time { return time.Now() }

// AfterFunc is [time.AfterFunc].
func (SystemClock) AfterFunc(d time.Duration, f func()) Timer { return time.AfterFunc(d, f) }

// Timeout is [context.WithTimeout] by a clock of one's own. When the time is
// over the context's cause is [context.DeadlineExceeded]; its error is
// [context.Canceled], as contexts have no other clock.
func Timeout(ctx context.Context, clock Clock, d time.Duration) (context.Context, context.CancelFunc) {
	limited, cancel := context.WithCancelCause(ctx)
	timer := clock.AfterFunc(d, func() { cancel(context.DeadlineExceeded) })
	return limited, func() {
		timer.Stop()
		cancel(nil)
	}
}

// Alarm is a channel that is closed after d, unless it is stopped before.
func Alarm(clock Clock, d time.Duration) (rings <-chan struct{}, stop func() bool) {
	c := make(chan struct{})
	return c, clock.AfterFunc(d, func() { close(c) }).Stop
}

// Refused answers a request that reached a stopping node.
type Refused struct{ Cause error }

// ChildEnded tells a node that a child has ended with all below it.
type ChildEnded struct {
	Child *Node
	Err   error // see [Node.Err]
}

// Gone tells a node that an actor which it watches has ended.
type Gone struct{ PID *actor.PID }

// Started is a node's first message, Stopping its last: its context has ended,
// its goroutines and children are about to be joined.
type (
	Started  struct{}
	Stopping struct{}
)

// PanicError is a panic in a node.
type PanicError struct {
	Value any
	Where string // what was being handled
	Stack []byte
}

func (p *PanicError) Error() string { return fmt.Sprintf("panic in %s: %v", p.Where, p.Value) }

// AbandonedError names goroutines that outlived their node.
type AbandonedError struct {
	Node  string
	Names []string
	After time.Duration
}

func (a *AbandonedError) Error() string {
	return fmt.Sprintf("%s left behind %d goroutine(s) that ignored their cancellation for %v: %v", a.Node, len(a.Names), a.After, a.Names)
}

// System is what the nodes of one engine share. Set the fields before the
// first spawn.
type System struct {
	Actors *actor.ActorSystem
	Clock  Clock
	Log    *slog.Logger
	Grace  time.Duration // how long a stopping node waits for its goroutines
	Trace  func(Trace)   // called for each message when not nil; must not block

	Abandoned atomic.Int64 // goroutines left behind
	Effects   atomic.Int64 // goroutines that run
	crew      crew
	slots     [slots]slot
	kinds     [numKinds]atomic.Int64
	spawned   [numKinds]atomic.Int64
}

// Trace is one message that a node received.
type Trace struct {
	From, To Kind // From is KindOutside when the sender is no node
	ToPath   string
	Message  any
}

// Kind is a kind of actors. Their order is their rank: a request goes to a
// higher kind, its answer comes back down.
type Kind uint8

// The kinds, by rank.
const (
	KindOutside Kind = iota
	KindEngine
	KindAgent
	KindTurn
	KindModel
	KindToolCall
	KindTask    // the main coroutine of a call
	KindSubtask // a spawned one
	KindPlugin
	KindRequest
	KindMCP
	KindStore
	numKinds
)

var kindNames = [numKinds]string{"outside", "engine", "agent", "turn", "model", "toolcall", "task", "subtask", "plugin", "request", "mcp", "store"}

func (k Kind) String() string { return kindNames[k] }

// Kinds lists the kinds of nodes, for counters.
func Kinds() []Kind {
	out := make([]Kind, 0, numKinds-1)
	for k := KindEngine; k < numKinds; k++ {
		out = append(out, k)
	}
	return out
}

// Live counts the nodes of a kind that have not ended; Spawned all that ever were.
func (s *System) Live(k Kind) int64 { return s.kinds[k].Load() }

// Spawned counts the nodes of a kind that were ever started.
func (s *System) Spawned(k Kind) int64 { return s.spawned[k].Load() }

// SpawnRoot starts a node without a parent on the actor system. It ends with
// ctx.
func (s *System) SpawnRoot(ctx context.Context, spec Spec) (*Node, error) {
	n, err := s.spawn(context.WithoutCancel(ctx), nil, s.Actors.Root, spec)
	if err != nil {
		return nil, err
	}
	n.watch(ctx)
	return n, nil
}

// Wake has somebody outside woken soon, who waits for what the calling actor made.
func (s *System) Wake(w Waker) { s.crew.wake(w) }

// Detach runs f on a goroutine that no node joins: code from outside, which may
// wait for the end of nodes.
func (s *System) Detach(f func()) { s.crew.post(jobFunc(f)) }

// Send delivers a message to a node from outside any node.
func (s *System) Send(to *actor.PID, message any) { s.Actors.Root.Send(to, message) }
