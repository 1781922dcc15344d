// Package stdlib is the standard library of the sandbox: base, string, table,
// math and utf8 of Lua 5.4, written anew for gopher-lua.
//
// Guarantees:
//   - Every function reads its Meter from the context of the state that calls
//     it, so one *lua.LFunction serves all VMs of the process at once.
//   - Memory is charged before it is allocated, and every loop whose length the
//     caller chooses burns CPU, so that no call outlives a deadline by more than
//     a fraction of a millisecond or outgrows the memory limit.
//   - A substring never keeps its parent alive: results are copies.
//   - Errors read like those of Lua 5.4 and embed at most a bounded part of
//     their operands.
//   - Nothing panics on bad input; the only panics that leave the package are
//     Lua errors.
//
// Differences from Lua 5.4 come from gopher-lua's numbers, which are float64:
// an integral float of at most 2^53 is an integer, and prints like one.
package stdlib
