package stdlib

import (
	"math"
	"sync"

	lua "github.com/yuin/gopher-lua"

	"clm/luavm/internal/layout"
	"clm/luavm/internal/number"
	"clm/luavm/internal/syntax"
)

// Helpers returns what compiled code calls, by syntax.Helper: shared functions
// like those of the libraries.
func Helpers() *[syntax.NumHelpers]*lua.LFunction { return helpers() }

var helpers = sync.OnceValue(func() *[syntax.NumHelpers]*lua.LFunction {
	h := &[syntax.NumHelpers]*lua.LFunction{
		syntax.Concat: operation("concat", helperConcat),
		syntax.Eq:     operation("eq", helperEq),
		syntax.Lt: operation("lt", func(L *lua.LState) int {
			a := argsOf(L)
			return a.push(lua.LBool(less(a, a.get(1), a.get(2))))
		}),
		syntax.Le: operation("le", func(L *lua.LState) int {
			a := argsOf(L)
			return a.push(lua.LBool(lessEqual(a, a.get(1), a.get(2))))
		}),
		syntax.Gt: operation("gt", func(L *lua.LState) int {
			a := argsOf(L)
			return a.push(lua.LBool(less(a, a.get(2), a.get(1))))
		}),
		syntax.Ge: operation("ge", func(L *lua.LState) int {
			a := argsOf(L)
			return a.push(lua.LBool(lessEqual(a, a.get(2), a.get(1))))
		}),
		syntax.For:    operation("for", helperFor),
		syntax.Append: operation("append", helperAppend),
		syntax.Close:  operation("close", helperClose),
		syntax.Spread: operation("spread", helperSpread),
		syntax.Int:    operation("int", helperInt),
	}
	for helper, op := range map[syntax.Helper]number.Op{
		syntax.BAnd: number.BAnd, syntax.BOr: number.BOr, syntax.BXor: number.BXor,
		syntax.Shl: number.Shl, syntax.Shr: number.Shr, syntax.BNot: number.BNot,
		syntax.IDiv: number.IDiv, syntax.Mod: number.Mod,
	} {
		h[helper] = operator(op)
	}
	return h
})

// operator makes the function of an operator, with a short way for what is by
// far the most frequent: two plain integers.
func operator(op number.Op) *lua.LFunction {
	return operation(op.Event()[2:], func(L *lua.LState) int {
		a := argsOf(L)
		x, y := a.get(1), a.get(a.top())
		if m, ok := x.(lua.LNumber); ok {
			if n, ok := y.(lua.LNumber); ok {
				if v, err := number.Arith(op, m, n); err == nil {
					return a.push(v)
				}
			}
		}
		return a.push(a.arith(op, x, y))
	})
}

// helperConcat joins its arguments from the right.
func helperConcat(L *lua.LState) int {
	a := argsOf(L)
	n := a.top()
	var few [8]string
	parts := few[:0]
	total := 0
	for i := 1; i <= n; i++ {
		s, ok := number.ToString(a.get(i))
		if !ok {
			return concatPairs(a, n)
		}
		parts = append(parts, s)
		total += len(s)
	}
	a.m().Charge(a.L, int64(total)+stringCost)
	a.burn(int64(total) >> 6)
	var short [32]byte
	if total <= len(short) {
		return a.push(layout.NewString(string(appendAll(short[:0], parts))))
	}
	return a.push(layout.StringOf(appendAll(make([]byte, 0, total), parts)))
}

func appendAll(b []byte, parts []string) []byte {
	for _, s := range parts {
		b = append(b, s...)
	}
	return b
}

// concatPairs is for operands with metamethods.
func concatPairs(a args, n int) int {
	v := a.get(n)
	for i := n - 1; i >= 1; i-- {
		v = a.concat(a.get(i), v, i)
	}
	return a.push(v)
}

func helperEq(L *lua.LState) int {
	a := argsOf(L)
	x, y := a.get(1), a.get(2)
	if s, ok := x.(lua.LString); ok {
		a.burn(int64(len(s)) >> 8)
	}
	if a.L.RawEqual(x, y) {
		return a.push(lua.LTrue)
	}
	if isNumber(x) && isNumber(y) {
		order, ok := number.Compare(x, y)
		return a.push(lua.LBool(ok && order == 0))
	}
	if x.Type() != y.Type() {
		return a.push(lua.LFalse)
	}
	f := binaryMeta(a.L, "__eq", x, y)
	if isNil(f) {
		return a.push(lua.LFalse)
	}
	return a.push(lua.LBool(lua.LVAsBool(a.call(f, x, y))))
}

// helperFor checks the values of a numeric for, in the order of Lua's checks.
func helperFor(L *lua.LState) int {
	a := argsOf(L)
	init, limit, step := a.get(1), a.get(2), a.get(3)
	if isInteger(init) && isInteger(step) && step == lua.LValue(lua.LNumber(0)) {
		a.errorf("'for' step is zero")
	}
	y := a.forNumber(limit, "limit")
	z := a.forNumber(step, "step")
	x := a.forNumber(init, "initial value")
	if z == lua.LValue(lua.LNumber(0)) {
		a.errorf("'for' step is zero")
	}
	first := z
	if !isInteger(x) || !isInteger(z) {
		x, y, z = inFloats(x), inFloats(y), inFloats(z)
		first = tiny(z)
	} else if f, _ := number.ToFloat(y); math.Abs(f) < number.MaxExact && !isBoxed(x) && !isBoxed(z) {
		first = tiny(z)
	}
	for _, v := range []lua.LValue{x, y, z, first} {
		a.L.Push(v)
	}
	return 4
}

// tiny is the smallest number with the sign of the ordinary number z.
func tiny(z lua.LValue) lua.LValue {
	return lua.LNumber(math.Copysign(math.SmallestNonzeroFloat64, float64(z.(lua.LNumber))))
}

func inFloats(v lua.LValue) lua.LValue {
	f, _ := number.ToFloat(v)
	return lua.LNumber(f)
}

func isBoxed(v lua.LValue) bool {
	_, ok := v.(number.Int)
	return ok
}

func isInteger(v lua.LValue) bool {
	f, ok := v.(lua.LNumber)
	return isBoxed(v) || ok && number.IsInteger(f)
}

// forNumber returns a value of a numeric for; strings convert.
func (a args) forNumber(v lua.LValue, what string) lua.LValue {
	n, ok := number.Coerce(v)
	if !ok {
		a.errorf("bad 'for' %s (number expected, got %s)", what, typeName(a.L, v))
	}
	return n
}

func helperAppend(L *lua.LState) int {
	a := argsOf(L)
	t, n := a.table(1), clampInt(a.int(2))
	count := a.top() - 2
	a.burn(int64(count))
	a.m().Charge(a.L, int64(count)*40)
	for i := 1; i <= count; i++ {
		t.RawSetInt(n+i, a.get(i+2))
	}
	return a.push(t)
}

// helperClose runs the rest of a block whose variable is to be closed.
func helperClose(L *lua.LState) int {
	a := argsOf(L)
	v, body := a.get(1), a.get(3)
	closer := lua.LNil
	if lua.LVAsBool(v) {
		closer = objectMeta(a.L, v, "__close")
		if isNil(closer) {
			a.errorf("variable '%s' got a non-closable value", quote(a.str(2)))
		}
	}
	rest := make([]lua.LValue, 0, max(a.top()-3, 0))
	for i := 4; i <= a.top(); i++ {
		rest = append(rest, a.get(i))
	}
	results, err, ok := a.m().Protected(a.L, body, rest, lua.LNil)
	cause := lua.LNil
	if !ok {
		cause = err
	}
	if !isNil(closer) {
		a.call(closer, v, cause)
	}
	if !ok {
		Raise(a.L, err)
	}
	if len(results) == 0 {
		return 0
	}
	a.L.Push(results[0])
	if results[0] != lua.LValue(lua.LNumber(0)) {
		return 1
	}
	a.L.Push(packValues(a, results[1:]))
	return 2
}

// packValues puts values into a table that Spread takes apart.
func packValues(a args, values []lua.LValue) *lua.LTable {
	a.m().Charge(a.L, int64(len(values))*16+600)
	t := newTable(len(values)+1, 0)
	t.RawSetInt(1, lua.LNumber(len(values)))
	for i, v := range values {
		t.RawSetInt(i+2, v)
	}
	return t
}

func helperSpread(L *lua.LState) int {
	a := argsOf(L)
	packed := a.table(1)
	n, _ := packed.RawGetInt(1).(lua.LNumber)
	at := a.results(int64(n))
	if at < 0 {
		a.errorf("stack overflow")
	}
	for i := range int(n) {
		a.L.Replace(at+i, packed.RawGetInt(i+2))
	}
	return int(n)
}

func helperInt(L *lua.LState) int {
	a := argsOf(L)
	v, ok := number.Parse(a.str(1))
	if !ok {
		a.errorf("malformed number near '%s'", quote(a.str(1)))
	}
	return a.push(v)
}
