package stdlib

import (
	"math"
	"sync"

	lua "github.com/yuin/gopher-lua"

	"clm/luavm/internal/layout"
	"clm/luavm/internal/number"
)

// args is one call of a library function: its thread and its arguments, which stay
// readable until it returns, whatever is pushed behind them. It is passed by
// value, in registers, so it is kept small.
type args struct {
	L *lua.LState
	v []lua.LValue
}

// argsOf returns the call of the Go function that runs on L.
func argsOf(L *lua.LState) args { return args{L, layout.Arguments(L)} }

// identity is what errors say about a function.
type identity struct {
	name string // like "string.rep", for calls that give it none
	op   bool   // an operator: errors are those of the code that uses it
}

// identities are those of the functions that were made, by *lua.LFunction.
var identities sync.Map

// identity returns that of the function that runs.
func (a args) identity() identity {
	id, _ := identities.Load(layout.CurrentFrame(a.L).Fn)
	known, _ := id.(identity)
	return known
}

// m returns the meter of the VM.
func (a args) m() Meter { return MeterOf(a.L) }

// function makes a shared library function. It has no environment: it must not
// make functions that would inherit one.
func function(name string, f lua.LGFunction) *lua.LFunction {
	return identity{name, false}.function(f)
}

// operation makes a function that stands for an instruction: a helper of
// compiled code or a metamethod of a type.
func operation(name string, f lua.LGFunction) *lua.LFunction {
	return identity{name, true}.function(f)
}

func (id identity) function(f lua.LGFunction) *lua.LFunction {
	fn := &lua.LFunction{IsG: true, GFunction: f}
	identities.Store(fn, id)
	return fn
}

// Instead returns a function that has the name of original in errors and runs f,
// which may call original's.
func Instead(original *lua.LFunction, f lua.LGFunction) *lua.LFunction {
	id, _ := identities.Load(original)
	known, _ := id.(identity)
	return known.function(f)
}

// entry is a function of a library table.
type entry struct {
	name string
	f    lua.LGFunction
}

func library(prefix string, entries []entry) *lua.LTable {
	t := newTable(0, len(entries))
	for _, e := range entries {
		t.RawSetString(e.name, function(prefix+e.name, e.f))
	}
	return t
}

// newTable makes a table with room for array elements and string keys.
func newTable(array, hash int) *lua.LTable {
	return (*lua.LState)(nil).CreateTable(array, hash)
}

// burn spends n units for work that is done once in a call; little is not worth
// the counting, as the call itself is an instruction.
func (a args) burn(n int64) {
	if n >= 16 {
		spend(a.L, n)
	}
}

func spend(L *lua.LState, n int64) { MeterOf(L).Burn(L, n) }

// get returns argument n, nil if there is none.
func (a args) get(n int) lua.LValue {
	if n > len(a.v) {
		return lua.LNil
	}
	return a.v[n-1]
}

// top returns the number of arguments.
func (a args) top() int { return len(a.v) }

// none tells whether argument n is absent or nil.
func (a args) none(n int) bool { return n > len(a.v) || isNil(a.v[n-1]) }

// isNil is v == lua.LNil without the comparison of what the two point to.
func isNil(v lua.LValue) bool {
	_, ok := v.(*lua.LNilType)
	return ok
}

// push pushes one result and returns the number of results.
func (a args) push(v lua.LValue) int {
	layout.Push(a.L, v)
	return 1
}

func (a args) errorf(format string, v ...any) { errorf(a.L, format, v...) }

// any returns argument n, which must be there.
func (a args) any(n int) lua.LValue {
	if n > len(a.v) {
		a.argError(n, "value expected")
	}
	return a.v[n-1]
}

// str returns argument n as a string; numbers convert. Here and below the
// frequent case comes first, and what is left of it is apart.
func (a args) str(n int) string {
	if n <= len(a.v) {
		if s, ok := a.v[n-1].(lua.LString); ok {
			return string(s)
		}
	}
	return a.toStr(n)
}

func (a args) toStr(n int) string {
	s, ok := number.ToString(a.get(n))
	if !ok {
		a.typeError(n, "string")
	}
	return s
}

func (a args) optStr(n int, def string) string {
	if a.none(n) {
		return def
	}
	return a.str(n)
}

// number returns argument n as a number; strings convert.
func (a args) number(n int) lua.LValue {
	v, ok := number.Coerce(a.get(n))
	if !ok {
		a.typeError(n, "number")
	}
	return v
}

// float returns argument n as a float64; strings and boxed integers convert.
func (a args) float(n int) float64 {
	if n <= len(a.v) {
		if f, ok := a.v[n-1].(lua.LNumber); ok {
			return float64(f)
		}
	}
	f, _ := number.ToFloat(a.number(n))
	return f
}

// int returns argument n as an integer; strings convert.
func (a args) int(n int) int64 {
	if n <= len(a.v) {
		if f, ok := a.v[n-1].(lua.LNumber); ok && lua.LNumber(int32(f)) == f {
			return int64(f)
		}
	}
	return a.toInt(n)
}

func (a args) toInt(n int) int64 {
	i, ok := number.ToInt(a.number(n))
	if !ok {
		a.argError(n, "number has no integer representation")
	}
	return i
}

func (a args) optInt(n int, def int64) int64 {
	if a.none(n) {
		return def
	}
	return a.int(n)
}

// table returns argument n, which must be a table.
func (a args) table(n int) *lua.LTable {
	t, ok := a.get(n).(*lua.LTable)
	if !ok {
		a.typeError(n, "table")
	}
	return t
}

// function returns argument n, which must be a function.
func (a args) function(n int) *lua.LFunction {
	f, ok := a.get(n).(*lua.LFunction)
	if !ok {
		a.typeError(n, "function")
	}
	return f
}

// call calls f with the values and returns its first result.
func (a args) call(f lua.LValue, v ...lua.LValue) lua.LValue {
	a.L.Push(f)
	for _, x := range v {
		a.L.Push(x)
	}
	a.L.Call(len(v), 1)
	r := a.L.Get(-1)
	a.L.Pop(1)
	return r
}

// stringCost is what a string costs beside its bytes.
const stringCost = 32

// newString charges for a copy of s and makes it, so that it does not keep the
// string alive that it was cut from.
func (a args) newString(s string) lua.LValue {
	if len(s) <= 1 {
		return shortString(s)
	}
	a.m().Charge(a.L, int64(len(s))+stringCost)
	return layout.NewString(s)
}

// oneByte holds the strings of one byte, made once.
var oneByte = func() (t [256]lua.LValue) {
	for i := range t {
		t[i] = lua.LString([]byte{byte(i)})
	}
	return t
}()

var emptyString = lua.LValue(lua.LString(""))

func shortString(s string) lua.LValue {
	if s == "" {
		return emptyString
	}
	return oneByte[s[0]]
}

// results makes room for n results, for which it charges, and returns the index
// of the first. Pushing them one by one could copy the stack for each.
func (a args) results(n int64) int {
	top := a.L.GetTop()
	if n > fewResults {
		if n > maxResults(a.L) {
			return -1
		}
		a.m().Burn(a.L, n)
		a.m().Charge(a.L, n*24) // a place on the stack and a number
	}
	a.L.SetTop(top + int(n))
	return top + 1
}

// fewResults is what the stack always has room for, or almost.
const fewResults = 32

// maxResults is how many values fit on L's stack at most, with some room left.
func maxResults(L *lua.LState) int64 {
	return int64(max(L.Options.RegistrySize, L.Options.RegistryMaxSize)) - 256
}

// relative converts a position that may count from the end, as string.sub's
// second argument: 0 if it lies before the start.
func relative(i int64, n int) int64 {
	switch {
	case i >= 0:
		return i
	case i < -int64(n):
		return 0
	}
	return int64(n) + i + 1
}

// slice returns the 0-based half-open range of positions i to j of a string of n
// bytes; i and j are as in string.sub.
func slice(i, j int64, n int) (from, to int) {
	first, last := max(relative(i, n), 1), min(relative(j, n), int64(n))
	if first > last {
		return 0, 0
	}
	return int(first - 1), int(last)
}

func isAlpha(c byte) bool { return c|32 >= 'a' && c|32 <= 'z' }
func isDigit(c byte) bool { return c >= '0' && c <= '9' }

// clampInt converts to int on any platform.
func clampInt(i int64) int { return int(min(max(i, math.MinInt), math.MaxInt)) }
