package luavm

import (
	"context"
	"testing"
)

func TestGate(t *testing.T) {
	g := &gate{free: 1}
	if g.enter() != nil {
		t.Fatal("a free slot was not given")
	}
	first, second, third := g.enter(), g.enter(), g.enter()
	g.withdraw(first)
	if first.wait() {
		t.Error("one that was withdrawn got a slot")
	}
	g.leave()
	if !second.wait() || g.waiting.Load() != 1 {
		t.Errorf("the first in line got no slot, %d wait", g.waiting.Load())
	}
	g.withdraw(second) // too late: it has its slot
	g.leave()
	if !third.wait() {
		t.Error("the last in line got no slot")
	}
	g.leave()
	if g.free != 1 || g.waiting.Load() != 0 {
		t.Errorf("%d slots are free, %d wait", g.free, g.waiting.Load())
	}
}

// A short call does not wait in line.
func TestShortCallNeedsNoSlot(t *testing.T) {
	g := processors()
	for g.enter() == nil {
		defer g.leave()
	}
	defer func() { // the one that waits
		g.mu.Lock()
		w := g.queue[0]
		g.mu.Unlock()
		g.withdraw(w)
	}()
	p, err := Compile("p", `clm.tool_register("t", { invoke = function(args, ctx) ctx:complete("done") end })`)
	if err != nil {
		t.Fatal(err)
	}
	v := New(p, Options{})
	for _, c := range []func() *Call{v.Load, func() *Call { return v.Call("t", "") }} {
		if y := c().Main().Step(context.Background(), Answer{}); !y.Done || y.Result.Failed {
			t.Errorf("got %+v", y.Result)
		}
	}
}
