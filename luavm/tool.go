package luavm

import (
	"errors"
	"fmt"
	"slices"

	lua "github.com/yuin/gopher-lua"

	"clm/luavm/internal/jsonlua"
	"clm/luavm/internal/number"
)

func ctxMethods() []apiFunction {
	return []apiFunction{
		{"complete", func(a api) int {
			c := a.ending()
			text := a.text(2)
			c.done = true
			c.result = &Result{Text: text}
			if c.live() > 0 {
				c.result = &Result{Text: "tool completed with unawaited tasks", Failed: true}
			} else if i := slices.IndexFunc(c.failed, func(t *Task) bool { return !t.read }); i >= 0 {
				c.result = &Result{Text: c.failed[i].err, Failed: true}
			}
			return 0
		}},
		{"fail", func(a api) int {
			c := a.ending()
			text := a.text(2)
			c.done = true
			c.result = &Result{Text: text, Failed: true}
			return 0
		}},
		{"args_raw", func(a api) int {
			c := a.ctx()
			a.v.Charge(a.L, slotBytes)
			a.L.Push(lua.LString(c.rawArgs))
			return 1
		}},
		{"log", func(a api) int {
			a.ctx()
			if a.v.opts.Log != nil {
				a.v.opts.Log(a.str(2))
			}
			return 0
		}},
	}
}

// ctx is the context in argument 1, of the running call.
func (a api) ctx() *Call {
	ud, ok := a.L.Get(1).(*lua.LUserData)
	if !ok {
		a.badArgument(1, "ctx")
	}
	c, ok := ud.Value.(*Call)
	if !ok {
		a.badArgument(1, "ctx")
	}
	if c != a.c {
		a.raise("%s: this ctx belongs to another call", a.name)
	}
	return c
}

// ending is the call in argument 1 that main may complete or fail now.
func (a api) ending() *Call {
	c := a.ctx()
	a.mustBeMain()
	if c.done {
		a.raise("tool already completed")
	}
	return c
}

func (a api) text(n int) string {
	s, ok := number.ToString(a.L.Get(n))
	if !ok {
		a.badArgument(n, "string")
	}
	return s
}

// mainOfCall is what main of a tool's call runs.
var mainOfCall = goFunction(func(L *lua.LState) int { return L.Context().(*thread).task.call.invoke(L) })

// invoke is main's function: it decodes the arguments under the VM's limits and calls the tool.
func (c *Call) invoke(L *lua.LState) int {
	v := c.vm
	args, err := jsonlua.Decode(L, c.rawArgs)
	if err == nil {
		if t, ok := args.(*lua.LTable); !ok || jsonlua.IsArray(t) {
			err = errors.New("they must be a JSON object")
		}
	}
	if err != nil {
		c.done = true
		c.result = &Result{Text: fmt.Sprintf("bad arguments for %s: %v", c.tool, err), Failed: true}
		return 0
	}
	if v.opts.Config == nil && v.opts.ToolConfig != nil {
		c.configT = v.toLua(c.config)
		v.setConfig(c)
	}
	L.Push(v.invokes[c.tool])
	L.Push(args)
	L.Push(&lua.LUserData{Value: c, Metatable: v.shared.ctx})
	L.Call(2, 0)
	return 0
}

// setConfig shows the call's configuration as clm.config.
func (v *VM) setConfig(c *Call) {
	if c.configT != nil {
		v.clm.RawSetString("config", c.configT)
	}
}

// conclude gives the call its result when main has ended.
func (c *Call) conclude() {
	t := &c.main
	switch {
	case c.loading:
		c.concludeLoad()
	case c.result != nil:
	case t.state == failed:
		c.result = &Result{Text: t.err, Failed: true}
	case c.live() > 0:
		c.result = &Result{Text: "plugin returned with unawaited tasks", Failed: true}
	default:
		c.result = &Result{Text: "plugin returned without calling ctx:complete/ctx:fail", Failed: true}
	}
}

func (c *Call) concludeLoad() {
	v := c.vm
	if c.result == nil && c.main.state == failed {
		c.result = &Result{Text: c.main.err, Failed: true}
	}
	for _, known := range v.opts.Tools {
		if c.result == nil && v.invokes[known.Name] == nil {
			c.result = &Result{Text: "the plugin did not register " + known.Name + " again, as it did when it was first loaded", Failed: true}
		}
	}
	if c.result != nil {
		v.tools, v.invokes, v.loadText = nil, nil, c.result.Text
		return
	}
	c.result = &Result{}
	v.loaded = true
	if v.opts.Tools != nil {
		v.tools = v.opts.Tools
	}
}

// abortWith ends the call as a whole; what was completed before stands.
func (c *Call) abortWith(a *abort) {
	if c.over == nil {
		c.over = a
	}
	if c.result == nil {
		c.result = &Result{Text: a.text, Failed: true, Aborted: true}
	}
}

// cancelRest ends the children that main left behind and adds them to those that were cancelled.
func (c *Call) cancelRest(cancelled []*Task) []*Task {
	for _, t := range slices.Clone(c.tasks) {
		t.end(&abort{text: "task cancelled", cancel: true})
		cancelled = append(cancelled, t)
	}
	return cancelled
}

// drop closes the books of a call whose last task has ended. Handles in the plugin's variables may refer to it still.
func (c *Call) drop() {
	v := c.vm
	v.calls = slices.DeleteFunc(v.calls, func(o *Call) bool { return o == c })
	c.failed, c.rawArgs, c.config, c.configT = nil, "", nil, nil
	if c.over == nil || v.broken != nil {
		return
	}
	most := v.limit * 31 / 32 // what another call can start with
	if c.over.memory {
		most = v.limit * 3 / 4
	}
	if c.over.memory || v.live+v.alloc > most {
		v.walk()
		v.trigger = max((v.limit-v.live)/2, minTrigger)
		if v.live > most {
			why := "a call was ended"
			if c.over.memory {
				why = "out of memory"
			}
			v.broken = fmt.Errorf("plugin %s: %s, and %d of %d bytes are still in use", v.program.name, why, v.live, v.limit)
		}
	}
}

// endTasks ends every task of the call, main last.
func (c *Call) endTasks() {
	for _, t := range slices.Clone(c.tasks) {
		if t != &c.main {
			t.end(c.over)
		}
	}
	c.main.end(c.over)
}
