package luavm

import (
	"context"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// quantum is how long a slice runs while others wait for their turn. Nearly all slices are much shorter.
const quantum = 5 * time.Millisecond

// freshInRow is how many fresh slices go before one that has used up a quantum.
const freshInRow = 8

// gate lets as many slices of the process run at once as there are processors, the others wait in line. So the time
// of a slice is the time that its Lua runs, however many VMs compute; and a cancelled one need not be scheduled first
// to learn of it. Slices that just begin go before those that have computed for a quantum, so that short calls are
// short whatever the others do.
//
// A waiter blocks on a mutex that others unlock, not on a channel: a channel made in a synctest bubble must not be
// used by the rest of the process.
type gate struct {
	mu      sync.Mutex
	free    int
	fresh   []*waiter
	long    []*waiter    // those that had a quantum
	row     int          // fresh ones in a row
	waiting atomic.Int32 // of both
	first   atomic.Int32 // of fresh
}

type waiter struct {
	turn    sync.Mutex // locked until the wait is over
	granted bool
}

var processors = sync.OnceValue(func() *gate { return &gate{free: runtime.GOMAXPROCS(0)} })

// enter takes a free slot, or queues up and returns the waiter.
func (g *gate) enter(long bool) *waiter {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.free > 0 {
		g.free--
		return nil
	}
	w := &waiter{}
	w.turn.Lock()
	if long {
		g.long = append(g.long, w)
	} else {
		g.fresh = append(g.fresh, w)
	}
	g.count()
	return w
}

// count publishes the lengths of the queues.
func (g *gate) count() {
	g.first.Store(int32(len(g.fresh)))
	g.waiting.Store(int32(len(g.fresh) + len(g.long)))
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
	for _, queue := range []*[]*waiter{&g.fresh, &g.long} {
		if i := slices.Index(*queue, w); i >= 0 {
			*queue = slices.Delete(*queue, i, i+1)
			g.count()
			w.turn.Unlock()
		}
	}
}

// leave gives a slot back, to the first in line if there is one.
func (g *gate) leave() {
	g.mu.Lock()
	defer g.mu.Unlock()
	queue := &g.fresh
	if g.row++; len(g.fresh) == 0 || len(g.long) > 0 && g.row > freshInRow {
		queue, g.row = &g.long, 0
	}
	if len(*queue) == 0 {
		g.free++
		return
	}
	w := (*queue)[0]
	(*queue)[0] = nil
	*queue = (*queue)[1:]
	g.count()
	w.granted = true
	w.turn.Unlock()
}

// takeTurn waits for a slot for t, serving kills meanwhile. It reports false, without a slot, when t is not to run.
func (v *VM) takeTurn(ctx context.Context, t *Task, long bool) bool {
	g := processors()
	for {
		w := g.enter(long)
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

// mayGoOn reports whether the slice keeps its turn while others wait.
func (g *gate) mayGoOn(s *slice, now time.Time) bool {
	return g.waiting.Load() == 0 || now.Sub(s.start) <= quantum && !(s.long && g.first.Load() > 0)
}

// yieldTurn lets the next in line run before the slice of t goes on; the wait does not count as its time.
func (v *VM) yieldTurn(t *Task) {
	s := &v.slice
	t.call.cpu.Add(int64(time.Since(s.start)))
	s.unwatch()
	processors().leave()
	s.long = true
	s.turn = v.takeTurn(s.ctx, t, true)
	rest := t.call.limit - t.call.CPU()
	s.start = time.Now()
	s.deadline = s.start.Add(rest)
}
