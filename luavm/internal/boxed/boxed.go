package boxed

import (
	"math"

	lua "github.com/yuin/gopher-lua"

	"clm/luavm/internal/layout"
	"clm/luavm/internal/number"
)

// Hook is what a thread remembers from one of its instructions to a later one. The zero value is ready.
type Hook struct {
	loops []loop // by register, ascending; some may be over
	late  lua.LValue
	at    int // the register that late belongs to
}

// LoopBytes is what a loop in a Hook takes, in bytes.
const LoopBytes = 40

// maxKept is how many loops a Hook that is reset keeps room for.
const maxKept = 16

// Reset makes h ready for other work on the thread, after what it owes has been put back.
func (h *Hook) Reset() {
	if h.loops = h.loops[:0]; cap(h.loops) > maxKept {
		h.loops = nil
	}
}

// Owes reports whether Pay has to be called before the next instruction.
func (h *Hook) Owes() bool { return h.late != nil }

// Pay puts back what the instruction before must not keep.
func (h *Hook) Pay(L *lua.LState) {
	if h.late != nil {
		layout.Registers(L)[h.at] = h.late
		h.late = nil
	}
}

// Loops is how many loops the hook holds on to. While it is 0, ForLoop does nothing.
func (h *Hook) Loops() int { return len(h.loops) }

// Bytes is the memory behind the hook.
func (h *Hook) Bytes() int64 { return int64(cap(h.loops)) * LoopBytes }

// Before does what is to be done before any instruction, for machines that are in no hurry.
func (h *Hook) Before(L *lua.LState) {
	h.Pay(L)
	f := layout.CurrentFrame(L)
	inst := f.Fn.Proto.Code[f.Pc-1]
	switch int(inst >> 26) {
	case lua.OP_FORPREP:
		h.ForPrep(L, f, inst)
	case lua.OP_FORLOOP:
		h.ForLoop(L, f, inst)
	case lua.OP_EQ, lua.OP_LT, lua.OP_LE:
		h.Compare(L, f, inst)
	}
}

// Compare comes before EQ, LT and LE. An integer that meets an ordinary number is exchanged, for the one instruction,
// for a number that compares in the same way.
func (h *Hook) Compare(L *lua.LState, f *layout.Frame, inst uint32) {
	b, c := int(inst&0x1ff), int(inst>>9)&0x1ff
	at, other := b, c
	if _, ok := operand(L, f, b).(number.Int); !ok {
		at, other = c, b
	}
	i, ok1 := operand(L, f, at).(number.Int)
	n, ok2 := operand(L, f, other).(lua.LNumber)
	if !ok1 || !ok2 {
		return
	}
	order, _ := number.Compare(i, n)
	h.at = f.LocalBase + at
	h.late = i
	layout.Registers(L)[h.at] = [...]lua.LValue{minusInf, n, plusInf}[order+1]
}

func operand(L *lua.LState, f *layout.Frame, rk int) lua.LValue {
	if rk&0x100 != 0 {
		return f.Fn.Proto.Constants[rk&0xff]
	}
	return layout.Registers(L)[f.LocalBase+rk]
}

var minusInf, plusInf lua.LValue = lua.LNumber(math.Inf(-1)), lua.LNumber(math.Inf(1))

// Values that gopher-lua's loop instructions are led by.
var zero, one lua.LValue = lua.LNumber(0), lua.LNumber(1)
