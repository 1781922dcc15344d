package family

import (
	"log/slog"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/asynkron/protoactor-go/actor"
)

// recorder is what a mailbox drives.
type recorder struct {
	mu      sync.Mutex
	got     []any
	panicAt any
	failed  []any
	done    chan struct{} // closed at the message "last"
}

func (r *recorder) InvokeSystemMessage(m any) { r.take(m) }
func (r *recorder) InvokeUserMessage(m any)   { r.take(m) }

func (r *recorder) EscalateFailure(reason, message any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.failed = append(r.failed, message)
}

func (r *recorder) take(m any) {
	r.mu.Lock()
	r.got = append(r.got, m)
	r.mu.Unlock()
	if m == r.panicAt {
		panic("out of protoactor")
	}
	if m == "last" {
		close(r.done)
	}
}

func newRecorder(s *System) (*mailbox, *recorder) {
	r := &recorder{done: make(chan struct{})}
	m := newMailbox(s)
	m.RegisterHandlers(r, nil)
	return m, r
}

func testSystem(t *testing.T) *System {
	s := &System{
		Actors: actor.NewActorSystem(
			actor.WithLoggerFactory(func(*actor.ActorSystem) *slog.Logger { return slog.New(slog.DiscardHandler) }),
			actor.WithDeadLetterThrottleInterval(time.Millisecond)),
		Clock: SystemClock{}, Log: slog.New(slog.DiscardHandler),
	}
	t.Cleanup(func() { s.crew.dismiss() })
	return s
}

// TestMailboxOrder sends from many goroutines: nothing is lost, and what one
// sends arrives in its order.
func TestMailboxOrder(t *testing.T) {
	const senders, each = 8, 2000
	m, r := newRecorder(testSystem(t))
	var wg sync.WaitGroup
	for s := range senders {
		wg.Go(func() {
			for i := range each {
				m.PostUserMessage([2]int{s, i})
				m.PostUserMessage(nil) // is no message
			}
		})
	}
	wg.Wait()
	m.PostUserMessage("last")
	<-r.done
	next := map[int]int{}
	for _, x := range r.got[:len(r.got)-1] {
		p := x.([2]int)
		if p[1] != next[p[0]] {
			t.Fatalf("sender %d: message %d comes where %d should", p[0], p[1], next[p[0]])
		}
		next[p[0]]++
	}
	if len(r.got) != senders*each+1 || m.UserMessageCount() != 0 || m.highWater() == 0 {
		t.Errorf("%d messages, %d wait, high water %d", len(r.got), m.UserMessageCount(), m.highWater())
	}
}

// TestMailboxSystemFirst suspends, and has system messages overtake others.
func TestMailboxSystemFirst(t *testing.T) {
	m, r := newRecorder(testSystem(t))
	m.PostSystemMessage(&actor.SuspendMailbox{})
	m.PostUserMessage("user")
	m.PostSystemMessage("system")
	m.PostUserMessage("last")
	m.PostSystemMessage(&actor.ResumeMailbox{})
	<-r.done
	if want := []any{"system", "user", "last"}; len(r.got) != 3 || r.got[0] != want[0] || r.got[1] != want[1] {
		t.Errorf("%v, want %v", r.got, want)
	}
}

// TestMailboxPanic goes on after a panic that nobody recovered from.
func TestMailboxPanic(t *testing.T) {
	m, r := newRecorder(testSystem(t))
	r.panicAt = "bad"
	m.PostUserMessage("bad")
	m.PostUserMessage("last")
	<-r.done
	if len(r.failed) != 1 || r.failed[0] != "bad" {
		t.Errorf("escalated: %v", r.failed)
	}
}

// TestMailboxEnd answers what comes to a node that has ended.
func TestMailboxEnd(t *testing.T) {
	s := testSystem(t)
	m, _ := newRecorder(s)
	m.pid = actor.NewPID("nonhost", "ended")
	answers := make(chan any, 10)
	asker := s.Actors.Root.Spawn(actor.PropsFromFunc(func(c actor.Context) {
		switch x := c.Message().(type) {
		case Refused, *actor.Terminated:
			answers <- x
		}
	}))
	m.PostSystemMessage(&actor.SuspendMailbox{})
	m.PostUserMessage(&actor.MessageEnvelope{Message: "waits", Sender: asker})
	m.end()
	m.PostUserMessage(&actor.MessageEnvelope{Message: "late", Sender: asker})
	m.PostUserMessage(&actor.MessageEnvelope{Message: Refused{}, Sender: asker}) // is not answered
	for range 2 {
		if _, ok := (<-answers).(Refused); !ok {
			t.Error("a request was not refused")
		}
	}
	m.PostSystemMessage("nothing") // with it the mailbox lets go of its node
	for empty := false; !empty; runtime.Gosched() {
		m.mu.Lock()
		empty = m.invoker == nil
		m.mu.Unlock()
	}
	m.PostSystemMessage(&actor.Watch{Watcher: asker})
	if w, ok := (<-answers).(*actor.Terminated); !ok || w.Who.Id != "ended" {
		t.Errorf("a watcher is told %+v", w)
	}
	if err := s.Actors.Root.StopFuture(asker).Wait(); err != nil {
		t.Error(err)
	}
	if len(answers) > 0 {
		t.Errorf("too many answers: %v", <-answers)
	}
}

func TestQueueKeepsLittle(t *testing.T) {
	var q queue
	for round := range 3 {
		for i := range 1000 {
			q.push(i)
		}
		for i := range 1000 {
			if x := q.pop(); x != i {
				t.Fatalf("round %d: %v comes where %d should", round, x, i)
			}
		}
		if cap(q.items) > 16 {
			t.Errorf("an empty queue has room for %d", cap(q.items))
		}
	}
	for i := range 10_000 { // never empty, never long
		q.push(i)
		q.push(i)
		q.pop()
		q.pop()
		q.push(nil)
		q.pop()
	}
	if cap(q.items) > 64 {
		t.Errorf("a short queue has room for %d", cap(q.items))
	}
	q = queue{}
	for range len(q.few) + 1 {
		q.push("x")
	}
	if q.few != [2]any{} {
		t.Errorf("what moved is still held: %v", q.few)
	}
}

func TestBrood(t *testing.T) {
	for _, n := range []int{1, maxFew, maxFew + 1, 100} {
		var b brood
		for i := range n {
			b.add(&Node{Name: string(rune('a' + i%26)), pid: actor.NewPID("x", string(rune(i+1)))})
		}
		if len(b.list()) != n || b.remove("none") != nil {
			t.Errorf("%d: %d children", n, len(b.list()))
		}
		for i := range n {
			if k := b.remove(string(rune(i + 1))); k == nil || k.pid.Id != string(rune(i+1)) {
				t.Errorf("%d: child %d is %v", n, i, k)
			}
		}
		if len(b.list()) != 0 {
			t.Errorf("%d: %d are left", n, len(b.list()))
		}
	}
}
