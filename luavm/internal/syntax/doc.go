// Package syntax is the Lua 5.4 front end of the plugin VM: Compile turns source
// text into a prototype that gopher-lua v1.1.2 runs as Lua 5.4 would.
//
// The source is parsed by an own parser into gopher-lua's syntax tree; the tree
// is lowered to shapes that gopher-lua's compiler translates rightly (it does
// not for much ordinary code), and compiled by it. What the virtual machine has
// no instruction for becomes a call of a Helper, which the caller passes to the
// compiled main function.
//
// Guarantees: Compile never panics and never recurses deeper than the limits
// allow, whatever the source; it touches nothing but its arguments; its result
// is immutable and may run in any number of states at once. lua.CompatVarArg
// must be false when Compile is called.
package syntax
