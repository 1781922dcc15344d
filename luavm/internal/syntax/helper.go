package syntax

// A Helper is a function that compiled code calls for what gopher-lua's
// instructions cannot do, or do differently from Lua 5.4. The compiled main
// function takes its helpers as arguments, in the order of Chunk.Helpers.
//
// Conventions that hold for all of them:
//   - Arguments and results are ordinary Lua values; a helper always gets
//     exactly the arguments listed at its constant.
//   - "a number" is an lua.LNumber with an integral or fractional value, or a
//     boxed integer. Integers with -2^53 <= v <= 2^53 are always LNumbers, all
//     others boxed, so that equal integers are equal values.
//   - Binary operators try the operands as numbers first (strings convert as in
//     Lua 5.4), then the metamethod of the left, then of the right operand; a
//     metamethod's result is cut to one value.
//   - Errors are raised with the position of the caller (level 1) and read as in
//     Lua 5.4, e.g. "attempt to perform bitwise operation on a nil value".
//
// What compiled code relies on outside the helpers: "+", "-", "*", "/", "^",
// unary "-" and "%" by a literal other than zero are gopher-lua's own
// instructions. Those read strings by Go's rules ("010" is 8, "inf" a number)
// unless the metatable of strings has __add, __sub, __mul, __div, __mod, __pow
// and __unm; boxed integers work there through a metatable of their type, which
// has __lt, __le, __concat and __index too.
type Helper uint8

const (
	// IDiv(a, b): a // b, floored; metamethod __idiv. Numbers without fraction
	// count as integers: a zero b with an integral a raises "attempt to divide by
	// zero".
	IDiv Helper = iota
	// Mod(a, b): a % b with the sign of b; metamethod __mod. An integral a with
	// a zero b raises "attempt to perform 'n%0'", a fraction gives NaN.
	Mod
	// BAnd(a, b): a & b; metamethod __band. The result of the bit operators is
	// exact in all 64 bits. A fraction raises "number has no integer representation".
	BAnd
	// BOr(a, b): a | b; metamethod __bor.
	BOr
	// BXor(a, b): a ~ b; metamethod __bxor.
	BXor
	// Shl(a, b): a << b, logical, by any b; metamethod __shl.
	Shl
	// Shr(a, b): a >> b, logical, by any b; metamethod __shr.
	Shr
	// BNot(a): ~a; metamethod __bnot.
	BNot
	// Concat(a, b, …): a .. b .. …, two to 1,000 operands, from the right;
	// metamethod __concat for each pair that is not string or number.
	Concat
	// Eq(a, b): a == b for any values; metamethod __eq of a, else of b, also
	// when the two differ. Only code that names "__eq" calls it.
	Eq
	// Lt(a, b): a < b for any values, also boxed integers against fractions and
	// operands of different types; metamethod __lt of a, else of b. Only code
	// that names "__lt" or "__le" calls it and Le; all other code compares
	// natively, boxed integers with numbers by way of a boxed.Hook.
	Lt
	// Le(a, b): a <= b, as Lt; metamethod __le only.
	Le
	// Gt(a, b): b < a, for operands that must be evaluated from the left.
	Gt
	// Ge(a, b): b <= a.
	Ge
	// For(init, limit, step): checks the values of a numeric for whose step is
	// not a literal, and returns the three as numbers, as LNumbers (boxed ones
	// rounded) where the first value or the step is no integer. The fourth result
	// is the step for the first round: the smallest LNumber with the step's sign,
	// which changes nothing that it is subtracted from and added to; or the step
	// itself where integers beyond 2^53 may be met, which a boxed.Hook counts.
	// Strings convert. Errors: "bad 'for' initial value (number expected, got
	// table)" (limit, step alike), checked in the order limit, step, initial
	// value, and "'for' step is zero".
	For
	// Append(t, n, …): stores the values from the third on as t[n+1], t[n+2], …
	// without metamethods, and returns the table t.
	Append
	// Close(value, name, body, …) runs body(…) as the rest of a block behind
	// "local name <close> = value". value must be nil, false or have a
	// metamethod __close, or it raises "variable 'name' got a non-closable value".
	// When body has returned, __close(value, nil) is called; when it raised err,
	// __close(value, err) is called and err raised again, or the error of
	// __close in its place. nil and false are not closed.
	// body's results are none when the block ran to its end, else a number,
	// followed, if it is 0, by the values of a return statement. Close returns
	// none, or that number and, for 0, one value that Spread takes.
	Close
	// Spread(v) returns the values that Close packed in v: v is a table with their
	// number at 1 and the values from 2 on. Code makes such tables too.
	Spread
	// Int(text): the integer with the decimal text, in the range of int64.
	Int

	// NumHelpers is the number of helpers.
	NumHelpers
)

var helperNames = [NumHelpers]string{
	"IDiv", "Mod", "BAnd", "BOr", "BXor", "Shl", "Shr", "BNot", "Concat",
	"Eq", "Lt", "Le", "Gt", "Ge", "For", "Append", "Close", "Spread", "Int",
}

// String returns the name of the constant.
func (h Helper) String() string {
	if h < NumHelpers {
		return helperNames[h]
	}
	return "Helper(?)"
}
