package luavm

import (
	"context"
	"errors"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	lua "github.com/yuin/gopher-lua"

	"clm/luavm/internal/stdlib"
)

// VM is one sandboxed instance of a plugin: its globals, its limits, the calls that run in it. Its methods may be
// called from any goroutine; they take turns.
type VM struct {
	program *Program
	shared  *sharedLibs
	opts    Options
	limit   int64 // bytes

	g          *lua.Global
	clm        *lua.LTable // the plugin's clm table, whose config follows the running call
	strings    *lua.LTable // the plugin's string table
	stringsOwn bool        // strings have a metatable of this VM's

	// busy is held (has an element) while a Step runs or kills are served. A channel and not a mutex, so that Kill
	// can wait for it and for its own end at once.
	busy   chan struct{}
	flag   atomic.Uint32 // flagKill, flagTimer: look now, not at the next 10,000 instructions
	mu     sync.Mutex    // guards kills and waiter
	kills  []*kill
	waiter *waiter      // of the slice that waits for its turn
	used   atomic.Int64 // what Memory reports

	// The rest belongs to whoever holds busy.

	task       *Task  // whose Step runs
	long       func() // see OnLong
	slice      slice
	left       int64 // CPU units until the next check
	window     int64 // what left began with
	alloc      int64 // bytes charged since the last walk
	trigger    int64 // walk when alloc exceeds it
	live       int64 // bytes reachable at the last walk
	pinned     int64
	inFlight   int // requests
	reading    int // files
	calling    int // clm.call that wait
	callArgs   int // bytes of their arguments
	rand       *stdlib.Rand
	calls      []*Call // not ended
	tools      []Tool
	refused    map[string]string
	warnings   []string
	invokes    map[string]*lua.LFunction
	registered int    // bytes of descriptions and schemas
	started    bool   // the load-time code was started
	loadText   string // why it failed
	loaded     bool
	broken     error
	closed     bool
}

// New makes a VM that has run nothing. It costs a few microseconds and kilobytes.
func New(p *Program, o Options) *VM {
	if o.Memory <= 0 {
		o.Memory = DefaultMemory
	}
	if o.LoadTime <= 0 {
		o.LoadTime = DefaultLoadTime
	}
	v := &VM{program: p, shared: shared(), opts: o, limit: o.Memory, busy: make(chan struct{}, 1), trigger: minTrigger}
	v.openGlobals()
	return v
}

// OnLong sets what the next Step calls, on its goroutine, when it is no short one: after some 10,000 instructions, before what
// else takes as long, and before it lets others run. Until then it waits for nothing, so that the host may let other
// work wait for its end.
func (v *VM) OnLong(f func()) {
	v.acquire()
	defer v.release()
	v.long = f
}

// Load is the load-time code as a call whose only effects are ReadFile and WriteFile. It must be the first call and
// is made once; a second Load fails.
func (v *VM) Load() *Call {
	v.acquire()
	defer v.release()
	c := &Call{vm: v, limit: v.opts.LoadTime, loading: true}
	var problem error
	if v.started {
		problem = errors.New("the plugin was loaded before")
		c.loading = false
	}
	v.started = true
	fn, args := v.mainFunction()
	return c.open(problem, fn, args)
}

// Call starts tool with the raw JSON text of its arguments ("" is "{}"). What is wrong with the VM, the name or the
// arguments ends the call's first Step.
func (v *VM) Call(tool, args string) *Call {
	v.acquire()
	defer v.release()
	c := &Call{vm: v, tool: tool, rawArgs: args, limit: v.cpuLimit(tool)}
	if args == "" {
		c.rawArgs = "{}"
	}
	if v.opts.Config == nil {
		c.config = v.opts.ToolConfig[tool]
	}
	var problem error
	switch {
	case !v.loaded:
		problem = errors.New("the plugin is not loaded")
		if v.loadText != "" {
			problem = errors.New("the plugin did not load: " + v.loadText)
		}
	case v.invokes[tool] == nil:
		problem = errors.New("the plugin has no tool " + quote(tool))
	}
	return c.open(problem, mainOfCall, nil)
}

func (v *VM) cpuLimit(tool string) time.Duration {
	known := v.opts.Tools
	if known == nil {
		known = v.tools
	}
	for _, t := range known {
		if t.Name == tool && t.Timeout > 0 {
			return t.Timeout
		}
	}
	return DefaultCPU
}

// Loaded reports whether Load has ended well.
func (v *VM) Loaded() bool {
	v.acquire()
	defer v.release()
	return v.loaded
}

// Tools is what the load-time code registered, in order; nil before Load has ended well.
func (v *VM) Tools() []Tool {
	v.acquire()
	defer v.release()
	if !v.loaded {
		return nil
	}
	return slices.Clone(v.tools)
}

// Refused is the names that the learning load was not allowed to register, with the reasons that Options.Reserved gave.
func (v *VM) Refused() map[string]string {
	v.acquire()
	defer v.release()
	return maps.Clone(v.refused)
}

// Warnings is what the learning load did that is likely a slip but no error: options of clm.tool_register that do not
// exist. The log has them too.
func (v *VM) Warnings() []string {
	v.acquire()
	defer v.release()
	return slices.Clone(v.warnings)
}

// Broken says why the VM is of no more use: an aborted call left it over its memory limit, or Go code failed in it.
// nil: it may be used. The host makes another one; the plugin's state is lost.
func (v *VM) Broken() error {
	v.acquire()
	defer v.release()
	return v.broken
}

// Memory reports the bytes in use, as last measured and charged, and the limit. It never waits.
func (v *VM) Memory() (live, limit int64) { return min(v.used.Load(), v.limit), v.limit }

// Close ends every task and makes later Steps end at once. It is idempotent.
func (v *VM) Close() {
	v.acquire()
	defer v.release()
	v.closed = true
	for _, c := range slices.Clone(v.calls) {
		c.result = &Result{Text: "the plugin was closed", Failed: true, Aborted: true}
		c.over = &abort{text: c.result.Text}
		c.endTasks()
	}
}

func (v *VM) acquire() { v.busy <- struct{}{} }
func (v *VM) release() { <-v.busy }

// kill asks for a task's end; done is closed when its coroutine is gone.
type kill struct {
	task   *Task
	reason string
	done   chan struct{}
}

// Kill unwinds a task that waits or never ran, whatever the VM does meanwhile: a slice that runs serves it at its next
// check. A running task is unwound at its own next check. It may be called from any goroutine, any number of times,
// and returns when the task's coroutine is gone.
func (t *Task) Kill(reason string) {
	v := t.call.vm
	k := &kill{task: t, reason: reason, done: make(chan struct{})}
	v.mu.Lock()
	v.kills = append(v.kills, k)
	w := v.waiter
	v.mu.Unlock()
	v.flag.Or(flagKill)
	if w != nil {
		processors().withdraw(w)
	}
	select {
	case v.busy <- struct{}{}:
		v.serveKills()
		v.release()
	case <-k.done:
	}
}

// serveKills unwinds the tasks that others asked to kill. The running task, if among them, only learns its abort.
func (v *VM) serveKills() {
	v.mu.Lock()
	kills := v.kills
	v.kills = nil
	v.mu.Unlock()
	for _, k := range kills {
		t, c := k.task, k.task.call
		t.end(&abort{text: k.reason, cancel: true})
		if t == &c.main && t.ended {
			c.endTasks() // nobody is left to wait for them
		}
		if t.ended {
			close(k.done)
		} else {
			t.killers = append(t.killers, k.done)
		}
	}
}

// slice is the bounds of the Step that runs.
type slice struct {
	ctx      context.Context
	start    time.Time // or when it went on after its last pause
	deadline time.Time
	units    int64  // CPU units left to the call: the limit where the clock stands still
	long     func() // called at the second check, or before the slice waits
	turn     bool   // it is a long one, with a slot of the gate
	stop     func() // ends the watch
}

// tellLong tells the host, once, that the slice is no short one.
func (s *slice) tellLong() {
	if long := s.long; long != nil {
		s.long = nil
		long()
	}
}

func (s *slice) unwatch() {
	if s.stop != nil {
		s.stop()
		s.stop = nil
	}
}
