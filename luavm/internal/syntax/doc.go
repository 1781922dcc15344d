// Package syntax is the Lua 5.4 front end of the plugin VM: Compile turns source
// text into a prototype that gopher-lua v1.1.2 runs as Lua 5.4 would.
//
// The source is parsed by an own parser into gopher-lua's syntax tree, lowered on
// the way to shapes that gopher-lua's compiler translates rightly (it does not
// for much ordinary code), and compiled by it. What the virtual machine has no
// instruction for becomes a call of a Helper, which the caller passes to the
// compiled main function.
//
// Guarantees: Compile never panics, whatever the source, and takes bounded time,
// memory and stack; its result is immutable and may run in any number of states
// at once. Numeric loops, and comparisons of boxed integers with numbers, need a
// boxed.Hook in the thread. lua.CompatVarArg must be false when Compile is called. The lowering
// leans on details of gopher-lua's compiler, so its version must stay pinned; the
// tests here and the command difftest notice what a new one changes.
//
// Differences from Lua 5.4 that come from here:
//
//   - Numbers are float64. An integral one counts as an integer, so 3 // 0 and
//     3.0 // 0 are both errors. Integer literals beyond 2^53 are boxed (see Int);
//     as a table's key such an integer is another one than the float of its value.
//   - A numeric for with a whole number as step whose first value is a fraction
//     in a variable may be off by the last bit.
//   - Operands of different types, and tables with different metamethods, are
//     compared by __lt, __le and __eq where the source names these; a source that
//     builds their names from pieces gets the older rules of Lua 5.1.
//   - The fourth value of a generic for is not closed.
//   - A handler of xpcall runs after the closers of <close> variables.
//   - _ENV cannot be named; a chunk has no arguments.
//   - In t[i] = f(), where f assigns to the local i, the old i counts.
//   - The limits are the constants below, and 200 registers a function, which
//     some functions of more than 150 locals need.
package syntax
