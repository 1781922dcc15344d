// Package vm is the part of the protocol that hands a plugin's Lua VM from one
// actor to another. A VM has one holder at a time; handing it over is the one
// place where the engine's actors pass something mutable.
package vm

import (
	"context"

	"clm/luavm"
)

// Lend asks for the plugin's VM. From a task to a plugin; answered by [Lent]
// when it is the task's turn.
type Lend struct{}

// Lent lends the VM: only the receiver runs it until it sends [Return]. Who
// gets it first runs its load-time code by Load, so that this too belongs to a
// task and ends with it; a VM that comes back unloaded is thrown away.
type Lent struct {
	VM   *luavm.VM
	Load func(ctx context.Context, v *luavm.VM) error
}

// Return gives the VM back, or takes a [Lend] back. From a task to a plugin;
// no answer. A task sends it in any case before it ends.
type Return struct{}

// RunTask runs a coroutine to its end. From a toolcall to its main task, from
// a main task to a spawned one; answered by [TaskDone]. The two names of a call
// are set for main alone.
type RunTask struct {
	Tool string
	Args string
}

// TaskStarted says that a call's Lua begins to run. From the main task to its
// toolcall; no answer.
type TaskStarted struct{}

// TaskDone is the end of a coroutine.
type TaskDone struct {
	ID     int
	Failed bool
	Result *luavm.Result // main's; of a spawned one only when it ended the call
}

// RunRequest starts one HTTP request, timer or file access. From a task to a
// request; answered by [RequestDone].
type RunRequest struct{}

// RequestDone is what the task's coroutine gets for its wish.
type RequestDone struct{ Answer luavm.Answer }
