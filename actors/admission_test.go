package actors_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"clm/actors"
	"clm/actors/msg"
	"clm/llm/llmtest"
)

// crowd is agents that submit at an engine that runs few turns at once.
type crowd struct {
	*rig
	agents    []*actors.Agent
	listeners []*actors.Listener
}

// slow is an answer that takes 100 ms.
const slow = "!sleep 100\n" + ok

func crowded(t *testing.T, agents int, o actors.Options, f func(c *crowd)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		c := &crowd{rig: newRig(t, o, slices.Repeat([]string{slow}, 100)...)}
		for range agents {
			a, l := c.spawn(actors.AgentOptions{})
			c.agents, c.listeners = append(c.agents, a), append(c.listeners, l)
		}
		f(c)
		c.close()
		if l := c.engine.Load(); l.Running+l.Queued != 0 {
			t.Errorf("after the engine's end %+v", l)
		}
	})
}

// submit has an agent say something, and waits until that has had its effect.
func (c *crowd) submit(agent int, prompt string) error {
	_, err := c.agents[agent].Submit(prompt)
	synctest.Wait()
	return err
}

// submits has the agents say their numbers, one after the other.
func (c *crowd) submits(agents ...int) {
	c.Helper()
	for _, i := range agents {
		if err := c.submit(i, fmt.Sprint(i)); err != nil {
			c.Fatalf("agent %d: %v", i, err)
		}
	}
}

// asked is what the model was asked, in order.
func (c *crowd) asked() (prompts []string) {
	for _, q := range c.model.Requests() {
		said := q.JSON()["messages"].([]any)
		prompts = append(prompts, said[len(said)-1].(map[string]any)["content"].(string))
	}
	return prompts
}

func (c *crowd) wantLoad(running, queued int, refused int64) {
	c.Helper()
	if l := c.engine.Load(); l != (actors.Load{Running: running, Queued: queued, Refused: refused}) {
		c.Errorf("the load is %+v, want %d running, %d queued, %d refused", l, running, queued, refused)
	}
}

func (c *crowd) wantAsked(want string) {
	c.Helper()
	if got := strings.Join(c.asked(), " "); got != want {
		c.Errorf("the model was asked %q, want %q", got, want)
	}
}

// Turns wait in the order in which they came. Who has had a turn stands behind
// those who waited meanwhile, however it asked.
func TestQueueIsFair(t *testing.T) {
	crowded(t, 4, actors.Options{MaxTurns: 1, MaxQueued: 9}, func(c *crowd) {
		c.submits(0, 1, 2)
		if err := c.agents[0].Notify("0 again"); err != nil {
			c.Fatal(err)
		}
		c.wantLoad(1, 2, 0)
		if s := c.agents[1].State(); s != msg.StateQueued {
			c.Errorf("a turn that waits is %v", s)
		}
		if tree := c.agents[1].Tree(); tree.State != "QUEUED" || len(tree.Children) != 1 || tree.Children[0].State != "QUEUED" {
			c.Errorf("a turn that waits is pictured as %+v", tree)
		}
		if err := c.submit(1, "more"); !errors.Is(err, actors.ErrBusy) {
			c.Errorf("a second turn of an agent that waits: %v", err)
		}
		c.end(c.listeners[0], 1)
		synctest.Wait()
		c.submits(3)
		for i, l := range c.listeners {
			d, events := c.end(l, 1+uint64(b2i(i == 0)))
			if d.Status != "done" {
				c.Errorf("agent %d: %+v", i, d)
			}
			if got, want := states(events), "QUEUED THINKING COMPLETE"; got != want {
				c.Errorf("agent %d: states %s, want %s", i, got, want)
			}
		}
		c.wantAsked("0 1 2 0 again 3")
	})
}

func b2i(b bool) int {
	if b {
		return 1
	}
	return 0
}

func states(events []actors.Event) string {
	var out []string
	for _, e := range events {
		if s, is := e.Data.(msg.StateChanged); is {
			out = append(out, s.State.String())
		}
	}
	return strings.Join(out, " ")
}

// Whoever finds the queue full is told at once, and may come again.
func TestQueueIsBounded(t *testing.T) {
	crowded(t, 5, actors.Options{MaxTurns: 2, MaxQueued: 2}, func(c *crowd) {
		c.submits(0, 1, 2, 3)
		if err := c.submit(4, "4"); !errors.Is(err, actors.ErrOverloaded) || !strings.Contains(err.Error(), "2 turns wait") {
			c.Errorf("past the bound: %v", err)
		}
		c.wantLoad(2, 2, 1)
		c.end(c.listeners[0], 1)
		c.end(c.listeners[1], 1)
		synctest.Wait()
		c.submits(4)
		c.wantLoad(2, 1, 1)
		for _, l := range c.listeners[2:] {
			if d, _ := c.end(l, 1); d.Status != "done" {
				c.Errorf("%+v", d)
			}
		}
		c.wantLoad(0, 0, 1)
		if n := c.model.Parallel(); n != 2 {
			c.Errorf("%d turns ran at once", n)
		}
	})
}

// A turn that waits is cancelled like any other: it ends once, never asks, and
// what was said stays said.
func TestCancelWhileQueued(t *testing.T) {
	crowded(t, 4, actors.Options{MaxTurns: 1, MaxQueued: 3}, func(c *crowd) {
		c.submits(0, 1, 2, 3)
		if err := c.agents[1].Cancel(); err != nil {
			c.Fatal(err)
		}
		d, _ := c.end(c.listeners[1], 1)
		if d.Status != "canceled" || !errors.Is(d.Err, actors.ErrCanceled) {
			c.Errorf("%+v", d)
		}
		c.wantLoad(1, 2, 0)
		c.submits(1) // behind the others now
		for i, l := range c.listeners {
			if d, _ := c.end(l, 1+uint64(b2i(i == 1))); d.Status != "done" {
				c.Errorf("agent %d: %+v", i, d)
			}
		}
		c.wantAsked("0 2 3 1")
		h, err := c.agents[1].History()
		if err != nil || len(h) != 3 || h[0].Content != "1" || h[1].Content != "1" {
			c.Errorf("the conversation is %+v, %v", h, err)
		}
	})
}

// What an agent is told while its turn waits comes in order: steering joins the
// turn, a notification starts the next one.
func TestTextWhileQueued(t *testing.T) {
	crowded(t, 2, actors.Options{MaxTurns: 1, MaxQueued: 1}, func(c *crowd) {
		c.submits(0, 1)
		if n, err := c.agents[1].Steer("steered"); err != nil || n != 1 {
			c.Errorf("steering is for turn %d, %v", n, err)
		}
		if err := c.agents[1].Notify("noted"); err != nil {
			c.Error(err)
		}
		for n := range 2 {
			c.end(c.listeners[1], uint64(n+1))
		}
		h, err := c.agents[1].History()
		if err != nil {
			c.Fatal(err)
		}
		var got []string
		for _, m := range h {
			got = append(got, m.Content)
		}
		if want := "1 steered ok noted ok"; strings.Join(got, " ") != want {
			c.Errorf("the conversation is %q, want %q", got, want)
		}
	})
}

// Agents and engines that stop end turns that wait, each once.
func TestStopWhileQueued(t *testing.T) {
	crowded(t, 12, actors.Options{MaxTurns: 1, MaxQueued: 20}, func(c *crowd) {
		c.submits(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11)
		if err := c.agents[5].Stop(context.Background()); err != nil {
			c.Error(err)
		}
		c.wantLoad(1, 10, 0)
		if err := c.engine.Stop(context.Background()); err != nil {
			c.Error(err)
		}
		for i, l := range c.listeners {
			if d, _ := c.end(l, 1); d.Status != "canceled" || !errors.Is(d.Err, actors.ErrStopped) {
				c.Errorf("agent %d: %+v", i, d)
			}
			if e, err := l.Next(context.Background()); err == nil {
				c.Errorf("agent %d: after the turn's end comes %+v", i, e)
			}
		}
		c.wantAsked("0")
	})
}

// A compaction waits like any turn, and one that finds nothing to do gives its
// place to the next.
func TestCompactionQueues(t *testing.T) {
	crowded(t, 3, actors.Options{MaxTurns: 1, MaxQueued: 2}, func(c *crowd) {
		c.submits(0)
		if _, err := c.agents[1].Compact(); err != nil {
			c.Fatal(err)
		}
		c.submits(2)
		c.wantLoad(1, 2, 0)
		if d, _ := c.end(c.listeners[1], 1); !errors.Is(d.Err, actors.ErrNothingToCompact) {
			c.Errorf("%+v", d)
		}
		if d, _ := c.end(c.listeners[2], 1); d.Status != "done" {
			c.Errorf("%+v", d)
		}
	})
}

// A turn whose sub-agents had to wait for its own end would never end.
func TestSubAgentsDoNotQueue(t *testing.T) {
	bubble(t, actors.Options{MaxTurns: 1, MaxQueued: 1}, func(r *rig) {
		a, l := r.spawn(actors.AgentOptions{SubAgents: helper(actors.AgentOptions{})})
		if d, events := r.turn(a, l, "go"); d.Status != "done" || results(events)["s1"] != "ok" {
			r.Errorf("%+v, results %v", d, results(events))
		}
		if got := r.engine.Load(); got != (actors.Load{}) {
			r.Errorf("the load is %+v", got)
		}
	}, delegate("s1"), ok, ok)
}

// A server that slows down the more it is asked at once is not asked more than
// it can bear: at three times its capacity the turns that run take as long as
// without any load, those that wait do so for a bounded time, and the others are
// told at once. Without limits, turns take longer and longer.
func TestOverload(t *testing.T) {
	const capacity, queued, service = 10, 20, 100 * time.Millisecond
	for name, limited := range map[string]bool{"limited": true, "unlimited": false} {
		t.Run(name, func(t *testing.T) {
			var o actors.Options
			if limited {
				o = actors.Options{MaxTurns: capacity, MaxQueued: queued}
			}
			synctest.Test(t, func(t *testing.T) {
				r := newRig(t, o)
				defer r.close()
				r.model.Reply = func(*llmtest.Request) string {
					return fmt.Sprintf("!sleep %d\n%s", service.Milliseconds()*int64(max(capacity, r.model.Active()))/capacity, ok)
				}
				var mu sync.Mutex
				var done int
				var waited, ran time.Duration                           // at most
				for range 3 * 5 * int64(capacity*time.Second/service) { // three times the capacity, for five seconds
					time.Sleep(service / (3 * capacity))
					a, l := r.spawn(actors.AgentOptions{})
					if _, err := a.Submit("go"); errors.Is(err, actors.ErrOverloaded) {
						continue
					} else if err != nil {
						t.Fatal(err)
					}
					begun := time.Now()
					go func() {
						d, events := r.end(l, 1)
						mu.Lock()
						defer mu.Unlock()
						for _, e := range events {
							if s, is := e.Data.(msg.StateChanged); is && s.State == msg.StateThinking {
								waited, ran = max(waited, e.Time.Sub(begun)), max(ran, time.Since(e.Time))
							}
						}
						if d.Status == "done" {
							done++
						}
					}()
					synctest.Wait()
				}
				time.Sleep(time.Hour)
				synctest.Wait()
				load := r.engine.Load()
				t.Logf("%d turns done, %d refused; the longest wait was %v, the longest turn %v", done, load.Refused, waited, ran)
				if !limited {
					if ran < 10*service {
						t.Errorf("turns took %v at most: the server is not overloaded", ran)
					}
					return
				}
				if ran != service || waited > service*queued/capacity {
					t.Errorf("turns waited for %v and ran for %v at most, want %v and %v", waited, ran, service*queued/capacity, service)
				}
				if done+int(load.Refused) != 1500 || done < 500 || done > 500+capacity+queued {
					t.Errorf("%d turns are done and %d refused of 1500; the capacity was 500", done, load.Refused)
				}
			})
		})
	}
}

// heap is what an engine believes to be on the heap.
type heap struct{ objects, live atomic.Int64 }

func (h *heap) set(objects, live int64) {
	h.objects.Store(objects)
	h.live.Store(live)
}

// When memory is short turns wait for others to end, and come back in twos.
func TestQueueForMemory(t *testing.T) {
	const limit = 100
	var h heap
	crowded(t, 9, actors.Options{MaxMemory: limit, MaxQueued: 6}, func(c *crowd) {
		actors.SetHeap(c.engine, h.objects.Load, h.live.Load)
		c.submits(0, 1)
		h.set(limit+1, 0)
		c.submits(2, 3, 4, 5, 6, 7)
		c.wantLoad(2, 6, 0)
		time.Sleep(10 * time.Millisecond)
		h.set(limit, 0)
		c.submits(8) // nobody overtakes, room or not
		c.wantLoad(4, 5, 0)
		c.end(c.listeners[0], 1)
		c.end(c.listeners[1], 1)
		synctest.Wait()
		c.wantLoad(6, 1, 0)
		for _, l := range c.listeners[2:] {
			if d, _ := c.end(l, 1); d.Status != "done" {
				c.Errorf("%+v", d)
			}
		}
		c.wantLoad(0, 0, 0)
		if got := c.asked(); len(got) != 9 || got[8] != "8" {
			c.Errorf("the model was asked %q", got)
		}
	})
}

// When no turn runs any more whose end could free memory, garbage is collected;
// if that was not it, those who wait are refused.
func TestQueueForMemoryEnds(t *testing.T) {
	const limit = 100
	for name, after := range map[string]int64{"garbage": limit, "held": limit + 1} {
		t.Run(name, func(t *testing.T) {
			var h heap
			watch := func(m actors.Trace) {
				if fmt.Sprintf("%T", m.Message) == "actors.garbageCollected" {
					h.set(after, after)
				}
			}
			crowded(t, 4, actors.Options{MaxMemory: limit, MaxQueued: 3, Watch: watch}, func(c *crowd) {
				actors.SetHeap(c.engine, h.objects.Load, h.live.Load)
				c.submits(0)
				h.set(limit+1, limit)
				c.submits(1, 2)
				c.wantLoad(1, 2, 0)
				for _, l := range c.listeners[:3] {
					d, _ := c.end(l, 1)
					switch {
					case l == c.listeners[0] || after == limit:
						if d.Status != "done" {
							c.Errorf("%+v", d)
						}
					case d.Status != "failed" || d.Kind != "overloaded" || !errors.Is(d.Err, actors.ErrOverloaded):
						c.Errorf("%+v", d)
					}
				}
				if after == limit {
					c.submits(3)
					c.wantLoad(1, 0, 0)
					return
				}
				if err := c.submit(3, "3"); !errors.Is(err, actors.ErrOverloaded) {
					c.Errorf("the heap is full and no turn runs: %v", err)
				}
				c.wantLoad(0, 0, 3)
			})
		})
	}
}

// A notification that nobody would hear the refusal of, as that of a job's end, is
// not lost when no turn may begin: it joins the next one.
func TestNotificationThatIsRefused(t *testing.T) {
	system := actor.NewActorSystem(silent...)
	defer system.Shutdown()
	r := newRig(t, actors.Options{System: system, MaxTurns: 1})
	r.model.Reply = func(q *llmtest.Request) string {
		if strings.Contains(string(q.Body), "keep busy") {
			return "!hang\n"
		}
		return ok
	}
	defer r.close()
	busy, lb := r.spawn(actors.AgentOptions{})
	n, err := busy.Submit("keep busy")
	if err != nil {
		t.Fatal(err)
	}
	a, l := r.spawn(actors.AgentOptions{})
	if err := a.Notify("said by who hears"); !errors.Is(err, actors.ErrOverloaded) {
		t.Errorf("a notification was accepted: %v", err)
	}
	system.Root.Send(a.PID(), msg.Notify{Text: "the job has ended"})
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if e, err := l.Next(ctx); err != nil || !strings.Contains(fmt.Sprint(e.Data), "joins the next one") {
		t.Errorf("%+v, %v", e, err)
	}
	if err := busy.Cancel(); err != nil {
		t.Fatal(err)
	}
	r.end(lb, n)
	r.turn(a, l, "and?")
	h, err := a.History()
	if err != nil || len(h) != 3 || h[0].Content != "the job has ended" || h[1].Content != "and?" {
		t.Errorf("%+v, %v", h, err)
	}
}
