package luavmtest

import (
	"container/heap"
	"context"
	"time"

	"clm/luavm"
)

// Simulation drives calls of a VM in virtual time: an answer that takes a second takes none. It is deterministic:
// what is due at the same moment happens in the order in which it was asked for.
type Simulation struct {
	// Answer gives the answer of a want and how long it takes; a negative duration means never. It is not asked
	// about Sleep and Wait. nil: every want fails.
	Answer func(t *luavm.Task, w luavm.Want) (luavm.Answer, time.Duration)
	// Trace, if set, is told what happens.
	Trace func(at time.Duration, t *luavm.Task, what any)
	// Now is the virtual time; it goes on from call to call.
	Now time.Duration

	order int
}

// Run steps call to its end. When nothing is left that could happen, or ctx ends, the call is killed and its result
// is the one of that.
func (s *Simulation) Run(ctx context.Context, call *luavm.Call) luavm.Result {
	r := &run{s: s, main: call.Main(), ended: map[*luavm.Task]end{}}
	r.add(s.Now, call.Main(), luavm.Answer{})
	for r.result == nil && len(r.queue) > 0 && ctx.Err() == nil {
		e := heap.Pop(&r.queue).(*event)
		if r.ended[e.task].done || e.wait != nil && e.wait != r.wait {
			continue
		}
		s.Now = max(s.Now, e.at)
		r.step(ctx, e)
	}
	if r.result == nil {
		reason := "the call waits for something that never comes"
		if ctx.Err() != nil {
			reason = "cancelled"
		}
		r.main.Kill(reason)
		r.take(r.main, r.main.Step(context.Background(), luavm.Answer{}))
	}
	return *r.result
}

type end struct{ done, failed bool }

type event struct {
	at     time.Duration
	order  int
	task   *luavm.Task
	answer luavm.Answer
	wait   *luavm.Wait // the wait that this one ends, if it still goes on
}

type run struct {
	s      *Simulation
	main   *luavm.Task
	queue  events
	ended  map[*luavm.Task]end
	wait   *luavm.Wait // main's
	result *luavm.Result
}

func (r *run) add(at time.Duration, t *luavm.Task, a luavm.Answer) *event {
	r.s.order++
	e := &event{at: at, order: r.s.order, task: t, answer: a}
	heap.Push(&r.queue, e)
	return e
}

func (r *run) step(ctx context.Context, e *event) {
	if e.task == r.main {
		r.wait = nil
	}
	r.take(e.task, e.task.Step(ctx, e.answer))
}

// take acts on what a Step gave back.
func (r *run) take(t *luavm.Task, y luavm.Yield) {
	for _, c := range y.Cancelled {
		r.trace(c, "cancelled")
		r.ended[c] = end{done: true}
	}
	if y.Done {
		r.trace(t, "ended")
		r.ended[t] = end{done: true, failed: y.Failed}
	}
	for _, n := range y.Spawned {
		r.trace(n, "spawned")
		r.add(r.s.Now, n, luavm.Answer{})
	}
	if y.Result != nil && r.result == nil {
		r.result = y.Result
		r.drop(t)
	}
	if y.Want != nil {
		r.want(t, y.Want)
	}
	if w := r.wait; w != nil && w.Over(r.known) {
		r.add(r.s.Now, r.main, luavm.Answer{}).wait = w
	}
}

func (r *run) known(t *luavm.Task) (done, failed bool) { return r.ended[t].done, r.ended[t].failed }

// drop ends main when a child's abort has ended the call.
func (r *run) drop(t *luavm.Task) {
	if t != r.main {
		r.main.Kill("the call is over")
		r.main.Step(context.Background(), luavm.Answer{})
	}
}

func (r *run) want(t *luavm.Task, w luavm.Want) {
	r.trace(t, w)
	switch w := w.(type) {
	case luavm.Sleep:
		r.add(r.s.Now+w.For, t, luavm.Answer{})
	case luavm.Wait:
		r.wait = &w
		if w.Timeout >= 0 {
			r.add(r.s.Now+w.Timeout, t, luavm.Answer{Timeout: true}).wait = r.wait
		}
	default:
		answer, after := luavm.Answer{Err: "no answer"}, time.Duration(0)
		if r.s.Answer != nil {
			answer, after = r.s.Answer(t, w)
		}
		if after >= 0 {
			r.add(r.s.Now+after, t, answer)
		}
	}
}

func (r *run) trace(t *luavm.Task, what any) {
	if r.s.Trace != nil {
		r.s.Trace(r.s.Now, t, what)
	}
}

// events is a heap by time, then by order.
type events []*event

func (q events) Len() int      { return len(q) }
func (q events) Swap(i, j int) { q[i], q[j] = q[j], q[i] }
func (q *events) Push(x any)   { *q = append(*q, x.(*event)) }
func (q events) Less(i, j int) bool {
	return q[i].at < q[j].at || q[i].at == q[j].at && q[i].order < q[j].order
}

func (q *events) Pop() any {
	old := *q
	e := old[len(old)-1]
	*q = old[:len(old)-1]
	return e
}
