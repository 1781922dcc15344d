package stdlib

import (
	"math"
	"time"

	lua "github.com/yuin/gopher-lua"

	"clm/luavm/internal/number"
)

func mathTable() *lua.LTable {
	t := library("math.", []entry{
		{"abs", mathAbs},
		{"acos", mathAcos},
		{"asin", mathAsin},
		{"atan", mathAtan},
		{"ceil", mathCeil},
		{"cos", mathFunction(math.Cos)},
		{"cosh", mathFunction(math.Cosh)},
		{"deg", mathFunction(func(x float64) float64 { return x * (180 / math.Pi) })},
		{"exp", mathFunction(math.Exp)},
		{"floor", mathFloor},
		{"fmod", mathFmod},
		{"frexp", mathFrexp},
		{"ldexp", mathLdexp},
		{"log", mathLog},
		{"log10", mathFunction(log10)},
		{"max", mathMax},
		{"min", mathMin},
		{"modf", mathModf},
		{"pow", mathPow},
		{"rad", mathFunction(func(x float64) float64 { return x * (math.Pi / 180) })},
		{"random", mathRandom},
		{"randomseed", mathRandomSeed},
		{"sin", mathFunction(math.Sin)},
		{"sinh", mathFunction(math.Sinh)},
		{"sqrt", mathFunction(math.Sqrt)},
		{"tan", mathFunction(math.Tan)},
		{"tanh", mathFunction(math.Tanh)},
		{"tointeger", mathToInteger},
		{"type", mathType},
		{"ult", mathUlt},
	})
	t.RawSetString("pi", lua.LNumber(math.Pi))
	t.RawSetString("huge", lua.LNumber(math.Inf(1)))
	t.RawSetString("maxinteger", number.FromInt(math.MaxInt64))
	t.RawSetString("mininteger", number.FromInt(math.MinInt64))
	return t
}

// mathFunction makes a library function of one on floats.
func mathFunction(f func(float64) float64) lua.LGFunction {
	return func(L *lua.LState) int {
		a := argsOf(L)
		return a.push(lua.LNumber(f(a.float(1))))
	}
}

// positiveNaN is what acos and asin give in C, unlike the other functions.
var positiveNaN = math.Float64frombits(0x7ff8 << 48)

func mathAcos(L *lua.LState) int {
	a := argsOf(L)
	return a.push(arc(math.Acos, a.float(1)))
}

func mathAsin(L *lua.LState) int {
	a := argsOf(L)
	return a.push(arc(math.Asin, a.float(1)))
}

func arc(f func(float64) float64, x float64) lua.LNumber {
	if x < -1 || x > 1 {
		return lua.LNumber(positiveNaN)
	}
	return lua.LNumber(f(x))
}

func mathAtan(L *lua.LState) int {
	a := argsOf(L)
	x := 1.0
	if !a.none(2) {
		x = a.float(2)
	}
	return a.push(lua.LNumber(math.Atan2(a.float(1), x)))
}

func mathAbs(L *lua.LState) int {
	a := argsOf(L)
	switch n := a.number(1).(type) {
	case number.Int:
		if n < 0 {
			n = -n // the smallest integer stays as it is
		}
		return a.push(n)
	case lua.LNumber:
		return a.push(lua.LNumber(math.Abs(float64(n))))
	}
	return 0
}

// ceil and floor leave floats beyond 2^53 floats, though they fit into integers: a
// boxed result would differ from the argument. Adding 0 makes -0 a 0.

func mathCeil(L *lua.LState) int {
	a := argsOf(L)
	if f, ok := a.get(1).(lua.LNumber); ok {
		return a.push(lua.LNumber(math.Ceil(float64(f)) + 0))
	}
	return mathRound(a, math.Ceil)
}

func mathFloor(L *lua.LState) int {
	a := argsOf(L)
	if f, ok := a.get(1).(lua.LNumber); ok {
		return a.push(lua.LNumber(math.Floor(float64(f)) + 0))
	}
	return mathRound(a, math.Floor)
}

// mathRound is for strings and boxed integers.
func mathRound(a args, f func(float64) float64) int {
	n := a.number(1)
	if x, ok := n.(lua.LNumber); ok {
		n = lua.LNumber(f(float64(x)) + 0)
	}
	return a.push(n)
}

func mathFmod(L *lua.LState) int {
	a := argsOf(L)
	x, y := a.number(1), a.number(2)
	_, boxed1 := x.(number.Int)
	_, boxed2 := y.(number.Int)
	i, ok1 := number.ToInt(x)
	j, ok2 := number.ToInt(y)
	integers := ok1 && ok2 && (boxed1 || boxed2 || i >= -number.MaxExact && i <= number.MaxExact && j >= -number.MaxExact && j <= number.MaxExact)
	switch {
	case !integers:
		f, _ := number.ToFloat(x)
		g, _ := number.ToFloat(y)
		return a.push(lua.LNumber(math.Mod(f, g)))
	case j == 0:
		a.argError(2, "zero")
	}
	return a.push(number.FromInt(i % j)) // i % -1 is 0 in Go, without overflow
}

func mathLog(L *lua.LState) int {
	a := argsOf(L)
	x := a.float(1)
	if a.none(2) {
		return a.push(lua.LNumber(logarithm(x)))
	}
	switch base := a.float(2); base {
	case 2:
		return a.push(lua.LNumber(math.Log2(x)))
	case 10:
		return a.push(lua.LNumber(log10(x)))
	default:
		return a.push(lua.LNumber(logarithm(x) / logarithm(base)))
	}
}

// The functions that 5.4 has for compatibility only, but builds usually offer.

func mathPow(L *lua.LState) int {
	a := argsOf(L)
	return a.push(lua.LNumber(math.Pow(a.float(1), a.float(2))))
}

func mathFrexp(L *lua.LState) int {
	a := argsOf(L)
	fraction, exponent := math.Frexp(a.float(1))
	a.L.Push(lua.LNumber(fraction))
	a.L.Push(lua.LNumber(exponent))
	return 2
}

func mathLdexp(L *lua.LState) int {
	a := argsOf(L)
	exponent := min(max(a.int(2), -1<<20), 1<<20)
	return a.push(lua.LNumber(math.Ldexp(a.float(1), int(exponent))))
}

// logarithm is the natural logarithm, nearer to the C library's than Go's: one
// step of Newton's method takes off the error in the last digit, which shows in
// quotients such as log(27) / log(3).
func logarithm(x float64) float64 {
	y := math.Log(x)
	if e := math.Exp(y); math.Abs(y) > 1 && e > 0 && !math.IsInf(e, 0) {
		y -= (e - x) / x
	}
	return y
}

// log10 is exact for powers of ten, which Go's is not, and has a step of Newton's
// method elsewhere, like logarithm.
func log10(x float64) float64 {
	y := math.Log10(x)
	if p := math.Pow(10, y); math.Abs(y) > 1 && p > 0 && !math.IsInf(p, 0) {
		y -= (p - x) / (x * math.Ln10)
	}
	if r := math.Round(y); math.Abs(r) < 300 && math.Pow10(int(r)) == x {
		return r
	}
	return y
}

func mathMax(L *lua.LState) int {
	a := argsOf(L)
	return mathBest(a, func(v, best lua.LValue) bool { return less(a, best, v) })
}

func mathMin(L *lua.LState) int {
	a := argsOf(L)
	return mathBest(a, func(v, best lua.LValue) bool { return less(a, v, best) })
}

// mathBest returns the first argument to which no later one is better. Like
// Lua's it compares anything that can be compared.
func mathBest(a args, better func(v, best lua.LValue) bool) int {
	if a.top() < 1 {
		a.argError(1, "value expected")
	}
	best := a.get(1)
	for i := 2; i <= a.top(); i++ {
		if v := a.get(i); better(v, best) {
			best = v
		}
	}
	return a.push(best)
}

func mathModf(L *lua.LState) int {
	a := argsOf(L)
	n := a.number(1)
	f, boxed := n.(lua.LNumber)
	if !boxed {
		a.L.Push(n)
		a.L.Push(lua.LNumber(0))
		return 2
	}
	whole := math.Trunc(float64(f))
	fraction := float64(f) - whole
	if math.IsInf(whole, 0) {
		fraction = 0
	}
	a.L.Push(lua.LNumber(whole))
	a.L.Push(lua.LNumber(fraction))
	return 2
}

func mathRandom(L *lua.LState) int {
	a := argsOf(L)
	r := a.m().Rand()
	var low, up int64
	switch a.top() {
	case 0:
		return a.push(lua.LNumber(r.Float()))
	case 1:
		low, up = 1, a.int(1)
		if up == 0 {
			return a.push(number.FromInt(int64(r.Next())))
		}
	case 2:
		low, up = a.int(1), a.int(2)
	default:
		a.errorf("wrong number of arguments")
	}
	if low > up {
		a.argError(1, "interval is empty")
	}
	return a.push(number.FromInt(low + int64(r.Below(uint64(up)-uint64(low)))))
}

func mathRandomSeed(L *lua.LState) int {
	a := argsOf(L)
	var x, y uint64
	if a.top() == 0 {
		x, y = uint64(time.Now().UnixNano()), a.m().Rand().Next()
	} else {
		x, y = uint64(a.int(1)), uint64(a.optInt(2, 0))
	}
	a.m().Rand().Seed(x, y)
	a.L.Push(number.FromInt(int64(x)))
	a.L.Push(number.FromInt(int64(y)))
	return 2
}

func mathToInteger(L *lua.LState) int {
	a := argsOf(L)
	v, ok := number.Coerce(a.any(1))
	if !ok {
		return a.push(lua.LNil)
	}
	i, ok := number.ToInt(v)
	if !ok {
		return a.push(lua.LNil)
	}
	return a.push(number.FromInt(i))
}

func mathType(L *lua.LState) int {
	a := argsOf(L)
	switch n := a.any(1).(type) {
	case number.Int:
		return a.push(integerName)
	case lua.LNumber:
		if number.IsInteger(n) {
			return a.push(integerName)
		}
		return a.push(floatName)
	}
	return a.push(lua.LNil)
}

var (
	integerName = lua.LValue(lua.LString("integer"))
	floatName   = lua.LValue(lua.LString("float"))
)

func mathUlt(L *lua.LState) int {
	a := argsOf(L)
	return a.push(lua.LBool(uint64(a.int(1)) < uint64(a.int(2))))
}
