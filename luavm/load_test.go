package luavm_test

import (
	"context"
	"regexp"
	"sync"
	"testing"
	"time"

	"clm/luavm"
	"clm/luavm/luavmtest"
)

// 160 endless loops, cancelled at once, are gone at once: those that wait for a processor need not get one first.
func TestCancelManyLoops(t *testing.T) {
	const n = 160
	ctx, cancel := context.WithCancel(bg)
	var wg sync.WaitGroup
	for range n {
		v := load(t, luavm.Options{}, register("spin", `while true do pcall(function() while true do end end) end`))
		wg.Go(func() {
			if y := v.Call("spin", "").Main().Step(ctx, luavm.Answer{}); !y.Done || !y.Result.Aborted {
				t.Errorf("got %+v", y)
			}
		})
	}
	time.Sleep(50 * time.Millisecond)
	start, cpu := time.Now(), cpuTime()
	cancel()
	wg.Wait()
	if took := min(time.Since(start), cpuTime()-cpu); took > 60*time.Millisecond*slowdown {
		t.Errorf("took %v", took)
	}
}

// A kill reaches a task that computes and waits for its turn.
func TestKillManyLoops(t *testing.T) {
	var wg sync.WaitGroup
	var tasks []*luavm.Task
	for range 40 {
		v := load(t, luavm.Options{}, register("spin", `while true do end`))
		c := v.Call("spin", "")
		tasks = append(tasks, c.Main())
		wg.Go(func() { c.Main().Step(bg, luavm.Answer{}) })
	}
	time.Sleep(20 * time.Millisecond)
	for _, task := range tasks {
		wg.Go(func() { task.Kill("enough") })
	}
	wg.Wait()
}

// The CPU limit counts the time that a call computes, not the time that it waits for a processor.
func TestTimeUnderLoad(t *testing.T) {
	work := register("work", `for i = 1, 400000 do end ctx:complete("")`)
	v := load(t, luavm.Options{}, work)
	c := v.Call("work", "")
	c.Main().Step(bg, luavm.Answer{})
	alone := c.CPU()
	var wg sync.WaitGroup
	var mu sync.Mutex
	var longest time.Duration
	start := time.Now()
	for range 60 {
		v := load(t, luavm.Options{}, work)
		wg.Go(func() {
			c := v.Call("work", "")
			c.Main().Step(bg, luavm.Answer{})
			mu.Lock()
			defer mu.Unlock()
			longest = max(longest, c.CPU())
		})
	}
	wg.Wait()
	if all := time.Since(start); longest > all/3 {
		t.Errorf("a call counted %v of %v that 60 took, %v alone", longest, all, alone)
	}
}

// All attacks at once, each in its own VM, beside calls that must work.
func TestAllAttacksAtOnce(t *testing.T) {
	if testing.Short() {
		t.Skip("takes a quarter of a minute")
	}
	var wg sync.WaitGroup
	for _, a := range attacks {
		v := load(t, luavm.Options{}, a.tool())
		wg.Go(func() {
			r := new(luavmtest.Simulation).Run(bg, v.Call("evil", ""))
			if !regexp.MustCompile(a.want + `|` + stopped).MatchString(r.Text) {
				t.Errorf("%s ended with %.300q", a.name, r.Text)
			}
		})
		neighbour := load(t, luavm.Options{}, helloPlugin)
		wg.Go(func() {
			for range 5 {
				greet(t, neighbour)
			}
		})
	}
	wg.Wait()
}
