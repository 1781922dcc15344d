package luavm

import (
	"context"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// quantum is how long a slice computes until others may have its processor. It is less than what Go's scheduler lets
// a goroutine run before it interrupts it, so that the time of a slice holds next to no waits for a processor.
const quantum = 5 * time.Millisecond

// short is how long a slice may take to count as a short one, and what the short ones of a call take together until it
// lets others run. Nearly all calls are much shorter.
const short = time.Millisecond

// gate lets as many long slices of the process run at once as there are processors, the others wait in line. So
// short calls find a processor soon whatever the others do; and a cancelled slice need not be scheduled first to learn
// of it. Short slices do not come here: a slot that was given to a goroutine which still waits for a processor would
// keep others out who have one, and where each call needs a slot, all calls wait for that.
//
// A waiter blocks on a mutex that others unlock, not on a channel: a channel made in a synctest bubble must not be
// used by the rest of the process.
type gate struct {
	mu      sync.Mutex
	free    int
	queue   []*waiter
	waiting atomic.Int32 // the queue's length
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
	if g.free > 0 {
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
		if ctx.Err() != nil || t.abort != nil {
			return false
		}
	}
}

// mayGoOn reports whether the slice may compute on without a pause.
func (s *slice) mayGoOn(now time.Time) bool {
	took := now.Sub(s.start)
	return took <= short || s.turn && took <= quantum
}

// pause lets others run before the slice of t goes on, with a slot. Its clock stands still meanwhile.
func (v *VM) pause(t *Task) {
	s, g := &v.slice, processors()
	s.tellLong()
	t.call.cpu.Add(int64(time.Since(s.start)))
	s.unwatch()
	if s.turn && g.waiting.Load() > 0 {
		s.turn = false
		g.leave()
	}
	if !s.turn {
		s.turn = v.takeTurn(s.ctx, t)
	}
	if s.turn {
		t.call.yield()
	}
	s.begin(t.call)
}

// yield lets others run. It also begins a new term with Go's scheduler, which would interrupt a goroutine that
// computes for long at some other moment, where its clock runs.
func (c *Call) yield() {
	runtime.Gosched()
	c.yielded = c.CPU()
}

// begin starts the clock of a slice of c, at its start and after each pause.
func (s *slice) begin(c *Call) {
	s.start = time.Now()
	s.deadline = s.start.Add(c.limit - c.CPU())
}
