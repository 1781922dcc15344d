package number

import (
	"math"
	"strconv"
	"strings"

	lua "github.com/yuin/gopher-lua"
)

// MaxExact is the largest n so that all integers of magnitude up to n are
// LNumbers.
const MaxExact = 1 << 53

// Int is an integer beyond ±2^53. Make one with FromInt only: a small Int would
// differ from the LNumber of the same value.
type Int int64

// String returns the decimal form.
func (i Int) String() string { return strconv.FormatInt(int64(i), 10) }

// Type is a type that scripts cannot make, for which gopher-lua compares with ==
// and looks up a metatable by type. TypeName tells people the truth.
func (i Int) Type() lua.LValueType { return lua.LTChannel }

// FromInt returns i in canonical form.
func FromInt(i int64) lua.LValue {
	if i >= -MaxExact && i <= MaxExact {
		return lua.LNumber(i)
	}
	return Int(i)
}

// IsInteger tells whether f counts as an integer: integral and at most 2^53.
func IsInteger(f lua.LNumber) bool {
	return f >= -MaxExact && f <= MaxExact && f == lua.LNumber(int64(f))
}

// floatToInt converts an integral float in the int64 range, however large.
func floatToInt(f float64) (int64, bool) {
	if f >= -(1<<63) && f < 1<<63 && f == math.Trunc(f) {
		return int64(f), true
	}
	return 0, false
}

// ToInt converts a number with an exact int64 value; strings are not converted.
func ToInt(v lua.LValue) (int64, bool) {
	switch n := v.(type) {
	case lua.LNumber:
		return floatToInt(float64(n))
	case Int:
		return int64(n), true
	}
	return 0, false
}

// ToFloat converts a number to float64, rounding an Int; strings are not converted.
func ToFloat(v lua.LValue) (float64, bool) {
	switch n := v.(type) {
	case lua.LNumber:
		return float64(n), true
	case Int:
		return float64(n), true
	}
	return 0, false
}

// Coerce returns v when it is a number, or the number that a string v spells.
func Coerce(v lua.LValue) (lua.LValue, bool) {
	switch s := v.(type) {
	case lua.LNumber, Int:
		return v, true
	case lua.LString:
		return Parse(string(s))
	}
	return nil, false
}

// TypeName returns the name that type() gives.
func TypeName(v lua.LValue) string {
	if _, ok := v.(Int); ok {
		return "number"
	}
	return v.Type().String()
}

// goNaN is what the functions of package math return for "no number". The C
// library's have the sign bit set there, like the hardware's own NaN.
const goNaN = 0x7FF8000000000001

// Format returns the text of f as Lua 5.4 prints it: an integer in full, a
// float by %.14g, and the NaNs of Linux on a PC. It is at most 24 bytes long.
func Format(f lua.LNumber) string {
	if IsInteger(f) {
		return strconv.FormatInt(int64(f), 10)
	}
	x := float64(f)
	switch {
	case math.IsNaN(x):
		return formatNaN(x)
	case math.IsInf(x, 1):
		return "inf"
	case math.IsInf(x, -1):
		return "-inf"
	}
	s := strconv.FormatFloat(x, 'g', 14, 64)
	if !strings.ContainsAny(s, ".e") {
		s += ".0" // a fraction that is rounded away still shows that there is one
	}
	return s
}

func formatNaN(x float64) string {
	b := math.Float64bits(x)
	negative := b>>63 != 0
	if b&^(1<<63) == goNaN {
		negative = !negative
	}
	if negative {
		return "-nan"
	}
	return "nan"
}

// ToString returns the text of a number or string; ok is false for other values.
func ToString(v lua.LValue) (s string, ok bool) {
	switch n := v.(type) {
	case lua.LString:
		return string(n), true
	case lua.LNumber:
		return Format(n), true
	case Int:
		return n.String(), true
	}
	return "", false
}
