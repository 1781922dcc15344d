package luavm

import (
	lua "github.com/yuin/gopher-lua"

	"clm/luavm/internal/boxed"
	"clm/luavm/internal/layout"
	"clm/luavm/internal/number"
)

// What instructions allocate, in bytes, as measured on gopher-lua 1.1.2.
const (
	tableBytes      = 96
	slotBytes       = 16
	keyBytes        = 160 // a new key in a map, the key order and its index, growth included
	storeBytes      = 48  // a store that may or may not be a new key
	closureBytes    = 96
	upvalueBytes    = 56
	frameStackBytes = 2048 // of Go stack, where frames nest through Go code
	numberBytes     = 8    // flat, for each instruction: a number it may box
)

type watch uint8

const (
	watchStore watch = iota + 1
	watchField
	watchGlobal
	watchTable
	watchList
	watchClosure
	watchCompare
	watchIndex
	watchLen
	watchFor
	watchLoop
)

// watched are the instructions whose memory or time depends on their operands. CONCAT is not among them: the compiler
// makes calls of ".."; a test holds it to that.
var watched = [64]watch{
	lua.OP_SETTABLE:   watchStore,
	lua.OP_SETTABLEKS: watchField,
	lua.OP_SETGLOBAL:  watchGlobal,
	lua.OP_NEWTABLE:   watchTable,
	lua.OP_SETLIST:    watchList,
	lua.OP_CLOSURE:    watchClosure,
	lua.OP_EQ:         watchCompare,
	lua.OP_LT:         watchCompare,
	lua.OP_LE:         watchCompare,
	lua.OP_GETTABLE:   watchIndex,
	lua.OP_LEN:        watchLen,
	lua.OP_FORPREP:    watchFor,
}

// watchedLoops is for threads in whose hook are loops.
var watchedLoops = func() [64]watch {
	w := watched
	w[lua.OP_FORLOOP] = watchLoop
	return w
}()

func (th *thread) peek(frame *layout.Frame, inst uint32, op watch) {
	v, L := th.vm, th.L
	a, b, c := int(inst>>18)&0xff, int(inst&0x1ff), int(inst>>9)&0x1ff
	switch op {
	case watchField:
		if t, ok := layout.Registers(L)[frame.LocalBase+a].(*lua.LTable); ok {
			v.prepare(t)
		}
		v.alloc += storeBytes
	case watchGlobal:
		v.alloc += storeBytes
	case watchTable:
		v.alloc += tableBytes + int64(b)*slotBytes + int64(c)*2*storeBytes
	case watchClosure:
		n := frame.Fn.Proto.FunctionPrototypes[inst&0x3ffff].NumUpvalues
		v.alloc += closureBytes + int64(n)*upvalueBytes
		th.captured(int(n))
	case watchStore:
		if t, ok := layout.Registers(L)[frame.LocalBase+a].(*lua.LTable); ok {
			v.Store(L, t, operand(L, frame, b))
		}
	case watchList:
		n := b
		if n == 0 {
			n = layout.Top(L) - frame.LocalBase
		}
		v.Charge(L, int64(n)*slotBytes*5/2)
	case watchCompare:
		switch x := operand(L, frame, b).(type) {
		case lua.LString:
			v.left -= int64(len(x)) >> 6
		case lua.LNumber:
			if _, ok := operand(L, frame, c).(number.Int); ok {
				th.lend(frame, inst, op)
			}
		case number.Int:
			th.lend(frame, inst, op)
		}
	case watchFor, watchLoop:
		th.lend(frame, inst, op)
	case watchIndex:
		if s, ok := operand(L, frame, c).(lua.LString); ok {
			v.left -= int64(len(s)) >> 4
		}
	case watchLen:
		if t, ok := operand(L, frame, b).(*lua.LTable); ok {
			if arr := layout.Array(t); len(arr) > 0 && arr[len(arr)-1] == lua.LNil {
				v.left -= int64(len(arr)) >> 3
			}
		}
	}
	if v.alloc > v.trigger {
		v.overTrigger(0)
	}
}

// lend has the hook prepare an instruction.
func (th *thread) lend(frame *layout.Frame, inst uint32, op watch) {
	switch op {
	case watchCompare:
		th.hook.Compare(th.L, frame, inst)
	case watchFor:
		th.hook.ForPrep(th.L, frame, inst)
	case watchLoop:
		th.hook.ForLoop(th.L, frame, inst)
	}
	if th.hook.Owes() {
		th.mark = 0
	}
	th.watch = &watched
	if th.hook.Loops() > 0 {
		th.watch = &watchedLoops
		th.vm.alloc += boxed.LoopBytes
	}
}

// operand is the value of a register or constant operand.
func operand(L *lua.LState, frame *layout.Frame, rk int) lua.LValue {
	if rk&0x100 != 0 {
		return frame.Fn.Proto.Constants[rk&0xff]
	}
	return layout.Registers(L)[frame.LocalBase+rk]
}

// prepare makes t ready for a string key.
func (v *VM) prepare(t *lua.LTable) {
	layout.PrepareStrings(t)
	if t == v.strings {
		v.ownStrings()
	}
}

// Store accounts for t[key] = value before it happens, and keeps gopher-lua from making parts larger than needed.
func (v *VM) Store(L *lua.LState, t *lua.LTable, key lua.LValue) {
	switch k := key.(type) {
	case lua.LNumber:
		v.storeNumber(L, t, float64(k))
	case lua.LString:
		v.prepare(t)
		v.left -= int64(len(k)) >> 4
		v.alloc += storeBytes
		if v.alloc > v.trigger {
			v.overTrigger(0)
		}
	default:
		v.Charge(L, storeBytes)
	}
}

func (v *VM) storeNumber(L *lua.LState, t *lua.LTable, k float64) {
	arr := layout.Array(t)
	n := float64(len(arr))
	switch {
	case k != float64(int64(k)) || k < 1 || k >= float64(lua.MaxArrayIndex):
		v.Charge(L, keyBytes)
	case k <= n:
	case k == n+1:
		if arr == nil {
			layout.PrepareArray(t, 4)
			v.alloc += 4 * slotBytes
		} else if len(arr) == cap(arr) { // append copies to about 5/4 of the size
			v.Charge(L, int64(n)*slotBytes*5/4+slotBytes*32)
		}
	default: // the gap is filled with nils
		v.left -= int64(k-n) >> 3
		v.Charge(L, int64(k)*slotBytes*9/4)
	}
}
