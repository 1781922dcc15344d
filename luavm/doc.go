// Package luavm runs untrusted Lua 5.4 plugins in-process: one VM per plugin and agent, driven from outside.
//
// A host compiles a file once (Compile), makes a VM of it where needed (New), runs its load-time code (Load) and
// then calls its tools (Call). Each call is a main task and the tasks that it spawns. The host steps a task
// (Task.Step) and gets back its end or what it wants: a request, a pause, a file, another tool, other tasks' ends.
// The package itself does no I/O and starts no goroutine that outlives a Step.
//
// Guarantees:
//   - Plugin code reaches nothing but its own globals, the safe libraries and what the host answers. VMs share only
//     data that cannot be changed.
//   - CPU time of a call and memory of a VM are limited (see Options and Tool.Timeout). Past either, or when the
//     host cancels, the code stops within a fraction of a millisecond of Lua; it cannot catch that, run on in an error
//     handler or a closer, or hurt its neighbours. Errors of depth are ordinary errors.
//   - A task that waits can be ended at any time (Task.Kill, task:cancel); it never runs again, and when Kill returns
//     its coroutine is gone.
//   - One Step of a VM runs at a time; several calls of one VM interleave where they wait.
//   - After an abort the VM is usable, or Broken says why not.
//
// Time is the wall time of the slices that run, without their waits for a processor: of slices of more than a
// millisecond as many run at once as there are processors, each for some milliseconds until it lets others run, and the
// clock stands still while one waits. Where the clock always stands still (testing/synctest) the limits hold too, in
// instructions, one for each nanosecond.
//
// Memory is what the plugin's values hold in Go, as charged before it is allocated and measured from time to time by a
// walk over all that the plugin can reach; between two walks it may be off by half of what is free.
//
// Beside the differences from Lua 5.4 that packages below this one name, these come from the VM:
//   - Calls nest 1,000 deep, those through pcall, metamethods and callbacks included, and functions that run hold at
//     most some 4,000 variables that closures have captured.
//   - A table's integer keys up to 2^20 are an array without gaps: t[100000] = x in an empty table takes 1.6 MB.
//   - The library tables are empty tables in front of shared ones: next(string) is nil (pairs(string) works), and
//     they cannot be given a metatable.
//
// gopher-lua, the interpreter, has settings that are global to the process: this package sets lua.CompatVarArg to
// false and lua.MaxArrayIndex to 1<<20. A program that uses gopher-lua beside it must live with that.
package luavm
