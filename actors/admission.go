package actors

import (
	"container/list"
	"fmt"
	"runtime/metrics"
	"sync"

	"clm/actors/internal/family"
	"clm/actors/msg"
)

// admission decides which turns run and which wait, see [Options.MaxQueued]. It
// is a count and a queue behind a lock, as a submit has to know at once; nobody
// holds the lock for longer than a decision. A turn that waits is an actor of
// the turn's own that has not begun. It is told once when it may.
//
// An agent has one turn at a time, so that first come, first served is fair: who
// has had a turn stands behind all that waited meanwhile.
type admission struct {
	maxTurns, maxQueued int
	maxMemory           int64
	read                func(metric string) int64 // of package runtime/metrics
	collect             func()                    // has garbage collected, and then calls collected

	ending func() bool // the engine is, and nothing begins any more

	mu         sync.Mutex
	running    int
	queue      list.List // of *place, the longest waiting first
	refused    int64
	collecting bool
}

// place is what a turn has from its admission to its end.
type place struct {
	at   *list.Element // in the queue; nil: it runs, was refused or has left
	runs bool
	err  error        // why it was refused after all
	turn *family.Node // whom to tell; nil until it was spawned
}

// Load is how busy an engine is.
type Load struct {
	Running int   // turns; those of sub-agents belong to the turn above
	Queued  int   // turns that wait, see [Options.MaxQueued]
	Refused int64 // turns that were ever refused with [ErrOverloaded]
}

func (a *admission) load() Load {
	a.mu.Lock()
	defer a.mu.Unlock()
	return Load{a.running, a.queue.Len(), a.refused}
}

// enter admits a turn, has it wait, or says why it may do neither.
func (a *admission) enter() (p *place, waits bool, err error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	p = &place{}
	why := a.full()
	if why == nil && a.queue.Len() == 0 {
		a.running++
		p.runs = true
		return p, false, nil
	}
	p.at = a.queue.PushBack(p)
	a.advance() // memory may have become free
	if a.queue.Len() > a.maxQueued {
		a.refuse(p, a.tooMany(why))
	}
	a.unstick()
	if p.err != nil {
		return nil, false, p.err
	}
	return p, p.at != nil, nil
}

// full says why no turn more may run.
func (a *admission) full() error {
	if a.maxTurns > 0 && a.running >= a.maxTurns {
		return fmt.Errorf("%d turns are in flight, as many as may: %w", a.maxTurns, msg.ErrOverloaded)
	}
	return a.memory()
}

func (a *admission) memory() error {
	if a.maxMemory <= 0 {
		return nil
	}
	if used := a.read("/memory/classes/heap/objects:bytes"); used > a.maxMemory {
		return fmt.Errorf("the heap holds %d MiB of at most %d: %w", used>>20, a.maxMemory>>20, msg.ErrOverloaded)
	}
	return nil
}

func (a *admission) tooMany(why error) error {
	switch {
	case why == nil:
		return fmt.Errorf("%d turns wait, as many as may: %w", a.maxQueued, msg.ErrOverloaded)
	case a.maxQueued > 0:
		return fmt.Errorf("%d turns wait, as many as may; %w", a.maxQueued, why)
	}
	return why
}

// seat says which actor has a place that had to wait. If its time has come
// meanwhile, it is told now.
func (a *admission) seat(p *place, turn *family.Node) {
	a.mu.Lock()
	defer a.mu.Unlock()
	p.turn = turn
	if p.at == nil {
		p.tell()
	}
}

// tell has the turn begin, or end.
func (p *place) tell() {
	if p.turn != nil {
		p.turn.System().Send(p.turn.PID(), msg.TurnAdmitted{Err: p.err})
	}
}

// leave gives back a place, or stops to wait for one.
func (a *admission) leave(p *place) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.take(p)
	if p.runs {
		p.runs = false
		a.running--
	}
	a.advance()
	a.unstick()
}

func (a *admission) take(p *place) {
	if p.at != nil {
		a.queue.Remove(p.at)
		p.at = nil
	}
}

// advance lets in those who may run. Two at most for each turn that came or
// went: when memory was short and no longer is, the engine comes back to its
// speed within a few turns, and not in one burst that takes all of it again.
func (a *admission) advance() {
	for n := 0; n < 2 && !a.ending(); {
		front := a.queue.Front()
		if front == nil || a.full() != nil {
			return
		}
		p := front.Value.(*place)
		a.take(p)
		if p.turn != nil && p.turn.Ending() {
			continue // it was cancelled and is about to leave
		}
		n++
		a.running++
		p.runs = true
		p.tell()
	}
}

// unstick sees to turns that wait while none runs, whose end would let them in.
// Memory holds them back then. If that may be garbage, it is collected first;
// else they are refused, as waiting would have no end.
func (a *admission) unstick() {
	switch {
	case a.running > 0 || a.queue.Len() == 0 || a.collecting || a.ending():
	case a.read("/gc/heap/live:bytes") <= a.maxMemory: // after the last collection
		a.collecting = true
		a.collect()
	default:
		a.refuseAll()
	}
}

// collected goes on when garbage was collected.
func (a *admission) collected() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.collecting = false
	a.advance()
	if a.running == 0 && !a.ending() {
		a.refuseAll()
	}
}

func (a *admission) refuseAll() {
	for a.queue.Len() > 0 {
		err := a.memory()
		if err == nil { // it became free this moment
			err = msg.ErrOverloaded
		}
		a.refuse(a.queue.Front().Value.(*place), err)
	}
}

func (a *admission) refuse(p *place, err error) {
	a.take(p)
	p.err = err
	a.refused++
	p.tell()
}

func readMetric(metric string) int64 {
	s := []metrics.Sample{{Name: metric}}
	metrics.Read(s)
	return int64(s[0].Value.Uint64())
}
