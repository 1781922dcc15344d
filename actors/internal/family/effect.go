package family

import (
	"context"
	"fmt"
	"runtime/debug"
	"slices"
	"time"
)

// Go runs f on a goroutine that the node joins before it ends. What f returns
// is sent to the node, unless it is nil or the node is stopping. f must return
// soon after ctx ends. A panic in f ends the node.
func (n *Node) Go(name string, f func(ctx context.Context) any) {
	id := n.begin(name)
	n.sys.crew.run(func() {
		var out any
		defer func() {
			if r := recover(); r != nil {
				n.panicked(&PanicError{Value: r, Where: fmt.Sprintf("%s %s running %s", n.Kind, n.Name, name), Stack: debug.Stack()})
			} else if out != nil && n.ctx.Err() == nil {
				n.sys.Actors.Root.Send(n.pid, out)
			}
			n.end(id)
		}()
		out = f(n.ctx)
	})
}

func (n *Node) begin(name string) uint64 {
	n.sys.Effects.Add(1)
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.effects == nil {
		n.effects = map[uint64]string{}
	}
	n.nextID++
	n.effects[n.nextID] = name
	return n.nextID
}

func (n *Node) end(id uint64) {
	n.sys.Effects.Add(-1)
	n.mu.Lock()
	defer n.mu.Unlock()
	delete(n.effects, id)
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
	late := make(chan struct{})
	t := n.sys.Clock.AfterFunc(n.sys.Grace, func() { close(late) })
	defer t.Stop()
	select {
	case <-idle:
	case <-late:
		n.abandon()
	}
}

func (n *Node) abandon() {
	n.mu.Lock()
	var names []string
	for _, name := range n.effects {
		names = append(names, name)
	}
	n.idle = nil
	n.mu.Unlock()
	if len(names) == 0 {
		return // they ended just now
	}
	slices.Sort(names)
	n.sys.Abandoned.Add(int64(len(names)))
	err := error(&AbandonedError{Node: n.Path(), Names: names, After: n.sys.Grace})
	n.outcome.Store(&err) // worth more than the cause of the cancellation
	n.sys.Log.Error("goroutines left behind", "actor", n.Path(), "names", names)
}

// After sends a message to the node after d, unless it stops before. The
// returned function takes it back; it may be called at any time.
func (n *Node) After(d time.Duration, message any) (cancel func()) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.nextID++
	id := n.nextID
	if n.timers == nil {
		n.timers = map[uint64]Timer{}
	}
	n.timers[id] = n.sys.Clock.AfterFunc(d, func() {
		if n.dropTimer(id) {
			n.sys.Actors.Root.Send(n.pid, message)
		}
	})
	return func() { n.dropTimer(id) }
}

// dropTimer forgets a timer and reports whether it was still there.
func (n *Node) dropTimer(id uint64) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	t, ok := n.timers[id]
	if ok {
		delete(n.timers, id)
		t.Stop()
	}
	return ok
}

func (n *Node) stopTimers() {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, t := range n.timers {
		t.Stop()
	}
	n.timers = nil
}
