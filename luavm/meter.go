package luavm

import (
	"context"
	"errors"
	"fmt"
	"hash/maphash"
	"time"

	lua "github.com/yuin/gopher-lua"

	"clm/luavm/internal/layout"
	"clm/luavm/internal/stdlib"
)

const (
	checkUnits = 10_000  // instructions between two looks at the clock and the context
	firstCheck = 200     // instructions until the first one of a slice, which sets up its timer
	minTrigger = 1 << 20 // bytes charged between two walks at the least
)

// Reasons to look at once.
const (
	flagKill uint32 = 1 << iota
	flagTimer
)

var errClosed = errors.New("the plugin was closed")

// abort unwinds a task by a panic that no Lua code can catch.
type abort struct {
	text   string
	cancel bool // from outside; only this task ends
	call   bool // time, memory, a fault: the whole call ends
	memory bool
}

func reasonOf(ctx context.Context) string {
	if cause := context.Cause(ctx); cause != nil && !errors.Is(cause, context.Canceled) {
		return cause.Error()
	}
	return "cancelled"
}

// fault records that Go code failed below a task: its call is aborted and the VM not used again.
func (t *Task) fault(what string) {
	v := t.call.vm
	if t.abort == nil {
		t.abort = &abort{text: "internal error: " + what, call: true}
	}
	if v.broken == nil {
		v.broken = fmt.Errorf("plugin %s: internal error: %s", v.program.name, what)
	}
}

// begin opens the bounds of one slice of c.
func (v *VM) begin(ctx context.Context, c *Call) {
	v.slice = slice{ctx: ctx, units: int64(c.limit - c.CPU()), long: v.long}
	if c.CPU()-c.yielded > short {
		v.slice.tellLong()
		c.yield()
	}
	v.slice.begin(c)
	v.window, v.left = firstCheck, firstCheck
}

func (v *VM) finish(c *Call) {
	v.slice.unwatch()
	v.account()
	c.cpu.Add(int64(time.Since(v.slice.start)))
	if v.slice.turn {
		processors().leave()
	}
	v.slice = slice{}
	v.used.Store(v.live + v.alloc)
}

// account books the units spent since the last check.
func (v *VM) account() {
	spent := v.window - v.left
	v.window, v.left = checkUnits, checkUnits
	v.slice.units -= spent
	v.alloc += min(spent, checkUnits) * numberBytes
}

// check looks at everything that can end the running task. It does not return if something does.
func (v *VM) check() {
	if v.window != firstCheck || v.window-v.left > checkUnits {
		v.slice.tellLong()
	}
	v.account()
	if v.flag.Swap(0)&flagKill != 0 {
		v.serveKills()
	}
	t, s := v.task, &v.slice
	now := time.Now()
	still := now.Equal(s.start)
	if t.abort == nil && now.Before(s.deadline) && !s.mayGoOn(now) {
		v.pause(t)
		now = s.start
	}
	switch {
	case t.abort != nil:
	case !now.Before(s.deadline), still && s.units <= 0:
		t.abort = &abort{text: fmt.Sprintf("timed out after %d ms", t.call.limit.Milliseconds()), call: true}
	case s.ctx.Err() != nil:
		t.abort = &abort{text: reasonOf(s.ctx), cancel: true}
	}
	if t.abort != nil {
		panic(t.abort)
	}
	if s.stop == nil {
		v.watch()
	}
	if v.alloc > v.trigger {
		v.overTrigger(0)
	}
}

// watch has a long slice interrupted at its deadline and at its context's end, between two instructions even where
// single ones are slow. Short slices, nearly all, do without.
func (v *VM) watch() {
	look := func() { v.flag.Or(flagTimer) }
	timer := time.AfterFunc(time.Until(v.slice.deadline), look)
	release := context.AfterFunc(v.slice.ctx, look)
	v.slice.stop = func() {
		timer.Stop()
		release()
	}
}

// The stdlib.Meter of the VM.

// Charge implements stdlib.Meter.
func (v *VM) Charge(_ *lua.LState, n int64) {
	v.alloc += n
	if v.alloc > v.trigger {
		v.alloc -= n
		v.overTrigger(n)
	}
}

// overTrigger measures what is live and aborts the running task when n more bytes do not fit.
func (v *VM) overTrigger(n int64) {
	v.slice.tellLong()
	if !v.walkUntil(v.slice.deadline) {
		v.check() // the time is over
	}
	if v.live+n > v.limit {
		v.task.abort = &abort{text: fmt.Sprintf("not enough memory: the plugin's limit is %s", mib(v.limit)), call: true, memory: true}
		panic(v.task.abort)
	}
	v.alloc = n
	v.trigger = max((v.limit-v.live)/2, minTrigger)
}

func mib(n int64) string {
	if n%(1<<20) == 0 {
		return fmt.Sprintf("%d MiB", n>>20)
	}
	return fmt.Sprintf("%d bytes", n)
}

// Burn implements stdlib.Meter.
func (v *VM) Burn(_ *lua.LState, n int64) {
	v.left -= n
	if v.left <= 0 || v.flag.Load() != 0 {
		v.check()
	}
}

// Pin implements stdlib.Meter.
func (v *VM) Pin(n int64) {
	v.pinned += n
	v.task.pins += n
}

// Print implements stdlib.Meter.
func (v *VM) Print(_ *lua.LState, text string) {
	if v.opts.Log != nil {
		v.opts.Log(text)
	}
}

// Rand implements stdlib.Meter. Each VM has its own state, seeded from the runtime's entropy.
func (v *VM) Rand() *stdlib.Rand {
	if v.rand == nil {
		v.rand = stdlib.NewRand(maphash.String(maphash.MakeSeed(), "a"), maphash.String(maphash.MakeSeed(), "b"))
	}
	return v.rand
}

// Protected implements stdlib.Meter: pcall's engine. fn runs on a thread of its own, so that its error closes no
// upvalue of the caller's frames.
func (v *VM) Protected(L *lua.LState, fn lua.LValue, args []lua.LValue, handler lua.LValue) ([]lua.LValue, lua.LValue, bool) {
	t, pins := v.task, v.task.pins
	room := roomBelow(L)
	v.Burn(L, 20)
	if room <= 0 {
		return nil, lua.LString("stack overflow"), false
	}
	v.Charge(L, int64(len(args))*slotBytes+storeBytes)
	th := t.enter(room)
	results, err, ok := th.call(fn, args)
	th.leave()
	if ok {
		return results, nil, true
	}
	t.drop(pins)
	if t.abort != nil {
		panic(t.abort)
	}
	v.Burn(L, 20)
	for tries := 0; handler != nil && handler != lua.LNil; tries++ {
		if tries == 10 { // the handler fails on its own errors too; Lua 5.4 gives up likewise
			return nil, lua.LString("error in error handling"), false
		}
		made, herr, ok := v.Protected(L, handler, []lua.LValue{err}, nil)
		if ok {
			err = lua.LNil
			if len(made) > 0 {
				err = made[0]
			}
			break
		}
		err = herr
	}
	return nil, err, false
}

// roomBelow is how many frames a thread started from L may have.
func roomBelow(L *lua.LState) int {
	room := L.Context().(*thread).room
	if f := layout.CurrentFrame(L); f != nil {
		room -= f.Idx + 2
	}
	return room
}

// drop forgets the pins that were made above the mark.
func (t *Task) drop(mark int64) {
	t.call.vm.pinned -= t.pins - mark
	t.pins = mark
}

// guard runs f, which is Go code of the task's own coroutine outside any thread; false: the task was aborted in it.
func (t *Task) guard(f func()) (ok bool) {
	defer func() {
		if !ok {
			if _, aborted := recover().(*abort); !aborted {
				t.fault("outcome")
			}
		}
	}()
	f()
	return true
}
