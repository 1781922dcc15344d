// Package boxed lends a hand to the few instructions of gopher-lua that take nothing but float64: numeric loops, and
// comparisons of an integer beyond 2^53 (number.Int) with an ordinary number.
//
// A Hook belongs to one thread. It is told of these instructions before they run and gives them operands that lead
// them to the right result; what they must not see of the program is put back before the next instruction. Loops and
// comparisons of ordinary numbers are left alone: a loop is looked at once, when it begins.
//
// Guarantees: integer loops visit the values that they visit in Lua 5.4 and end, whatever their bounds. Comparisons
// go by exact values.
package boxed
