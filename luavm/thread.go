package luavm

import (
	"fmt"
	"sync"
	"time"

	lua "github.com/yuin/gopher-lua"

	"clm/luavm/internal/boxed"
	"clm/luavm/internal/layout"
	"clm/luavm/internal/stdlib"
)

// maxFrames bounds the call depth of a task, summed over its protected calls. Go code recurses at most once a frame
// (2 to 3 KB of Go stack), so that no script comes near Go's fatal stack limit.
const maxFrames = 1000

// maxPooledRegisters keeps threads that grew large out of the pool.
const maxPooledRegisters = 512

// thread is one Lua thread: the base of a task or one protected call in it. It is the context of its state, which is
// how gopher-lua calls Done before each instruction.
type thread struct {
	L     *lua.LState
	stack layout.Stack
	vm    *VM
	task  *Task
	base  int // frames of the task below this thread
	room  int // frames that may be on this thread
	mark  int // frame from which on deeper has something to do
	open  int // upvalues that may be open: an upper bound
	watch *[64]watch
	hook  boxed.Hook
	below *lua.LState // whose protected call this is; nil at a task's base
}

// maxOpenUpvalues bounds the locals of one thread that closures have captured while their functions still run.
// gopher-lua keeps them in a list that it searches from the start.
const maxOpenUpvalues = 8192

var threadOptions = lua.Options{
	CallStackSize: maxFrames + 24, RegistrySize: 128, RegistryMaxSize: 65536, RegistryGrowStep: 256,
	SkipOpenLibs: true, MinimizeStackMemory: true,
}

// root has no context and runs nothing: it makes threads, and stands in as the main thread of every VM.
var root = sync.OnceValue(func() *lua.LState {
	lua.CompatVarArg = false
	lua.MaxArrayIndex = 1 << 20
	return lua.NewState(threadOptions)
})

// threads holds unwound threads of all VMs: a state costs more to make than most calls take.
var threads = sync.Pool{New: func() any {
	L, _ := root().NewThread()
	th := &thread{L: L, stack: layout.StackOf(L)}
	L.Panic = raise
	L.SetContext(th)
	return th
}}

// raise is what gopher-lua calls for an error of its own, whose text is on top of the stack. Unlike the stock one it
// builds no stack trace, whose cost is quadratic in the depth and which nobody reads.
func raise(L *lua.LState) {
	err := L.Get(-1)
	if s, ok := err.(lua.LString); ok {
		err = lua.LString(stdlib.Reword(string(s)))
	}
	stdlib.Raise(L, err)
}

// enter takes a thread for t with room for that many frames.
func (t *Task) enter(room int) *thread {
	th := threads.Get().(*thread)
	th.vm, th.task, th.open, th.watch = t.call.vm, t, 0, &watched
	th.base, th.room, th.mark = maxFrames-room, room, t.deepest-maxFrames+room+1
	th.L.G, th.L.Env = th.vm.g, th.vm.g.Global
	if n := len(t.threads); n > 0 {
		th.below = t.threads[n-1].L
	}
	t.threads = append(t.threads, th)
	return th
}

// leave unwinds the innermost thread of t and gives it back.
func (th *thread) leave() {
	t := th.task
	t.threads = t.threads[:len(t.threads)-1]
	th.hook.Pay(th.L) // an abort may have come before
	th.hook.Reset()
	layout.CloseUpvalues(th.L)
	th.stack.SetSp(0)
	layout.ClearFrame(th.L)
	th.L.SetTop(0)
	th.vm, th.task, th.below = nil, nil, nil
	th.L.G, th.L.Env = root().G, root().G.Global
	if len(layout.Registers(th.L)) > maxPooledRegisters {
		layout.ResetRegisters(th.L, threadOptions.RegistrySize) // closures that were made here still refer to them
	}
	threads.Put(th)
}

// deeper is called when frame idx may be the deepest that the task has had, and when the hook owes something. Each
// level may have grown the task's Go stack, which stays grown while it waits.
func (th *thread) deeper(idx int) {
	if th.hook.Owes() {
		th.hook.Pay(th.L)
		th.setMark()
		if idx < th.mark {
			return
		}
	}
	if idx >= th.room {
		th.L.RaiseError("stack overflow")
	}
	t := th.task
	if depth := th.base + idx; depth > t.deepest {
		grown := stackBytes(depth) - stackBytes(t.deepest)
		t.deepest = depth
		th.vm.Charge(th.L, grown)
	}
	th.setMark()
}

func (th *thread) setMark() { th.mark = min(th.task.deepest-th.base+1, th.room) }

// stackBytes is the Go stack of a task that was that many frames deep, beyond the few kilobytes of every task.
func stackBytes(frames int) int64 { return int64(max(0, frames-4)) * frameStackBytes }

// captured counts n more open upvalues.
func (th *thread) captured(n int) {
	if th.open += n; th.open > maxOpenUpvalues {
		th.open = layout.OpenUpvalues(th.L)
		if th.open > maxOpenUpvalues/2 {
			th.L.RaiseError("too many captured variables in functions that run")
		}
	}
}

// call runs fn to its end on th and reports its results, or the error value. A panic that is not a Lua error is the
// task's abort, or a fault of Go code, which becomes one; both are left in task.abort.
func (th *thread) call(fn lua.LValue, args []lua.LValue) (results []lua.LValue, err lua.LValue, ok bool) {
	L := th.L
	defer func() {
		if !ok {
			err = th.caught(recover())
		}
	}()
	L.Push(fn)
	for _, v := range args {
		L.Push(v)
	}
	L.Call(len(args), lua.MultRet)
	n := L.GetTop()
	results = make([]lua.LValue, n)
	for i := range results {
		results[i] = L.Get(i + 1)
	}
	return results, nil, true
}

// caught makes an error value of what unwound a call.
func (th *thread) caught(r any) lua.LValue {
	switch r := r.(type) {
	case *abort:
		return lua.LNil
	case *lua.ApiError:
		if s, ok := r.Object.(lua.LString); ok {
			th.vm.alloc += int64(len(s)) // messages embed operands; they were not charged
		}
		return r.Object
	case string:
		if r == "lua callstack overflow" {
			return lua.LString("stack overflow")
		}
		th.task.fault(r)
	default:
		th.task.fault(fmt.Sprint(r))
	}
	return lua.LNil
}

// context.Context, as gopher-lua uses it.

func (th *thread) Deadline() (time.Time, bool) { return time.Time{}, false }
func (th *thread) Err() error                  { return nil }
func (th *thread) Value(any) any               { return nil }

// Meter is how library functions find their VM.
func (th *thread) Meter() stdlib.Meter { return th.vm }

// Below is how positions are found beyond a protected call.
func (th *thread) Below() *lua.LState { return th.below }

// Done is called before each instruction. It never returns a channel that fires: an abort is a panic from here.
func (th *thread) Done() <-chan struct{} {
	v := th.vm
	v.left--
	if v.left <= 0 || v.flag.Load() != 0 {
		v.check()
	}
	frame := layout.CurrentFrame(th.L)
	if frame.Idx >= th.mark {
		th.deeper(frame.Idx)
	}
	inst := frame.Fn.Proto.Code[frame.Pc-1]
	if op := th.watch[inst>>26]; op != 0 {
		th.peek(frame, inst, op)
	}
	return nil
}
