package family

import (
	"sync"

	"github.com/asynkron/protoactor-go/actor"
)

// mailbox is the queue of one node. Unlike protoactor's own it costs little
// while it is empty, holds nothing that has passed through it, lets go of its
// node when that has ended (an actor's parent and whoever sent to it hold the
// mailbox for longer), and answers what came too late instead of losing it.
type mailbox struct {
	mu        sync.Mutex
	system    queue
	user      queue
	running   bool // a goroutine is at it, or about to be
	suspended bool
	ended     bool // the node was told Stopped
	high      int  // most user messages that ever waited

	sys     *System
	pid     *actor.PID
	invoker actor.MessageInvoker // nil once the node has ended and its last message was handled
}

func newMailbox(s *System) *mailbox {
	return &mailbox{sys: s}
}

// RegisterHandlers implements [actor.Mailbox].
func (m *mailbox) RegisterHandlers(invoker actor.MessageInvoker, _ actor.Dispatcher) {
	m.invoker = invoker
}

// Start implements [actor.Mailbox].
func (m *mailbox) Start() {}

// UserMessageCount implements [actor.Mailbox].
func (m *mailbox) UserMessageCount() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.user.len()
}

func (m *mailbox) highWater() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.high
}

// PostUserMessage implements [actor.Mailbox].
func (m *mailbox) PostUserMessage(message any) {
	if next := m.take(message); next != nil {
		m.sys.crew.post(m)
	}
}

// take adds a message, and returns the mailbox if somebody must take it up. Nil is
// no message.
func (m *mailbox) take(message any) (ready job) {
	if message == nil {
		return nil
	}
	m.mu.Lock()
	if m.ended {
		m.mu.Unlock()
		m.refuse(message)
		return nil
	}
	defer m.mu.Unlock()
	m.user.push(message)
	m.high = max(m.high, m.user.len())
	if m.begins() {
		return m
	}
	return nil
}

// PostSystemMessage implements [actor.Mailbox].
func (m *mailbox) PostSystemMessage(message any) {
	m.mu.Lock()
	if m.invoker == nil { // nobody is there any more
		m.mu.Unlock()
		if w, ok := message.(*actor.Watch); ok {
			// Whoever found the address before it was taken off the registry.
			m.sys.Actors.Root.Send(w.Watcher, &actor.Terminated{Who: m.pid, Why: actor.TerminatedReason_NotFound})
		}
		return
	}
	m.system.push(message)
	begins := m.begins()
	m.mu.Unlock()
	if begins {
		m.sys.crew.post(m)
	}
}

// begins tells whether somebody must take up the messages, and takes it that
// somebody does.
func (m *mailbox) begins() bool {
	begins := !m.running && (!m.suspended || m.system.len() > 0)
	m.running = m.running || begins
	return begins
}

func (m *mailbox) works() bool { return true }

// atOnce is how many messages are handled before others get their turn.
const atOnce = 64

func (m *mailbox) run() (again job) {
	for left := atOnce; left > 0; {
		if m.some(&left) {
			return nil
		}
	}
	return m
}

// some handles messages until there are none, enough, or one of them panicked.
func (m *mailbox) some(left *int) (empty bool) {
	var message any
	defer func() {
		// Nodes recover by themselves; this is for what protoactor does.
		if r := recover(); r != nil {
			m.invoker.EscalateFailure(r, message)
		}
	}()
	for ; *left > 0; *left-- {
		var system bool
		if message, system = m.next(); message == nil {
			return true
		}
		if system {
			m.invoker.InvokeSystemMessage(message)
		} else {
			m.invoker.InvokeUserMessage(message)
		}
	}
	return false
}

// next is the next message; without one the goroutine leaves.
func (m *mailbox) next() (message any, system bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for m.system.len() > 0 {
		message := m.system.pop()
		switch message.(type) {
		case *actor.SuspendMailbox:
			m.suspended = true
		case *actor.ResumeMailbox:
			m.suspended = false
		default:
			return message, true
		}
	}
	if !m.suspended && m.user.len() > 0 {
		return m.user.pop(), false
	}
	m.running = false
	m.system.items = nil // they are rare: no more than its few is kept for them
	if m.ended {
		m.invoker = nil
	}
	return nil, false
}

// end takes no more messages, and refuses those that nobody will handle.
func (m *mailbox) end() {
	m.mu.Lock()
	m.ended = true
	var late []any
	for m.user.len() > 0 {
		late = append(late, m.user.pop())
	}
	m.mu.Unlock()
	for _, message := range late {
		m.refuse(message)
	}
}

// refuse answers a request that came too late.
func (m *mailbox) refuse(message any) {
	_, message, sender := actor.UnwrapEnvelope(message)
	if _, again := message.(Refused); sender != nil && !again {
		m.sys.Actors.Root.Send(sender, Refused{ErrStopped})
	}
}

// queue is first in, first out. It keeps a small buffer. It must not be copied.
type queue struct {
	items []any // those before head are nil
	head  int
	few   [2]any // room for the first items
}

func (q *queue) len() int { return len(q.items) - q.head }

func (q *queue) push(x any) {
	if len(q.items) == cap(q.items) && q.head > len(q.items)/2 {
		n := copy(q.items, q.items[q.head:])
		clear(q.items[n:])
		q.items, q.head = q.items[:n], 0
	}
	if q.items == nil {
		q.items = q.few[:0]
	}
	grows := len(q.items) == cap(q.items)
	q.items = append(q.items, x)
	if grows {
		clear(q.few[:]) // they moved
	}
}

func (q *queue) pop() any {
	x := q.items[q.head]
	q.items[q.head] = nil
	q.head++
	if q.head == len(q.items) {
		q.items, q.head = q.items[:0], 0
		if cap(q.items) > 16 {
			q.items = nil // a burst is over
		}
	}
	return x
}
