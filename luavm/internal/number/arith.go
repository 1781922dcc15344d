package number

import (
	"math"

	lua "github.com/yuin/gopher-lua"
)

// Op is an operator on numbers.
type Op uint8

// The arithmetic operators, then those on 64-bit integers.
const (
	Add Op = iota
	Sub
	Mul
	Div
	Mod
	Pow
	IDiv
	Unm // the second operand is ignored
	BAnd
	BOr
	BXor
	Shl
	Shr
	BNot // the second operand is ignored
)

var events = [...]string{
	Add: "__add", Sub: "__sub", Mul: "__mul", Div: "__div", Mod: "__mod", Pow: "__pow", IDiv: "__idiv", Unm: "__unm",
	BAnd: "__band", BOr: "__bor", BXor: "__bxor", Shl: "__shl", Shr: "__shr", BNot: "__bnot",
}

// Event returns the name of the operator's metamethod.
func (o Op) Event() string { return events[o] }

// Bitwise tells whether the operator works on integers only.
func (o Op) Bitwise() bool { return o >= BAnd }

// Error is the text of a failed operation on numbers.
type Error string

func (e Error) Error() string { return string(e) }

// What numbers alone can do wrong.
const (
	ErrDivide    Error = "attempt to divide by zero"
	ErrModulo    Error = "attempt to perform 'n%0'"
	ErrNoInteger Error = "number has no integer representation"
)

// Arith applies o to two numbers (not strings).
func Arith(o Op, a, b lua.LValue) (lua.LValue, error) {
	if o.Bitwise() {
		x, ok1 := ToInt(a)
		y, ok2 := ToInt(b)
		if !ok1 || !ok2 {
			return nil, ErrNoInteger
		}
		return FromInt(bitwise(o, x, y)), nil
	}
	if x, y, ok := integers(o, a, b); ok {
		return intArith(o, x, y)
	}
	x, _ := ToFloat(a)
	y, _ := ToFloat(b)
	return floatArith(o, x, y), nil
}

// integers returns the operands when o is an integer operation on them. LNumbers
// alone need one for the errors and the exactness of // and % only. An integral
// float beyond 2^53 is a float among floats, but next to an Int it is an integer.
func integers(o Op, a, b lua.LValue) (x, y int64, ok bool) {
	if o == Div || o == Pow {
		return 0, 0, false
	}
	fa, float1 := a.(lua.LNumber)
	fb, float2 := b.(lua.LNumber)
	if float1 && float2 {
		if o != IDiv && o != Mod || !IsInteger(fa) || !IsInteger(fb) {
			return 0, 0, false
		}
		return int64(fa), int64(fb), true
	}
	x, ok1 := ToInt(a)
	y, ok2 := ToInt(b)
	return x, y, ok1 && ok2
}

func intArith(o Op, x, y int64) (lua.LValue, error) {
	switch o {
	case Add:
		return FromInt(x + y), nil
	case Sub:
		return FromInt(x - y), nil
	case Mul:
		return FromInt(x * y), nil
	case Unm:
		return FromInt(-x), nil
	case IDiv:
		if y == 0 {
			return nil, ErrDivide
		}
		q := x / y
		if x%y != 0 && (x < 0) != (y < 0) {
			q--
		}
		return FromInt(q), nil
	default: // Mod
		if y == 0 {
			return nil, ErrModulo
		}
		r := x % y
		if r != 0 && (r < 0) != (y < 0) {
			r += y
		}
		return FromInt(r), nil
	}
}

func floatArith(o Op, x, y float64) lua.LNumber {
	switch o {
	case Add:
		return lua.LNumber(x + y)
	case Sub:
		return lua.LNumber(x - y)
	case Mul:
		return lua.LNumber(x * y)
	case Div:
		return lua.LNumber(x / y)
	case Pow:
		return lua.LNumber(math.Pow(x, y))
	case IDiv:
		return lua.LNumber(math.Floor(x / y))
	case Unm:
		return lua.LNumber(-x)
	default: // Mod
		r := math.Mod(x, y)
		if r > 0 && y < 0 || r < 0 && y > 0 {
			r += y
		}
		return lua.LNumber(r)
	}
}

func bitwise(o Op, x, y int64) int64 {
	switch o {
	case BAnd:
		return x & y
	case BOr:
		return x | y
	case BXor:
		return x ^ y
	case Shl:
		return shift(x, y)
	case Shr:
		if y == math.MinInt64 { // -y would overflow
			return 0
		}
		return shift(x, -y)
	default: // BNot
		return ^x
	}
}

// shift moves x left by n bits, right for a negative n, filling with zeros.
func shift(x, n int64) int64 {
	switch {
	case n <= -64 || n >= 64:
		return 0
	case n >= 0:
		return x << n
	default:
		return int64(uint64(x) >> -n)
	}
}

// Compare returns -1, 0 or 1 as a is less than, equal to or greater than b, by
// their exact values; ok is false when one is NaN.
func Compare(a, b lua.LValue) (order int, ok bool) {
	x, isInt1 := a.(Int)
	y, isInt2 := b.(Int)
	switch {
	case isInt1 && isInt2:
		return cmp(x, y), true
	case isInt1:
		return compareIntFloat(int64(x), float64(b.(lua.LNumber)))
	case isInt2:
		order, ok = compareIntFloat(int64(y), float64(a.(lua.LNumber)))
		return -order, ok
	}
	f, g := a.(lua.LNumber), b.(lua.LNumber)
	return cmp(f, g), f == f && g == g
}

func cmp[T Int | lua.LNumber | int64](a, b T) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	}
	return 0
}

func compareIntFloat(i int64, f float64) (int, bool) {
	switch {
	case f != f:
		return 0, false
	case f >= 1<<63:
		return -1, true
	case f < -(1 << 63):
		return 1, true
	}
	t := math.Floor(f)
	if c := cmp(i, int64(t)); c != 0 || t == f {
		return c, true
	}
	return -1, true // equal to the floor of a fraction
}
