package actors_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"clm/actors"
	"clm/actors/internal/family"
	"clm/actors/internal/vm"
)

// oneCall is a turn with a Lua call that uses all kinds of actors.
const oneCall = `
local a = clm.spawn(function() return http.get("http://web/slow/30/A").body end)
local b = clm.spawn(function() clm.sleep(20) return "B" end)
local o = clm.await_all({ a, b })
ctx:complete(o[1].value .. o[2].value .. http.get("http://web/text/C").body)`

var oneCallReplies = []string{"!tool c1 t {}\n!finish tool_calls\n", "!text all done\n!finish stop\n"}

// TestTrace shows the messages of one tool call: each request goes to a higher
// rank, each answer comes back once.
func TestTrace(t *testing.T) {
	var mu sync.Mutex
	var seen []actors.Trace
	watch := func(m actors.Trace) {
		mu.Lock()
		defer mu.Unlock()
		seen = append(seen, m)
	}
	bubble(t, actors.Options{Watch: watch}, func(r *rig) {
		a, l := r.spawn(actors.AgentOptions{Tools: r.tools(nil, lua("t", oneCall))})
		d, events := r.turn(a, l, "go")
		if d.Status != "done" || results(events)["c1"] != "ABC" {
			r.Fatalf("%+v, results %v", d, results(events))
		}
		r.idle()
	}, oneCallReplies...)

	answers := map[string]string{
		"msg.RunTurn": "msg.TurnEnded", "msg.AskModel": "msg.ModelAnswered", "msg.RunTool": "msg.ToolDone",
		"vm.Lend": "vm.Lent", "vm.RunTask": "vm.TaskDone", "vm.RunRequest": "vm.RequestDone",
	}
	count := map[string]int{}
	for _, m := range seen {
		name := fmt.Sprintf("%T", m.Message)
		if m.From != family.KindOutside { // the own edge's and timers' messages have no sender
			count[name]++
		}
		if _, request := answers[name]; request && m.From >= m.To {
			t.Errorf("%s goes from %s down to %s", name, m.From, m.To)
		}
	}
	want := map[string]int{
		"msg.RunTurn": 1, "msg.AskModel": 2, "msg.RunTool": 1, "vm.RunTask": 3, "vm.RunRequest": 3,
		"msg.PrepareTool": 1, "msg.ToolPrepared": 1,
	}
	for name, n := range want {
		if count[name] != n {
			t.Errorf("%d messages %s, want %d", count[name], name, n)
		}
	}
	for request, answer := range answers {
		if count[request] != count[answer] {
			t.Errorf("%d %s but %d %s", count[request], request, count[answer], answer)
		}
	}
	if count[fmt.Sprintf("%T", vm.Return{})] != count["vm.Lent"] {
		t.Errorf("%d VMs lent, %d given back", count["vm.Lent"], count["vm.Return"])
	}
}

// cancelAt runs the turn and cancels it when the nth message is received, or
// not if there are fewer. It returns how many there were.
func cancelAt(t *testing.T, n int64, delay time.Duration) int64 {
	var got atomic.Int64
	var agent atomic.Pointer[actors.Agent]
	hit := make(chan struct{}, 1)
	watch := func(actors.Trace) {
		if agent.Load() != nil && got.Add(1) == n {
			hit <- struct{}{}
		}
	}
	synctest.Test(t, func(t *testing.T) {
		hit = make(chan struct{}, 1)
		r := newRig(t, actors.Options{Watch: watch}, oneCallReplies...)
		a, l := r.spawn(actors.AgentOptions{Tools: r.tools(nil, lua("t", oneCall))})
		agent.Store(a)
		stop := make(chan struct{})
		gone := make(chan struct{})
		go func() {
			defer close(gone)
			select {
			case <-hit:
				time.Sleep(delay)
				if err := a.Cancel(); err != nil && !errors.Is(err, actors.ErrNoTurn) {
					t.Errorf("cancel at message %d: %v", n, err)
				}
			case <-stop:
			}
		}()
		d, _ := r.turn(a, l, "go")
		total := got.Load()
		close(stop)
		<-gone
		if d.Status == "canceled" && !errors.Is(d.Err, syscall.ECANCELED) {
			t.Errorf("cancel at message %d: %v", n, d.Err)
		} else if d.Status == "failed" {
			t.Errorf("cancel at message %d: %+v", n, d)
		}
		r.idle()
		// The history must be whole: the next turn is accepted with it.
		h, err := a.History()
		if err != nil {
			t.Errorf("cancel at message %d: %v", n, err)
		}
		open := map[string]bool{}
		for _, m := range h {
			for _, c := range m.ToolCalls {
				open[c.ID] = true
			}
			delete(open, m.ToolCallID)
		}
		if len(open) != 0 {
			t.Errorf("cancel at message %d: calls without a result: %v", n, open)
		}
		r.close()
		got.Store(total)
	})
	return got.Load()
}

func TestCancelAtEveryMessage(t *testing.T) {
	total := cancelAt(t, -1, 0)
	if total < 50 {
		t.Fatalf("only %d messages", total)
	}
	for n := range total {
		cancelAt(t, n+1, 0)
	}
}

func TestCancelAtRandom(t *testing.T) {
	rounds := 1000
	if testing.Short() {
		rounds = 50
	}
	for seed := range uint64(rounds) {
		r := rand.New(rand.NewPCG(seed, 0))
		cancelAt(t, r.Int64N(80), time.Duration(r.IntN(40))*time.Millisecond)
		if t.Failed() {
			t.Fatalf("seed %d", seed)
		}
	}
}

// TestCancelReachesAll cancels 160 descendants with requests in flight and Lua
// that computes.
func TestCancelReachesAll(t *testing.T) {
	r := newRig(t, actors.Options{}, fanOut(8)+"!finish tool_calls\n")
	body := `
local ts = {}
for i = 1, 7 do ts[i] = clm.spawn(function() http.get("http://web/hang") end) end
ts[8] = clm.spawn(function() clm.sleep(100) while true do end end)
clm.await_all(ts)`
	a, l := r.spawn(actors.AgentOptions{Tools: r.tools(nil, lua("t", body))})
	turn, err := a.Submit("go")
	if err != nil {
		t.Fatal(err)
	}
	deadline := time.Now().Add(20 * time.Second)
	for r.web.active.Load() < 8 && time.Now().Before(deadline) { // 8 in flight: the plugin's limit
		time.Sleep(time.Millisecond)
	}
	start := time.Now()
	if err := a.Cancel(); err != nil {
		t.Fatal(err)
	}
	d, _ := r.end(l, turn)
	took := time.Since(start)
	if d.Status != "canceled" {
		t.Errorf("%+v", d)
	}
	if took > time.Second {
		t.Errorf("cancelling took %v", took)
	}
	r.idle()
	r.close()
}

// fanOut is n calls of the tool t.
func fanOut(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "!tool c%d@%d t {\"n\": %d}\n", i+1, i, i)
	}
	return b.String()
}

// A cancel that names its turn and comes too late, or too early, ends no other.
func TestCancelNamesItsTurn(t *testing.T) {
	bubble(t, actors.Options{}, func(r *rig) {
		a, l := r.spawn(actors.AgentOptions{})
		r.turn(a, l, "one")
		if _, err := a.Submit("two"); err != nil {
			r.Fatal(err)
		}
		synctest.Wait()
		for _, other := range []uint64{0, 1, 3} {
			if err := a.CancelTurn(other); !errors.Is(err, actors.ErrNoTurn) {
				r.Errorf("turn 2 is in flight, cancelling turn %d gives %v", other, err)
			}
		}
		if d, _ := r.end(l, 2); d.Status != "done" {
			r.Errorf("%+v", d)
		}
		if _, err := a.Submit("three"); err != nil {
			r.Fatal(err)
		}
		if err := a.CancelTurn(3); err != nil {
			r.Error(err)
		}
		if d, _ := r.end(l, 3); d.Status != "canceled" {
			r.Errorf("%+v", d)
		}
	}, ok, "!sleep 100\n"+ok, "!hang\n")
}
