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
// Differences from Lua 5.4 come from gopher-lua's numbers, which are float64, and
// from boxed integers (package number); testdata/differences.txt pins each. What
// is missing on purpose: everything that loads code, reads the host or makes
// coroutines.
//
// The expected values of testdata/*.txt were written by lua5.4 (go test -update);
// the differential test compares any number of random calls with it
// (go test -run Differential -calls 100000).
package stdlib
