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
