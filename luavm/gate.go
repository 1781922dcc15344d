package luavm

import (
	"context"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// quantum is how long a slice runs while others wait for their turn.
const quantum = 5 * time.Millisecond

// gate lets as many slices of the process run at once as there are processors, the others wait in line. So the time
// of a slice is the time that its Lua runs, however many VMs compute; and a cancelled one need not be scheduled first
// to learn of it.
//
// A waiter blocks on a mutex that others unlock, not on a channel: a channel made in a synctest bubble must not be
// used by the rest of the process.
type gate struct {
	mu      sync.Mutex
	free    int
	queue   []*waiter
	waiting atomic.Int32 // len(queue)
}

type waiter struct {
	turn    sync.Mutex // locked until the wait is over
	granted bool
}

var processors = sync.OnceValue(func() *gate { return &gate{free: runtime.GOMAXPROCS(0)} })

// enter takes a free slot, or queues up and returns the waiter.
func (g *gate) enter() *waiter {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.free > 0 && len(g.queue) == 0 {
		g.free--
		return nil
	}
	w := &waiter{}
	w.turn.Lock()
	g.queue = append(g.queue, w)
	g.waiting.Add(1)
	return w
}

// wait blocks until w has got a slot (true) or was withdrawn.
func (w *waiter) wait() bool {
	w.turn.Lock()
	return w.granted
}

// withdraw ends the wait of w, if it still waits.
func (g *gate) withdraw(w *waiter) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if i := slices.Index(g.queue, w); i >= 0 {
		g.queue = slices.Delete(g.queue, i, i+1)
		g.waiting.Add(-1)
		w.turn.Unlock()
	}
}

// leave gives a slot back, to the first in line if there is one.
func (g *gate) leave() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if len(g.queue) == 0 {
		g.free++
		return
	}
	w := g.queue[0]
	g.queue[0] = nil
	g.queue = g.queue[1:]
	g.waiting.Add(-1)
	w.granted = true
	w.turn.Unlock()
}

// takeTurn waits for a slot for t, serving kills meanwhile. It reports false, without a slot, when t is not to run.
func (v *VM) takeTurn(ctx context.Context, t *Task) bool {
	g := processors()
	for {
		w := g.enter()
		if w == nil {
			return true
		}
		v.mu.Lock()
		v.waiter = w
		killed := len(v.kills) > 0
		v.mu.Unlock()
		if killed {
			g.withdraw(w)
		}
		stop := context.AfterFunc(ctx, func() { g.withdraw(w) })
		granted := w.wait()
		stop()
		v.mu.Lock()
		v.waiter = nil
		v.mu.Unlock()
		if granted {
			return true
		}
		v.serveKills()
		if ctx.Err() != nil || t.ended || t.abort != nil {
			return false
		}
	}
}

// yieldTurn lets the next in line run before the slice of t goes on; the wait does not count as its time.
func (v *VM) yieldTurn(t *Task) {
	s := &v.slice
	t.call.cpu.Add(int64(time.Since(s.start)))
	s.unwatch()
	processors().leave()
	s.turn = v.takeTurn(s.ctx, t)
	rest := t.call.limit - t.call.CPU()
	s.start = time.Now()
	s.deadline = s.start.Add(rest)
}
