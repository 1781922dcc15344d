package boxed

import (
	"math"
	"slices"

	lua "github.com/yuin/gopher-lua"

	"clm/luavm/internal/layout"
	"clm/luavm/internal/number"
)

// A loop counts in int64, beside the instructions. It has its next value, unless it is done.
type loop struct {
	reg  int // of the thread, its first hidden one
	next int64
	step int64
	left uint64 // values behind next
	done bool
}

// ForPrep comes before FORPREP, whose registers from A on are the first value, the limit and the step. They can be
// exchanged: programs cannot name them.
func (h *Hook) ForPrep(L *lua.LState, f *layout.Frame, inst uint32) {
	at := f.LocalBase + int(inst>>18)&0xff
	h.forget(at)
	r := layout.Registers(L)[at : at+3]
	if ordinary(r) {
		return
	}
	for _, i := range [...]int{1, 2, 0} { // in Lua's order
		n, ok := number.Coerce(r[i])
		if !ok {
			what := [...]string{"initial value", "limit", "step"}[i]
			L.RaiseError("bad 'for' %s (number expected, got %s)", what, number.TypeName(r[i]))
		}
		r[i] = n
	}
	if !ordinary(r) {
		h.prepare(at, r)
	}
}

// ordinary reports whether float64 does for an integer loop: each value is exact, and so are the one behind the last
// and the one before the first, which FORPREP makes.
func ordinary(r []lua.LValue) bool {
	first, ok := r[0].(lua.LNumber)
	limit, ok1 := r[1].(lua.LNumber)
	step, ok2 := r[2].(lua.LNumber)
	return ok && ok1 && ok2 && small(limit) && small(first-step)
}

func small(n lua.LNumber) bool { return n > -number.MaxExact && n < number.MaxExact }

// forget drops the loops that had the register or a later one: they are over, ended or left.
func (h *Hook) forget(at int) {
	n := len(h.loops)
	for n > 0 && h.loops[n-1].reg >= at {
		n--
	}
	h.loops = h.loops[:n]
}

func (h *Hook) prepare(at int, r []lua.LValue) {
	first, ok1 := integer(r[0])
	step, ok2 := integer(r[2])
	if !ok1 || !ok2 || step == 0 || distant(r[0], r[2]) {
		for i, v := range r {
			if n, ok := v.(number.Int); ok {
				r[i] = lua.LNumber(n)
			}
		}
		return
	}
	l := loop{reg: at, next: first, step: step}
	last, ok := bound(r[1], step)
	switch {
	case !ok || step > 0 && first > last || step < 0 && first < last:
		l.done = true
	case step > 0:
		l.left = (uint64(last) - uint64(first)) / uint64(step)
	default:
		l.left = (uint64(first) - uint64(last)) / (uint64(-(step + 1)) + 1)
	}
	h.loops = append(h.loops, l)
	r[0], r[1], r[2] = zero, zero, one
}

// integer is the value of a number that counts as an integer.
func integer(v lua.LValue) (int64, bool) {
	if f, ok := v.(lua.LNumber); ok {
		return int64(f), number.IsInteger(f)
	}
	return number.ToInt(v)
}

// distant reports whether a loop over ordinary numbers is as good as never beyond 2^53: it would run for days.
func distant(first, step lua.LValue) bool {
	x, ok1 := first.(lua.LNumber)
	z, ok2 := step.(lua.LNumber)
	return ok1 && ok2 && math.Abs(float64(x)) <= number.MaxExact/2 && math.Abs(float64(z)) <= 64
}

// bound is the last integer that a loop may reach; not ok: there is none.
func bound(limit lua.LValue, step int64) (int64, bool) {
	if i, ok := limit.(number.Int); ok {
		return int64(i), true
	}
	f := math.Floor(float64(limit.(lua.LNumber)))
	if step < 0 {
		f = math.Ceil(float64(limit.(lua.LNumber)))
	}
	switch {
	case f != f:
		return 0, false
	case f >= 1<<63:
		return math.MaxInt64, step > 0
	case f < -(1 << 63):
		return math.MinInt64, step < 0
	}
	return int64(f), true
}

// ForLoop comes before FORLOOP. It leads the instruction to go on or to end, and owes the loop's variable its value.
func (h *Hook) ForLoop(L *lua.LState, f *layout.Frame, inst uint32) {
	at := f.LocalBase + int(inst>>18)&0xff
	i, ok := slices.BinarySearchFunc(h.loops, at, func(l loop, at int) int { return l.reg - at })
	if !ok {
		return
	}
	l, r := &h.loops[i], layout.Registers(L)[at:at+3]
	r[0], r[1], r[2] = zero, one, one
	if l.done {
		r[1] = zero
		h.loops = h.loops[:i]
		return
	}
	h.at, h.late = at+3, number.FromInt(l.next)
	if l.left == 0 {
		l.done = true
		return
	}
	l.left--
	l.next += l.step
}
