package family

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/asynkron/protoactor-go/actor"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// newSystem makes a system whose own log is silent. Its dead-letter throttle
// is short, so that no bubble has to outlast it.
func newSystem(t testing.TB) *System {
	silent := slog.New(slog.NewTextHandler(io.Discard, nil))
	as := actor.NewActorSystem(actor.WithLoggerFactory(func(*actor.ActorSystem) *slog.Logger { return silent }),
		actor.WithDeadLetterThrottleInterval(time.Millisecond))
	t.Cleanup(func() { as.Shutdown() })
	return &System{Actors: as, Clock: SystemClock{}, Log: silent, Grace: 100 * time.Millisecond}
}

// bubble runs a test with virtual time and checks that nothing is left.
func bubble(t *testing.T, f func(t *testing.T, s *System)) {
	synctest.Test(t, func(t *testing.T) {
		s := newSystem(t)
		f(t, s)
		time.Sleep(10 * time.Millisecond) // past the dead-letter throttle
		for _, k := range Kinds() {
			if n := s.Live(k); n != 0 {
				t.Errorf("%d %s actors are alive", n, k)
			}
		}
		if n := s.Effects.Load(); n != 0 {
			t.Errorf("%d goroutines are alive", n)
		}
	})
}

type behave func(n *Node, c actor.Context, m any)

func (f behave) Receive(n *Node, c actor.Context, m any) { f(n, c, m) }

func root(t *testing.T, s *System, f behave) *Node {
	t.Helper()
	n, err := s.SpawnRoot(context.Background(), Spec{Kind: KindEngine, Behavior: f})
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func nothing(*Node, actor.Context, any) {}

func TestStopEndsAllBelowFirst(t *testing.T) {
	bubble(t, func(t *testing.T, s *System) {
		var ended atomic.Int32
		var grow func(depth int) behave
		grow = func(depth int) behave {
			return func(n *Node, c actor.Context, m any) {
				if _, ok := m.(Started); !ok {
					return
				}
				n.Go("wait", func(ctx context.Context) any {
					<-ctx.Done()
					time.Sleep(20 * time.Millisecond) // slow to let go
					ended.Add(1)
					return nil
				})
				for range 3 {
					if depth > 0 {
						if _, err := n.Spawn(c, Spec{Kind: KindTask, Behavior: grow(depth - 1)}); err != nil {
							t.Error(err)
						}
					}
				}
			}
		}
		n := root(t, s, grow(3))
		synctest.Wait()
		if got := s.Effects.Load(); got != 40 {
			t.Fatalf("%d goroutines run, want 40", got)
		}
		start := time.Now()
		n.Cancel(errors.New("enough"))
		<-n.Done()
		if got := ended.Load(); got != 40 {
			t.Errorf("Done came after %d of 40 goroutines", got)
		}
		if d := time.Since(start); d > 25*time.Millisecond {
			t.Errorf("the levels were stopped one after another: %v", d)
		}
		if err := n.Err(); err == nil || err.Error() != "enough" {
			t.Errorf("Err = %v, want the cause", err)
		}
	})
}

func TestStopWithoutCauseIsNoError(t *testing.T) {
	bubble(t, func(t *testing.T, s *System) {
		n := root(t, s, nothing)
		n.Stop()
		<-n.Done()
		if n.Err() != nil {
			t.Errorf("Err = %v", n.Err())
		}
	})
}

func TestDeadline(t *testing.T) {
	bubble(t, func(t *testing.T, s *System) {
		start := time.Now()
		n, err := s.SpawnRoot(context.Background(), Spec{Kind: KindEngine, Timeout: time.Hour, Behavior: behave(nothing)})
		if err != nil {
			t.Fatal(err)
		}
		<-n.Done()
		if !errors.Is(n.Err(), context.DeadlineExceeded) || time.Since(start) != time.Hour {
			t.Errorf("ended after %v with %v", time.Since(start), n.Err())
		}
	})
}

func TestPanicsEndTheNode(t *testing.T) {
	where := map[string]behave{
		"Started":  func(_ *Node, _ actor.Context, m any) { panicOn[Started](m) },
		"Stopping": func(_ *Node, _ actor.Context, m any) { panicOn[Stopping](m) },
		"message":  func(_ *Node, _ actor.Context, m any) { panicOn[string](m) },
		"goroutine": func(n *Node, _ actor.Context, m any) {
			if _, ok := m.(string); ok {
				n.Go("boom", func(context.Context) any { panic("at the edge") })
			}
		},
	}
	for name, f := range where {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, s *System) {
				var ends []error
				var child *Node
				n := root(t, s, func(n *Node, c actor.Context, m any) {
					switch m := m.(type) {
					case Started:
						child, _ = n.Spawn(c, Spec{Kind: KindAgent, Name: "a", Behavior: f})
						n.Request(c, child.PID(), "go")
					case ChildEnded:
						ends = append(ends, m.Err)
					}
				})
				synctest.Wait()
				child.Stop()
				<-child.Done()
				synctest.Wait()
				n.Stop()
				<-n.Done()
				var p *PanicError
				if len(ends) != 1 || !errors.As(ends[0], &p) || len(p.Stack) == 0 {
					t.Errorf("the parent heard %v, want one *PanicError with a stack", ends)
				}
			})
		})
	}
}

func panicOn[T any](m any) {
	if _, ok := m.(T); ok {
		panic(fmt.Sprintf("handling %T", m))
	}
}

func TestPanicAnswersTheRequest(t *testing.T) {
	bubble(t, func(t *testing.T, s *System) {
		n := root(t, s, func(_ *Node, _ actor.Context, m any) { panicOn[string](m) })
		r, err := s.Actors.Root.RequestFuture(n.PID(), "x", time.Minute).Result()
		if _, ok := r.(Refused); !ok || err != nil {
			t.Errorf("answer %v, %v; want Refused", r, err)
		}
		<-n.Done()
	})
}

func TestStoppingRefuses(t *testing.T) {
	bubble(t, func(t *testing.T, s *System) {
		hold := make(chan struct{})
		var spawnErr error
		n := root(t, s, func(n *Node, c actor.Context, m any) {
			switch m.(type) {
			case Started:
				if _, err := n.Spawn(c, Spec{Kind: KindAgent, Behavior: behave(func(n *Node, _ actor.Context, m any) {
					if _, ok := m.(Started); ok {
						n.Go("hold", func(context.Context) any { <-hold; return nil })
					}
				})}); err != nil {
					t.Error(err)
				}
			case Stopping:
				_, spawnErr = n.Spawn(c, Spec{Kind: KindAgent, Behavior: behave(nothing)})
			}
		})
		synctest.Wait()
		n.Stop()
		synctest.Wait()
		r, err := s.Actors.Root.RequestFuture(n.PID(), "too late", 50*time.Millisecond).Result()
		if _, ok := r.(Refused); !ok || err != nil {
			t.Errorf("answer %v, %v; want Refused", r, err)
		}
		close(hold)
		<-n.Done()
		if !errors.Is(spawnErr, ErrStopping) {
			t.Errorf("Spawn while stopping: %v", spawnErr)
		}
	})
}

func TestAbandonedGoroutineIsNamed(t *testing.T) {
	bubble(t, func(t *testing.T, s *System) {
		hold := make(chan struct{})
		n := root(t, s, func(n *Node, _ actor.Context, m any) {
			if _, ok := m.(Started); ok {
				n.Go("deaf", func(context.Context) any { <-hold; return nil })
			}
		})
		synctest.Wait()
		start := time.Now()
		n.Cancel(errors.New("x"))
		<-n.Done()
		var a *AbandonedError
		if d := time.Since(start); d != s.Grace || !errors.As(n.Err(), &a) || !strings.Contains(a.Error(), "deaf") || s.Abandoned.Load() != 1 {
			t.Errorf("ended after %v, %v, %d abandoned", d, n.Err(), s.Abandoned.Load())
		}
		close(hold)
		synctest.Wait()
	})
}

func TestAfterAndItsUndo(t *testing.T) {
	bubble(t, func(t *testing.T, s *System) {
		var got []any
		n := root(t, s, func(n *Node, _ actor.Context, m any) {
			switch m := m.(type) {
			case Started:
				n.After(time.Second, 1)
				undo := n.After(2*time.Second, 2)
				undo()
				undo()
				n.After(time.Hour, 3)
			case int:
				got = append(got, m)
			}
		})
		time.Sleep(time.Minute)
		n.Stop()
		<-n.Done()
		if len(got) != 1 || got[0] != 1 {
			t.Errorf("fired %v, want [1]", got)
		}
	})
}

func TestTreeAndTrace(t *testing.T) {
	bubble(t, func(t *testing.T, s *System) {
		var mu sync.Mutex
		var seen []string
		s.Trace = func(tr Trace) {
			mu.Lock()
			defer mu.Unlock()
			seen = append(seen, fmt.Sprintf("%s>%s %T", tr.From, tr.To, tr.Message))
		}
		n := root(t, s, func(n *Node, c actor.Context, m any) {
			if _, ok := m.(Started); ok {
				child, _ := n.Spawn(c, Spec{Kind: KindAgent, Name: "a1", Behavior: behave(func(n *Node, c actor.Context, m any) {
					if m == any("hi") {
						n.SetState("greeted")
						n.Request(c, c.Sender(), 42)
					}
				})})
				n.Request(c, child.PID(), "hi")
			}
		})
		synctest.Wait()
		i := n.Info()
		if len(i.Children) != 1 || i.Children[0].State != "greeted" || i.Children[0].Last != "string" || i.Children[0].Name != "a1" {
			t.Errorf("tree %+v", i)
		}
		n.Stop()
		<-n.Done()
		all := strings.Join(seen, "\n")
		for _, want := range []string{"engine>agent string", "agent>engine int"} {
			if !strings.Contains(all, want) {
				t.Errorf("no %q in\n%s", want, all)
			}
		}
	})
}

// TestRandomTrees grows random families and ends them at random moments.
func TestRandomTrees(t *testing.T) {
	for seed := range uint64(200) {
		bubble(t, func(t *testing.T, s *System) {
			r := rand.New(rand.NewPCG(seed, 1))
			depth, width, ms := r.IntN(4), r.IntN(4), time.Duration(r.IntN(30))
			var grow func(d int) behave
			grow = func(d int) behave {
				return func(n *Node, c actor.Context, m any) {
					switch m.(type) {
					case Started:
						n.Go("sleep", func(ctx context.Context) any {
							select {
							case <-time.After(10 * time.Millisecond):
								return "grow"
							case <-ctx.Done():
								return nil
							}
						})
						n.After(15*time.Millisecond, "grow")
					case string:
						for range width {
							if d > 0 {
								_, _ = n.Spawn(c, Spec{Kind: KindTask, Behavior: grow(d - 1)}) // refused when stopping
							}
						}
					}
				}
			}
			n := root(t, s, grow(depth))
			time.Sleep(ms * time.Millisecond)
			n.Cancel(errors.New("now"))
			<-n.Done()
		})
	}
}

func BenchmarkSpawnStop(b *testing.B) {
	s := newSystem(b)
	b.ReportAllocs()
	for b.Loop() {
		n, err := s.SpawnRoot(context.Background(), Spec{Kind: KindAgent, Behavior: behave(nothing)})
		if err != nil {
			b.Fatal(err)
		}
		n.Stop()
		<-n.Done()
	}
}
