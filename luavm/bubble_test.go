package luavm_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"clm/luavm"
)

// In a synctest bubble the clock stands still while code runs: limits, kills and cancellation hold all the same.
func TestBubble(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		v := load(t, luavm.Options{}, `clm.tool_register("spin", { timeout_ms = 5, invoke = function() while true do pcall(function() while true do end end) end end })`,
			register("wait", `clm.sleep(1) clm.spawn(function() clm.sleep(1) end) clm.sleep(1) ctx:complete("x")`), helloPlugin)
		if r := run(t, v, "spin", ""); r.Text != "timed out after 5 ms" {
			t.Errorf("got %+v", r)
		}
		c := v.Call("wait", "")
		step(t, c.Main())
		done := make(chan bool)
		go func() {
			time.Sleep(time.Hour)
			c.Main().Kill("late")
			close(done)
		}()
		<-done
		if y := c.Main().Step(context.Background(), luavm.Answer{}); !y.Done || y.Result.Text != "late" {
			t.Errorf("got %+v", y)
		}
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		c = v.Call("wait", "")
		c.Main().Step(ctx, luavm.Answer{})
		<-ctx.Done()
		if y := c.Main().Step(ctx, luavm.Answer{}); !y.Done || !y.Result.Aborted {
			t.Errorf("got %+v", y)
		}
		greet(t, v)
	})
}

// What stalls the whole process is no time of a plugin: the clock jumps, but little of that counts.
func TestStalls(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		stall := luavm.Options{Log: func(string) { time.Sleep(time.Second) }}
		v := load(t, stall, `clm.tool_register("t", { timeout_ms = 80, invoke = function(args, ctx)
			for i = 1, 5 do print("x") for j = 1, 12000 do end end ctx:complete("done") end })`)
		c := v.Call("t", "")
		if y := c.Main().Step(t.Context(), luavm.Answer{}); !y.Done || y.Result.Failed {
			t.Errorf("got %+v", y.Result)
		}
		if cpu := c.CPU(); cpu <= 0 || cpu > 60*time.Millisecond {
			t.Errorf("five stalls of a second counted %v", cpu)
		}
	})
}
