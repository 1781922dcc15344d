package stress

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"time"

	"clm/actors"
	"clm/actors/msg"
)

// subject is one agent under load. One goroutine at a time runs its turns.
type subject struct {
	number   uint64 // unique in the run, the first part of its tags
	place    uint64 // the same for all that come one after the other
	nth      uint64 // turns made at this place: with it, the seed decides what the agent does
	agent    *actors.Agent
	listener *actors.Listener
	turns    int // made
	made     int // in this round, also by those whose place it took
	seq      uint64
	pairs    pairs

	asked   atomic.Uint32 // requests of the turn
	faulted atomic.Bool   // one of them was made to go wrong
}

// spawn starts an agent at a place, where turns were made before.
func (r *run) spawn(place, nth uint64) (*subject, error) {
	s := &subject{number: r.numbers.Add(1), place: place, nth: nth}
	a, err := r.engine.Spawn(r.hard, actors.AgentOptions{
		ID: fmt.Sprintf("s%d", s.number), Model: r.model, System: r.opts.System, Tools: r.opts.Toolset,
		MaxIterations: -1, Permissions: actors.Permissions{AllowAll: true},
	})
	if err != nil {
		return nil, err
	}
	s.agent = a
	if s.listener, err = a.Listen(); err != nil {
		return nil, err
	}
	r.subjects.Store(s.number, s)
	r.agents.Add(1)
	return s, nil
}

// subject finds an agent that is alive by its number.
func (r *run) subject(number uint64) *subject {
	if s, ok := r.subjects.Load(number); ok {
		return s.(*subject)
	}
	return nil
}

// leave ends an agent, after a look at what it holds.
func (r *run) leave(s *subject) {
	r.inspect(s)
	s.listener.Close()
	if err := s.agent.Stop(r.hard); err != nil {
		r.violate(s.number, 0, "the agent did not end: "+err.Error())
	} else if t := s.agent.Tree(); len(t.Children) > 0 || len(t.Effects) > 0 {
		r.violate(s.number, 0, fmt.Sprintf("after the agent's end these are alive: %+v", t))
	}
	r.subjects.Delete(s.number)
	r.agents.Add(-1)
}

// inspect checks an agent between turns.
func (r *run) inspect(s *subject) {
	msgs, err := s.agent.History()
	if err != nil {
		r.violate(s.number, uint64(s.turns), "the conversation cannot be read between turns: "+err.Error())
		return
	}
	if why := checkHistory(msgs, s.number); why != "" {
		r.violate(s.number, uint64(s.turns), "the conversation is not valid: "+why)
	}
}

// turnRun is a turn in flight.
type turnRun struct {
	*run
	s        *subject
	plan     plan
	tag      string
	number   uint64 // as the engine counts
	due      time.Time
	begun    time.Time
	queued   time.Time    // when the engine had it wait; zero: it did not
	canceled atomic.Int64 // when it was cancelled, in nanoseconds since begun; 0: it was not
	cut      bool         // by the end of the run
	m        turnMeasures
}

// turn makes one turn of an agent that was due at some time.
func (r *run) turn(s *subject, due time.Time) plan {
	s.turns++
	s.nth++
	s.asked.Store(0)
	s.faulted.Store(false)
	p := r.opts.plan(s.place, s.nth)
	t := &turnRun{run: r, s: s, plan: p, tag: tagOf(s.number, uint64(s.turns)), due: due, begun: time.Now()}
	t.m.queue = t.begun.Sub(due)
	var err error
	if t.number, err = s.agent.Submit(r.opts.prompt(t.tag, p, r.tool)); err != nil {
		r.refused(t, err)
		if r.opts.Rate == 0 { // whoever is told to come again later does
			p.think = max(p.think, time.Duration(r.usual.Load()))
		}
		return p
	}
	r.inFlight.Add(1)
	defer r.inFlight.Add(-1)
	if p.cancel >= 0 {
		after := time.Duration(p.cancel * float64(r.usual.Load()))
		defer time.AfterFunc(after, t.cancel).Stop()
	}
	if d, ok := t.await(); ok {
		t.ended(d)
	}
	return p
}

// refused takes up a turn that could not start.
func (r *run) refused(t *turnRun, err error) {
	switch {
	case errors.Is(err, actors.ErrOverloaded):
		r.stats.refuse("overloaded")
	case errors.Is(err, actors.ErrCeiling):
		r.stats.refuse("ceiling")
	case r.hard.Err() != nil:
	default:
		r.violate(t.s.number, uint64(t.s.turns), "an idle agent refused a turn: "+err.Error())
	}
}

// cancel notes the moment before it cancels: the turn may have ended by the time
// that the answer comes.
func (t *turnRun) cancel() {
	t.canceled.CompareAndSwap(0, int64(max(time.Since(t.begun), 1)))
	_ = t.s.agent.CancelTurn(t.number) // it fails if the turn has ended
}

// await reads events until the turn's end. At the end of the run's patience the
// turn is cancelled; one that does not end then either is a violation.
func (t *turnRun) await() (msg.TurnDone, bool) {
	d, err := t.s.listener.Turn(t.patience, t.number, t.event)
	if err == nil {
		return d, true
	}
	t.cut = true
	t.cancel()
	d, err = t.s.listener.Turn(t.hard, t.number, t.event)
	if err != nil {
		t.violate(t.s.number, uint64(t.s.turns), fmt.Sprintf("the turn did not end after it was cancelled: %+v", t.s.agent.Tree()))
		return msg.TurnDone{}, false
	}
	return d, true
}

// event checks and counts one event.
func (t *turnRun) event(e actors.Event) {
	if e.Seq <= t.s.seq {
		t.wrong("event %d comes after event %d", e.Seq, t.s.seq)
	}
	t.s.seq = e.Seq
	if t.metrics != nil {
		t.metrics.OnEvent(e)
	}
	if e.Turn != t.number {
		t.wrong("an event of turn %d comes in turn %d: %+v", e.Turn, t.number, e.Data)
	}
	switch d := e.Data.(type) {
	case msg.StateChanged:
		t.state(d.State, e.Time)
	case msg.Text, msg.Reasoning:
		t.first(e.Time)
	case msg.ToolResult:
		t.toolResult(d)
	case msg.UsageReported:
		t.m.input += d.Usage.Input
		t.m.output += d.Usage.Output
	case msg.Waiting:
		if strings.Contains(d.Why, "rate limit") && !t.s.faulted.Load() {
			t.m.limiter += d.For
		} else {
			t.m.backoff += d.For
		}
		t.m.waits++
	case msg.MessageAdded:
		if len(d.Message.ToolCalls) > 0 { // they are told when all have come; when they begin, plugins have been loaded
			t.first(e.Time)
		}
		if why := t.s.pairs.add(d.Message); why != "" {
			t.wrong("%s", why)
		}
	case msg.Compaction:
		if d.Phase == "succeeded" {
			t.m.compactions++
		}
	}
}

// state notes how long the turn waits until the engine lets it begin.
func (t *turnRun) state(s msg.State, at time.Time) {
	switch {
	case s == msg.StateQueued:
		t.queued = at
	case t.m.admission == 0 && !t.queued.IsZero():
		t.m.admission = max(at.Sub(t.queued), 1)
	}
}

func (t *turnRun) wrong(format string, args ...any) {
	t.violate(t.s.number, uint64(t.s.turns), fmt.Sprintf(format, args...))
}

func (t *turnRun) first(at time.Time) {
	if t.m.firstToken == 0 {
		t.m.firstToken = max(at.Sub(t.due), 1)
	}
}

func (t *turnRun) toolResult(d msg.ToolResult) {
	t.m.calls = append(t.m.calls, d.Duration)
	if d.Failed {
		t.m.failedCalls++
		return
	}
	if t.ownTool && !strings.Contains(d.Text, t.tag) {
		t.wrong("the result of a call of %s is %q", t.tag, d.Text)
	}
}

// ended judges and counts a turn's end.
func (t *turnRun) ended(d msg.TurnDone) {
	now := time.Now()
	t.m.total, t.m.status, t.m.kind = now.Sub(t.due), d.Status, d.Kind
	if t.opts.Engine.MaxQueued > 0 {
		t.m.admitted = now.Sub(t.begun) - t.m.admission
	}
	if why := t.s.pairs.end(); why != "" {
		t.wrong("at the turn's end %s", why)
		t.s.pairs = pairs{}
	}
	switch d.Status {
	case "done":
		t.usual.observe(now.Sub(t.begun))
		if t.embedded {
			if why := checkAnswer(d.Text, t.tag); why != "" {
				t.wrong("%s", why)
			}
			if want := t.plan.calls; len(t.m.calls) != want {
				t.wrong("%d calls have results, want %d", len(t.m.calls), want)
			}
			if t.m.failedCalls > 0 && t.ownTool {
				t.wrong("%d call(s) of hello failed", t.m.failedCalls)
			}
		}
	case "canceled":
		at := time.Duration(t.canceled.Load())
		if at == 0 {
			t.wrong("the turn was cancelled by nobody")
		}
		t.m.cancel, t.m.cut = max(now.Sub(t.begun)-at, 1), t.cut
	default:
		t.m.err = d.Error
		if t.embedded && !t.s.faulted.Load() && !errors.Is(d.Err, actors.ErrOverloaded) && d.Kind != "repeated" {
			t.wrong("the turn failed without an injected fault: %s: %s", d.Kind, d.Error)
		}
	}
	t.stats.turn(&t.m)
}

// drained checks that nothing came after a turn's end.
func (r *run) drained(s *subject) {
	ctx, cancel := context.WithCancel(r.hard)
	cancel()
	for {
		e, err := s.listener.Next(ctx)
		if err != nil {
			return
		}
		if e.Turn != 0 {
			r.violate(s.number, uint64(s.turns), fmt.Sprintf("an event comes after the turn's end: %+v", e.Data))
		}
	}
}
