package luavm

import (
	"fmt"
	"slices"
	"time"

	lua "github.com/yuin/gopher-lua"

	"clm/luavm/internal/layout"
	"clm/luavm/internal/stdlib"
)

func taskMethods() []apiFunction {
	return []apiFunction{
		{"wait", func(a api) int {
			t := a.task()
			a.mustWait()
			a.waitFor([]*Task{t}, WaitAll, -1)
			a.L.Push(lua.LTrue)
			return 1
		}},
		{"result", func(a api) int {
			t := a.task()
			if !t.ended {
				a.L.Push(lua.LNil)
				return 1
			}
			a.L.Push(a.outcome(t))
			return 1
		}},
		{"cancel", func(a api) int {
			t := a.task()
			reason := "task cancelled"
			if a.L.Get(2) != lua.LNil {
				reason = a.str(2)
			}
			a.cancel(t, reason)
			a.L.Push(lua.LBool(t.state == cancelled))
			return 1
		}},
	}
}

func apiSpawn(a api) int {
	a.mustWait()
	a.mustBeMain()
	fn, ok := a.L.Get(1).(*lua.LFunction)
	if !ok {
		a.badArgument(1, "function")
	}
	if a.c.live() >= MaxLiveTasks {
		a.raise("clm.spawn: the call has %d live tasks, the limit", MaxLiveTasks)
	}
	a.v.Charge(a.L, 512)
	t := &Task{}
	a.c.start(t, fn)
	t.handle = &lua.LUserData{Value: t, Metatable: a.v.shared.task}
	a.c.out.Spawned = append(a.c.out.Spawned, t)
	a.L.Push(t.handle)
	return 1
}

func apiWaitAny(a api) int {
	ts := a.tasks(1, false)
	timeout := time.Duration(-1)
	if a.L.Get(2) != lua.LNil {
		timeout = a.milliseconds(2)
	}
	a.waitFor(ts, WaitAny, timeout)
	if i := slices.IndexFunc(ts, func(t *Task) bool { return t.ended }); i >= 0 {
		a.L.Push(lua.LNumber(i + 1))
		return 1
	}
	return a.failed("timeout")
}

func apiAwaitAll(a api) int {
	ts := a.tasks(1, true)
	a.waitFor(ts, WaitAll, -1)
	outcomes := make([]lua.LValue, len(ts))
	for i, t := range ts {
		outcomes[i] = a.outcome(t)
	}
	return a.pushArray(outcomes)
}

func apiTryAll(a api) int {
	ts := a.tasks(1, true)
	a.waitFor(ts, WaitTry, -1)
	var first *Task
	for _, t := range ts {
		if t.ended && t.state != succeeded && (first == nil || t.sequence < first.sequence) {
			first = t
		}
	}
	if first != nil {
		for _, t := range ts {
			t.read = true
			a.cancel(t, "sibling failed")
		}
		return a.failed(first.err)
	}
	values := make([]lua.LValue, len(ts))
	for i, t := range ts {
		if values[i] = t.value; t.value == nil {
			values[i] = lua.LNil
		}
	}
	return a.pushArray(values)
}

func (a api) pushArray(values []lua.LValue) int {
	a.v.Charge(a.L, tableBytes+int64(len(values))*slotBytes)
	a.L.Push(layout.NewArray(values))
	return 1
}

// task is the handle in argument 1, of this call, used by main.
func (a api) task() *Task {
	t := a.handle(a.L.Get(1))
	if t == nil {
		a.badArgument(1, "task")
	}
	a.mustBeMain()
	return t
}

// handle is the task of this call that v stands for, nil if v is no task.
func (a api) handle(v lua.LValue) *Task {
	ud, ok := v.(*lua.LUserData)
	if !ok {
		return nil
	}
	t, ok := ud.Value.(*Task)
	if !ok {
		return nil
	}
	if t.call != a.c {
		a.raise("%s: the task belongs to another call", a.name)
	}
	return t
}

// tasks reads the array of handles in argument n, all of this call and each once.
func (a api) tasks(n int, mayBeEmpty bool) []*Task {
	a.mustWait()
	a.mustBeMain()
	list, ok := a.L.Get(n).(*lua.LTable)
	if !ok {
		a.badArgument(n, "an array of tasks")
	}
	count := list.Len()
	if count > MaxWaitTasks || count == 0 && !mayBeEmpty {
		a.raise("%s: expected 1 to %d tasks, got %d", a.name, MaxWaitTasks, count)
	}
	ts := make([]*Task, count)
	seen := make(map[*Task]bool, count)
	for i := range ts {
		t := a.handle(list.RawGetInt(i + 1))
		if t == nil {
			a.raise("%s: element %d is not a task", a.name, i+1)
		}
		if seen[t] {
			a.raise("%s: element %d is in the list twice", a.name, i+1)
		}
		ts[i], seen[t] = t, true
	}
	return ts
}

// waitFor parks main until the wait is over, or the timeout.
func (a api) waitFor(ts []*Task, mode WaitMode, timeout time.Duration) {
	known := func(t *Task) (done, bad bool) { return t.ended, t.ended && t.state != succeeded }
	for !(Wait{Tasks: ts, Mode: mode}).Over(known) {
		open := slices.DeleteFunc(slices.Clone(ts), func(t *Task) bool { return t.ended })
		if in := a.t.await(Wait{Tasks: open, Mode: mode, Timeout: timeout}); in.Timeout {
			return
		}
	}
}

// cancel ends a task that has not ended.
func (a api) cancel(t *Task, reason string) {
	if t.ended {
		return
	}
	out := &a.c.out
	t.end(&abort{text: reason, cancel: true})
	if i := slices.Index(out.Spawned, t); i >= 0 { // the host never heard of it
		out.Spawned = slices.Delete(out.Spawned, i, i+1)
		return
	}
	out.Cancelled = append(out.Cancelled, t)
}

// outcome is the table of a task that has ended, always the same one.
func (a api) outcome(t *Task) *lua.LTable {
	t.read = true
	if t.table != nil {
		return t.table
	}
	fields := []lua.LValue{lua.LString("ok"), lua.LBool(t.state == succeeded)}
	switch {
	case t.state != succeeded:
		fields = append(fields, lua.LString("error"), lua.LString(t.err))
		if t.state == cancelled {
			fields = append(fields, lua.LString("cancelled"), lua.LTrue)
		}
	case t.value != nil && t.value != lua.LNil:
		fields = append(fields, lua.LString("value"), t.value)
	}
	a.v.Charge(a.L, tableBytes+int64(len(fields))*keyBytes)
	t.table = layout.NewRecord(fields, nil)
	return t.table
}

// succeed keeps what a task returned: one value as it is, several in an array.
func (t *Task) succeed(results []lua.LValue) {
	if t.call.first && len(results) > 1 {
		results = results[:1]
	}
	switch len(results) {
	case 0:
	case 1:
		t.value = results[0]
	default:
		t.call.vm.Charge(nil, tableBytes+int64(len(results))*slotBytes)
		t.value = layout.NewArray(results)
	}
}

// describe makes a text of an error value, as tostring does, with a fixed one where that fails.
func (t *Task) describe(err lua.LValue) string {
	if s, ok := err.(lua.LString); ok {
		return string(s)
	}
	th := t.enter(maxFrames)
	results, _, ok := th.call(stdlib.Libraries().Base.RawGetString("tostring"), []lua.LValue{err})
	th.leave()
	if ok && len(results) == 1 {
		if s, ok := results[0].(lua.LString); ok {
			return string(s)
		}
	}
	return fmt.Sprintf("error object is a %s value", err.Type())
}

// live counts the children that have not ended.
func (c *Call) live() int {
	n := len(c.tasks)
	if !c.main.ended {
		n--
	}
	return n
}
