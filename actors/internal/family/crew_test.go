package family

import (
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// testJob is an effect.
type testJob struct{ f func() }

func (testJob) works() bool { return false }

func (j testJob) run() job {
	j.f()
	return nil
}

// Effects that block keep nobody waiting: neither mailboxes nor each other,
// however many there are, and whoever was a worker when they came.
func TestCrewBlockedEffects(t *testing.T) {
	bubble(t, func(t *testing.T, s *System) {
		defer s.crew.dismiss()
		hold := make(chan struct{})
		var running, ran atomic.Int32
		n := 10 * runtime.GOMAXPROCS(0)
		ms := make([]*mailbox, n)
		for i := range ms {
			m := newMailbox(s)
			m.RegisterHandlers(invokes(func(any) {
				for range 3 {
					s.crew.post(testJob{func() { running.Add(1); <-hold }})
				}
				ran.Add(1)
			}), nil)
			ms[i] = m
		}
		for _, m := range ms {
			m.PostUserMessage("go")
		}
		synctest.Wait()
		if int(ran.Load()) != n || int(running.Load()) != 3*n {
			t.Errorf("%d of %d mailboxes ran, %d of %d effects", ran.Load(), n, running.Load(), 3*n)
		}
		for _, m := range ms {
			m.PostUserMessage("go")
		}
		synctest.Wait()
		if int(ran.Load()) != 2*n {
			t.Errorf("%d of %d mailboxes ran beside effects that block", ran.Load(), 2*n)
		}
		close(hold)
		synctest.Wait()
		if len(s.crew.active) != 0 || s.crew.ready.len() != 0 {
			t.Errorf("at the end %d workers, %d jobs", len(s.crew.active), s.crew.ready.len())
		}
	})
}

// A mailbox whose goroutine blocks in a join keeps nobody waiting.
func TestCrewLeave(t *testing.T) {
	bubble(t, func(t *testing.T, s *System) {
		defer s.crew.dismiss()
		hold := make(chan struct{})
		var joined, ran atomic.Int32
		for range 3 * runtime.GOMAXPROCS(0) {
			m := newMailbox(s)
			m.RegisterHandlers(invokes(func(any) {
				s.crew.leave(m)
				<-hold
				s.crew.enter(m)
				joined.Add(1)
			}), nil)
			m.PostUserMessage("go")
			other := newMailbox(s)
			other.RegisterHandlers(invokes(func(any) { ran.Add(1) }), nil)
			other.PostUserMessage("go")
		}
		synctest.Wait()
		if int(ran.Load()) != 3*runtime.GOMAXPROCS(0) || joined.Load() != 0 {
			t.Errorf("%d ran, %d joined", ran.Load(), joined.Load())
		}
		close(hold)
		synctest.Wait()
		if int(joined.Load()) != 3*runtime.GOMAXPROCS(0) || len(s.crew.active) != 0 {
			t.Errorf("%d joined, %d workers", joined.Load(), len(s.crew.active))
		}
	})
}

// Jobs that come from everywhere at once all run.
func TestCrewRunsAll(t *testing.T) {
	s := testSystem(t)
	const posters, each = 16, 2000
	var ran, wg sync.WaitGroup
	ran.Add(2 * posters * each)
	for range posters {
		m := newMailbox(s)
		m.RegisterHandlers(invokes(func(any) { ran.Done() }), nil)
		wg.Go(func() {
			for range each {
				m.PostUserMessage("x")
				s.crew.post(testJob{ran.Done})
			}
		})
	}
	wg.Wait()
	ran.Wait()
}

type invokes func(any)

func (f invokes) InvokeSystemMessage(m any)           { f(m) }
func (f invokes) InvokeUserMessage(m any)             { f(m) }
func (f invokes) EscalateFailure(reason, message any) { panic(reason) }

// A worker that blocks in spite of the rule, or is long, keeps others waiting for
// a moment only: jobs that come, jobs that came before, and who is to be woken;
// also where it is the only one, and while effects come and go.
func TestCrewStalled(t *testing.T) {
	for _, procs := range []int{1, 2, 8} {
		bubble(t, func(t *testing.T, s *System) {
			defer s.crew.dismiss()
			s.crew.procs = procs
			hold := make(chan struct{})
			var ran, woken atomic.Int32
			w := wakes(func() { woken.Add(1) })
			quick := func() *mailbox {
				m := newMailbox(s)
				m.RegisterHandlers(invokes(func(any) { ran.Add(1) }), nil)
				return m
			}
			blocking := make([]*mailbox, procs+1)
			for i := range blocking {
				m := newMailbox(s)
				m.RegisterHandlers(invokes(func(any) {
					s.Wake(&w)
					quick().PostUserMessage("go")
					<-hold
				}), nil)
				blocking[i] = m
				m.PostUserMessage("go")
			}
			// Each ends sooner than anybody loses patience, and makes a worker.
			for range 100 {
				m := quick()
				s.crew.post(testJob{func() { time.Sleep(patience / 2); m.PostUserMessage("go") }})
				time.Sleep(patience / 2)
			}
			quick().PostUserMessage("go")
			time.Sleep(10 * patience)
			if want := int32(procs + 1 + 100 + 1); ran.Load() != want || woken.Load() == 0 {
				t.Errorf("%d processors: beside workers that block %d of %d jobs ran, %d were woken", procs, ran.Load(), want, woken.Load())
			}
			close(hold)
			synctest.Wait()
			for _, m := range blocking { // those that did not count any more are workers again
				m.PostUserMessage("go")
			}
			synctest.Wait()
			if len(s.crew.active) != 0 || s.crew.ready.len() != 0 || int(ran.Load()) != 2*(procs+1)+101 {
				t.Errorf("%d processors: at the end %d workers, %d jobs wait, %d ran", procs, len(s.crew.active), s.crew.ready.len(), ran.Load())
			}
		})
	}
}

// Who waits outside is woken when there is no more work, before a worker blocks,
// and after many jobs.
func TestCrewWakes(t *testing.T) {
	bubble(t, func(t *testing.T, s *System) {
		defer s.crew.dismiss()
		var woken atomic.Int32
		w := wakes(func() { woken.Add(1) })
		m := newMailbox(s)
		var jobs int
		m.RegisterHandlers(invokes(func(x any) {
			s.Wake(&w)
			s.Wake(&w)
			switch x {
			case "block":
				s.crew.leave(m)
				if woken.Load() != 1 {
					t.Errorf("woken %d times before a worker blocks", woken.Load())
				}
				s.crew.enter(m)
			case "many":
				var f invokes
				f = func(any) {
					if jobs++; jobs < 10*wakeAfter {
						next := newMailbox(s)
						next.RegisterHandlers(f, nil)
						next.PostUserMessage("x")
					} else if woken.Load() == 0 {
						t.Errorf("nobody was woken in %d jobs", jobs)
					}
				}
				f("x")
			}
		}), nil)
		for _, x := range []string{"idle", "block", "many"} {
			woken.Store(0)
			m.PostUserMessage(x)
			synctest.Wait()
			if n := woken.Load(); n != 1 {
				t.Errorf("%s: woken %d times", x, n)
			}
		}
	})
}

type wakes func()

func (f *wakes) Wake() { (*f)() }

// A mailbox that is never empty leaves others, and who waits outside, their turns.
func TestCrewIsFair(t *testing.T) {
	s := testSystem(t)
	s.crew.procs = 1
	var stop atomic.Bool
	var woken atomic.Int32
	w := wakes(func() { woken.Add(1) })
	flood := newMailbox(s)
	ended := make(chan struct{})
	flood.RegisterHandlers(invokes(func(any) {
		s.Wake(&w)
		if stop.Load() {
			close(ended)
			return
		}
		flood.PostUserMessage("more")
	}), nil)
	flood.PostUserMessage("more")
	const others = 100
	var wg sync.WaitGroup
	wg.Add(others)
	for range others {
		m := newMailbox(s)
		m.RegisterHandlers(invokes(func(any) { wg.Done() }), nil)
		m.PostUserMessage("go")
	}
	wg.Wait()
	for woken.Load() == 0 {
		runtime.Gosched()
	}
	stop.Store(true)
	<-ended
}
