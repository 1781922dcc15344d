package actors

import (
	"context"
	"iter"
	"runtime/debug"
	"strings"
	"sync"

	"clm/actors/internal/agent"
	"clm/actors/msg"
)

// Listener is a reader of an agent's events. Between the agent and the reader
// lies a queue that never makes the agent wait and loses nothing: pieces of text
// that follow each other are joined while nobody reads them, so that a slow
// reader costs no more than what was said.
type Listener struct {
	mu     sync.Mutex
	queue  []queued
	wake   chan struct{} // capacity 1
	closed bool          // by the reader
	ended  bool          // nothing more comes
}

// Listen starts to collect the agent's events, from the next one on. Close it
// when it is no longer read.
func (a *Agent) Listen() (*Listener, error) {
	l := newListener()
	if err := a.do(agent.Sink(l)); err != nil {
		return nil, err
	}
	return l, nil
}

func newListener() *Listener { return &Listener{wake: make(chan struct{}, 1)} }

// Push takes an event, and says whether it takes more. It is for the engine.
func (l *Listener) Push(e Event) (more bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return false
	}
	if n := len(l.queue); n > 0 && l.queue[n-1].join(e) {
		return true
	}
	l.queue = append(l.queue, queued{Event: e})
	return true
}

// Wake lets a reader that waits go on. It is for the engine.
func (l *Listener) Wake() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.queue) > 0 {
		l.signal()
	}
}

// End says that no event follows. It is for the engine.
func (l *Listener) End() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.ended = true
	l.signal()
}

func (l *Listener) signal() {
	select {
	case l.wake <- struct{}{}:
	default:
	}
}

// queued is an event that waits, with the text of those that followed it.
type queued struct {
	Event
	more []string
}

// join adds a piece of text to the one before it.
func (q *queued) join(e Event) bool {
	if q.Turn != e.Turn {
		return false
	}
	switch d := e.Data.(type) {
	case msg.Text:
		if _, ok := q.Data.(msg.Text); ok {
			q.more, q.Seq = append(q.more, d.Text), e.Seq
			return true
		}
	case msg.Reasoning:
		if _, ok := q.Data.(msg.Reasoning); ok {
			q.more, q.Seq = append(q.more, d.Text), e.Seq
			return true
		}
	}
	return false
}

func (q *queued) event() Event {
	if q.more == nil {
		return q.Event
	}
	switch d := q.Data.(type) {
	case msg.Text:
		q.Data = msg.Text{Text: d.Text + strings.Join(q.more, "")}
	case msg.Reasoning:
		q.Data = msg.Reasoning{Text: d.Text + strings.Join(q.more, "")}
	}
	return q.Event
}

// Next gives the next event. It waits for one until ctx ends, whose cause it
// then gives, or the agent has ended or the listener is closed: [ErrStopped].
func (l *Listener) Next(ctx context.Context) (Event, error) {
	for {
		if e, ok, end := l.take(); ok {
			return e, nil
		} else if end {
			return Event{}, msg.ErrStopped
		}
		select {
		case <-l.wake:
		case <-ctx.Done():
			return Event{}, context.Cause(ctx)
		}
	}
}

func (l *Listener) take() (e Event, ok, end bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.queue) == 0 {
		end = l.ended || l.closed
		if end {
			l.signal() // for another reader
		}
		return Event{}, false, end
	}
	e = l.queue[0].event()
	l.queue[0] = queued{}
	l.queue = l.queue[1:]
	if len(l.queue) == 0 {
		l.queue = nil
	} else {
		l.signal() // for another reader
	}
	return e, true, false
}

// All ranges over the events until ctx, the agent or the listener ends.
func (l *Listener) All(ctx context.Context) iter.Seq[Event] {
	return func(yield func(Event) bool) {
		for {
			e, err := l.Next(ctx)
			if err != nil || !yield(e) {
				return
			}
		}
	}
}

// Turn reads events until a turn has ended, giving each to f (which may be nil),
// and returns its end. So listen before the turn is submitted: an end that was
// told before, or read by somebody else, does not come again, and only ctx ends
// the wait for it.
func (l *Listener) Turn(ctx context.Context, turn uint64, f func(Event)) (msg.TurnDone, error) {
	for {
		e, err := l.Next(ctx)
		if err != nil {
			return msg.TurnDone{}, err
		}
		if f != nil {
			f(e)
		}
		if d, ok := e.Data.(msg.TurnDone); ok && e.Turn == turn {
			return d, nil
		}
	}
}

// Close drops what was not read and takes no more.
func (l *Listener) Close() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.closed, l.queue = true, nil
	l.signal()
}

// callback is a listener that calls a function for each event, on a goroutine
// that runs only while there are events. The agent does not wait for it, so
// that the function may do so for the agent's end.
type callback struct {
	*Listener
	agent   *Agent
	f       func(Event)
	due     bool // there are events, or a goroutine at them; guarded by the listener's mutex, as running is
	running bool
}

func (a *Agent) callback(f func(Event)) *callback {
	return &callback{Listener: newListener(), agent: a, f: f}
}

// Push takes an event. It is for the engine.
func (k *callback) Push(e Event) bool {
	k.Listener.Push(e)
	k.mu.Lock()
	defer k.mu.Unlock()
	if !k.due {
		k.due = true
		k.agent.host.e.calls.begin() // the engine's end waits for it
	}
	return true
}

// Wake has the events handled. It is for the engine.
func (k *callback) Wake() {
	k.mu.Lock()
	start := k.due && !k.running
	k.running = k.running || start
	k.mu.Unlock()
	if start {
		k.agent.host.e.sys.Detach(k.drain)
	}
}

func (k *callback) drain() {
	done := false
	defer func() {
		if done {
			k.agent.host.e.calls.end()
		} else { // the function ended the goroutine, as FailNow of a test does
			k.agent.host.e.sys.Detach(k.drain)
		}
	}()
	for !done {
		if e, ok, _ := k.take(); ok {
			k.call(e)
			continue
		}
		done = k.rest()
	}
}

// rest ends the goroutine's work unless an event has come.
func (k *callback) rest() bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	if len(k.queue) > 0 {
		return false
	}
	k.due, k.running = false, false
	return true
}

// call keeps a listener's panic from the process.
func (k *callback) call(e Event) {
	defer func() {
		if r := recover(); r != nil {
			k.agent.host.e.opts.Logger.Error("event callback panicked", "agent", e.Agent, "event", e.Data.EventName(), "panic", r, "stack", string(debug.Stack()))
		}
	}()
	k.f(e)
}

// calls counts the goroutines that run callbacks.
type calls struct {
	mu   sync.Mutex
	n    int
	idle chan struct{} // closed when none runs, if someone waits
}

func (c *calls) begin() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.n++
}

func (c *calls) end() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.n--; c.n == 0 && c.idle != nil {
		close(c.idle)
		c.idle = nil
	}
}

// none is closed when no callback runs.
func (c *calls) none() <-chan struct{} {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.idle != nil {
		return c.idle
	}
	idle := make(chan struct{})
	if c.n == 0 {
		close(idle)
	} else {
		c.idle = idle
	}
	return idle
}
