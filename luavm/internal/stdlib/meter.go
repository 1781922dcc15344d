package stdlib

import lua "github.com/yuin/gopher-lua"

// Meter is what a running VM gives to the library: its limits, its random
// state, its log and its way to call a function under protection. The context
// of each Lua thread of a VM must have a method Meter() Meter, and those of
// Protected may have a method Below() *lua.LState, the thread that called it.
type Meter interface {
	// Charge accounts for n bytes that are about to be allocated. Past the limit
	// it raises and does not return.
	Charge(L *lua.LState, n int64)
	// Store accounts for what t[key] = value (value not nil) may allocate in t
	// itself: a new key, the array part's growth or padding. It raises like Charge.
	Store(L *lua.LState, t *lua.LTable, key lua.LValue)
	// Burn spends n units of CPU, each about one VM instruction (10 ns), for work
	// done inside Go. At the deadline it raises and does not return.
	Burn(L *lua.LState, n int64)
	// Pin counts n more bytes as live while a Go function holds a buffer that no
	// Lua value refers to; Pin(-n) releases them. After an error has unwound a
	// call, the pins made below it are dropped by the VM.
	Pin(n int64)
	// Print receives a line that the script printed, without the newline.
	Print(L *lua.LState, text string)
	// Protected calls fn with args on a thread of its own, so that an error of it
	// leaves L's frames and upvalues alone. ok tells whether fn returned; err is
	// the error value otherwise, or what handler made of it when handler is not
	// nil. Errors that must not be caught do not return.
	Protected(L *lua.LState, fn lua.LValue, args []lua.LValue, handler lua.LValue) (results []lua.LValue, err lua.LValue, ok bool)
	// Rand is the VM's own random state.
	Rand() *Rand
}

// MeterOf returns the Meter of the VM that L belongs to. It panics when the
// context of L has none, which is a fault of the VM, never of a script.
func MeterOf(L *lua.LState) Meter {
	return L.Context().(interface{ Meter() Meter }).Meter()
}
