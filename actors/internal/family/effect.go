package family

import (
	"context"
	"errors"
	"runtime/debug"
	"slices"
	"time"
)

// effect is a goroutine that runs.
type effect struct {
	node *Node
	ctx  context.Context
	name string
	f    func(ctx context.Context) any
	work bool // the goroutine is a worker: it does not block, and is not long at it
}

// errGoexit stands for a panic where code from outside ended its goroutine.
var errGoexit = errors.New("runtime.Goexit was called, as FailNow of a test does; return an error instead")

// timer is one that has not fired.
type timer struct {
	id uint64
	Timer
}

// Go runs f on a goroutine that the node joins before it ends. What f returns
// is sent to the node, unless it is nil or the node is stopping. f must return
// soon after ctx ends. A panic in f ends the node.
func (n *Node) Go(name string, f func(ctx context.Context) any) {
	n.begin(&effect{node: n, ctx: n.Context(), name: name, f: f})
}

// Compute is [Node.Go] for what is mostly short and waits for nothing: other work
// may wait for its end. f must call long before it takes longer than that, or
// waits.
func (n *Node) Compute(name string, f func(ctx context.Context, long func()) any) {
	e := &effect{node: n, ctx: n.Context(), name: name, work: true}
	e.f = func(ctx context.Context) any { return f(ctx, e.long) }
	n.begin(e)
}

// long is called on the effect's goroutine.
func (e *effect) long() {
	if e.work {
		e.node.sys.crew.leave(e)
		e.work = false
	}
}

func (n *Node) begin(e *effect) {
	n.sys.Effects.Add(1)
	n.mu.Lock()
	n.effects = append(n.effects, e)
	n.mu.Unlock()
	n.sys.crew.post(e)
}

func (e *effect) works() bool { return e.work }

func (e *effect) run() (next job) {
	n := e.node
	var out any
	returned := false
	defer func() {
		r := recover()
		if r == nil && !returned {
			r = errGoexit
		}
		if r != nil {
			n.panicked(&PanicError{Value: r, Where: n.label() + " running " + e.name, Stack: debug.Stack()})
		} else if out != nil && !n.Ending() {
			next = n.mailbox.take(out)
		}
		e.end()
	}()
	out = e.f(e.ctx)
	returned = true
	return nil
}

func (e *effect) end() {
	n := e.node
	n.sys.Effects.Add(-1)
	n.mu.Lock()
	defer n.mu.Unlock()
	i := slices.Index(n.effects, e)
	n.effects = slices.Delete(n.effects, i, i+1)
	if len(n.effects) == 0 && n.idle != nil {
		close(n.idle)
		n.idle = nil
	}
}

// join waits for the node's goroutines, at most the grace period.
func (n *Node) join() {
	n.mu.Lock()
	if len(n.effects) == 0 {
		n.mu.Unlock()
		return
	}
	idle := make(chan struct{})
	n.idle = idle
	n.mu.Unlock()
	n.sys.crew.leave(n.mailbox)
	defer n.sys.crew.enter(n.mailbox)
	late, stop := Alarm(n.sys.Clock, n.sys.Grace)
	defer stop()
	select {
	case <-idle:
	case <-late:
		n.abandon()
	}
}

func (n *Node) abandon() {
	n.mu.Lock()
	var names []string
	for _, e := range n.effects {
		names = append(names, e.name)
	}
	n.idle = nil
	n.mu.Unlock()
	if len(names) == 0 {
		return // they ended just now
	}
	slices.Sort(names)
	n.sys.Abandoned.Add(int64(len(names)))
	n.left = append(n.left, names...)
	err := error(&AbandonedError{Node: n.Path(), Names: names, After: n.sys.Grace})
	n.outcome.Store(&err) // worth more than the cause of the cancellation
	n.sys.Log.Error("goroutines left behind", "actor", n.Path(), "names", names)
}

// After sends a message to the node after d, unless it stops before. The
// returned function takes it back; it may be called at any time.
func (n *Node) After(d time.Duration, message any) (cancel func()) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.nextTimer++
	id := n.nextTimer
	n.timers = append(n.timers, timer{id, n.sys.Clock.AfterFunc(d, func() {
		if n.dropTimer(id) {
			n.sys.Actors.Root.Send(n.pid, message)
		}
	})})
	return func() { n.dropTimer(id) }
}

// dropTimer forgets a timer and reports whether it was still there.
func (n *Node) dropTimer(id uint64) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	i := slices.IndexFunc(n.timers, func(t timer) bool { return t.id == id })
	if i < 0 {
		return false
	}
	n.timers[i].Stop()
	n.timers = slices.Delete(n.timers, i, i+1)
	return true
}

func (n *Node) stopTimers() {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, t := range n.timers {
		t.Stop()
	}
	n.timers = nil
}
