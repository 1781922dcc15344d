// Package number gives gopher-lua, whose numbers are float64, the integers of
// Lua 5.4 as far as they can be had.
//
// A number is an lua.LNumber or an Int. An Int is a boxed int64 and stands only
// for integers beyond ±2^53, which a float64 cannot hold; every integer within
// that range is an LNumber (the canonical form that FromInt makes), so that two
// equal integers are always equal Lua values and equal table keys. An integral
// LNumber within ±2^53 counts as an integer, any other LNumber as a float.
//
// Arithmetic with an Int is int64 arithmetic that wraps around, as long as the
// other operand is integral; with a fraction it is float arithmetic. Arithmetic
// of LNumbers alone never makes an Int.
package number
