package luavm

import (
	"context"
	"iter"
	"slices"
	"sync/atomic"
	"time"

	lua "github.com/yuin/gopher-lua"
)

// Call is one run of a tool, or of the load-time code: main and the tasks that it spawns.
type Call struct {
	vm      *VM
	tool    string
	rawArgs string
	config  map[string]any
	configT *lua.LTable
	limit   time.Duration
	loading bool
	first   bool // keep main's first result as it is: EvalConfig
	main    Task
	cpu     atomic.Int64  // nanoseconds
	yielded time.Duration // what cpu was when the call last let others run

	problem  error // ends the first Step
	tasks    []*Task
	only     [1]*Task // what tasks begins with: most calls have no other
	lastID   int
	ends     int // order of the tasks' ends
	requests int
	accesses int     // of files, at load time
	failed   []*Task // ended by an error, in order of their ends
	done     bool    // ctx:complete or ctx:fail was called
	result   *Result
	over     *abort // the whole call is at its end: no task of it runs again
	out      Yield  // of the Step that runs
}

// Main is the call's first task.
func (c *Call) Main() *Task { return &c.main }

// CPU is how long the call's Lua code has run so far, waiting left out.
func (c *Call) CPU() time.Duration { return time.Duration(c.cpu.Load()) }

// open enters the call in its VM, with fn and its arguments as main.
func (c *Call) open(problem error, fn lua.LValue, args []lua.LValue) *Call {
	v := c.vm
	c.problem = problem
	if c.problem == nil && v.closed {
		c.problem = errClosed
	}
	if c.problem == nil {
		c.problem = v.broken
	}
	c.tasks = c.only[:0]
	c.start(&c.main, fn)
	c.main.args = args
	v.calls = append(v.calls, c)
	return c
}

// start makes t a task of c that runs fn.
func (c *Call) start(t *Task, fn lua.LValue) {
	c.lastID++
	t.call, t.id, t.fn = c, c.lastID, fn
	t.threads = t.base[:0]
	c.tasks = append(c.tasks, t)
}

type state uint8

const (
	pending state = iota
	succeeded
	failed
	cancelled
)

// Task is a coroutine of a call.
type Task struct {
	call    *Call
	id      int
	fn      lua.LValue
	args    []lua.LValue
	next    func() (Want, bool) // nil until the first Step
	stop    func()
	yield   func(Want) bool
	answer  Answer
	threads []*thread  // base first
	base    [1]*thread // what threads begins with
	pins    int64      // the task's share of VM.pinned
	deepest int        // frames that it has had at most
	abort   *abort     // set: it is being unwound, and nothing of its code runs any more
	killers []chan struct{}
	ended   bool
	handle  *lua.LUserData

	state    state
	value    lua.LValue // succeeded: the normalised value; nil: none
	err      string     // failed, cancelled
	read     bool
	sequence int         // when it ended, among the call's tasks
	table    *lua.LTable // the outcome, once it was read
}

// ID is 1 for main; spawned tasks count up in spawn order.
func (t *Task) ID() int { return t.id }

// Step runs t's Lua until it wants something or ends. in answers the want of the Step before, the zero Answer at
// first. One Step of a VM runs at a time; others wait. When ctx ends or the call's CPU limit is over, the code is
// aborted, which it cannot catch, and t ends. Stepping a task that has ended gives Done again.
func (t *Task) Step(ctx context.Context, in Answer) Yield {
	c, v := t.call, t.call.vm
	v.acquire()
	defer func() {
		v.long = nil
		v.release()
	}()
	v.serveKills()
	if t.ended {
		return t.lastYield(Yield{Done: true})
	}
	c.out = Yield{}
	switch {
	case c.problem != nil:
		c.result = &Result{Text: c.problem.Error(), Failed: true}
		t.end(&abort{text: c.result.Text})
	case c.over != nil:
		t.end(c.over)
	case ctx.Err() != nil:
		t.end(&abort{text: reasonOf(ctx), cancel: true})
	default:
		c.out.Want = v.run(ctx, t, in)
	}
	y := c.out
	c.out = Yield{}
	if !t.ended {
		return y
	}
	y.Done, y.Want = true, nil
	if t == &c.main {
		y.Spawned, y.Cancelled = nil, c.cancelRest(y.Cancelled)
	}
	return t.lastYield(y)
}

func (t *Task) lastYield(y Yield) Yield {
	c := t.call
	if t == &c.main || c.over != nil {
		y.Result = c.result
	}
	y.Failed = t != &c.main && t.state == failed
	return y
}

// run is one slice of t's coroutine.
func (v *VM) run(ctx context.Context, t *Task, in Answer) Want {
	c := t.call
	t.answer = in
	v.task = t
	v.setConfig(c)
	v.begin(ctx, c)
	if t.next == nil {
		t.next, t.stop = iter.Pull(t.body)
	}
	want, more := v.resume(t)
	if !more {
		t.settle()
	}
	return want
}

// resume lets t's coroutine run. The deferred part is for a host whose code in it ends the goroutine.
func (v *VM) resume(t *Task) (Want, bool) {
	defer func() {
		v.finish(t.call)
		v.task = nil
	}()
	return t.next()
}

// body is the coroutine: fn under the VM's limits, and what becomes of it.
func (t *Task) body(yield func(Want) bool) {
	t.yield = yield
	growStack(0)
	results, err, ok := t.enter(maxFrames).call(t.fn, t.args)
	switch {
	case t.abort != nil:
	case !ok:
		t.guard(func() {
			t.state, t.err = failed, "unknown error"
			t.err = t.describe(err)
		})
	default:
		t.state = succeeded
		t.guard(func() { t.succeed(results) })
	}
	for len(t.threads) > 0 {
		t.threads[len(t.threads)-1].leave()
	}
}

// growStack makes the goroutine's stack as large as nearly every task needs. It would grow anyway, but copying it is
// cheap while it holds next to nothing.
//
//go:noinline
func growStack(i int) byte {
	var frame [2 << 10]byte
	return frame[i]
}

// await gives want to the host and returns its answer. A task that is ended meanwhile does not come back from it.
func (t *Task) await(want Want) Answer {
	if !t.yield(want) {
		panic(t.abort)
	}
	return t.answer
}

// end stops a task for the reason a: at once, or at its next check if it runs.
func (t *Task) end(a *abort) {
	v := t.call.vm
	switch {
	case t.ended:
		return
	case t == v.task:
		if t.abort == nil {
			t.abort = a
		}
		return
	}
	t.abort = a
	if t.next != nil {
		running := v.task
		v.task = t
		t.stop()
		v.task = running
	}
	t.settle()
}

// settle records the outcome of a task whose coroutine is gone.
func (t *Task) settle() {
	c, v := t.call, t.call.vm
	t.ended = true
	if a := t.abort; a != nil {
		t.state, t.err, t.value = failed, a.text, nil
		if a.cancel {
			t.state = cancelled
		}
		if a.call || t == &c.main {
			c.abortWith(a)
		}
	}
	v.pinned -= t.pins
	t.pins = 0
	t.fn, t.args, t.next, t.stop, t.yield, t.answer = nil, nil, nil, nil, nil, Answer{}
	c.ends++
	t.sequence = c.ends
	c.tasks = slices.DeleteFunc(c.tasks, func(o *Task) bool { return o == t })
	if t.state == failed && t != &c.main {
		c.failed = append(c.failed, t)
	}
	for _, done := range t.killers {
		close(done)
	}
	t.killers = nil
	if t == &c.main {
		c.conclude()
	}
	if len(c.tasks) == 0 {
		c.drop()
	}
}
