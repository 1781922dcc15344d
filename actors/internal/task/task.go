// Package task is the actor of one Lua coroutine: a call's main one, below the
// toolcall, or one that main spawned, below main. It borrows the plugin's VM for
// each slice of Lua, gives it back with what the coroutine wants next, and waits
// for that in its mailbox. The task's end includes its coroutine's unwinding.
package task

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"clm/actors/internal/family"
	"clm/actors/internal/vm"
	"clm/actors/msg"
	"clm/luavm"
)

var errTaskCancelled = errors.New("task cancelled")

// Config is what the tasks of one call share.
type Config struct {
	Plugin *actor.PID
	Agent  *actor.PID
	Turn   uint64
	CallID string
	Tool   string
	Wall   time.Duration // limit of the call, without waiting for the VM
	// HTTP carries out a request.
	HTTP func(ctx context.Context, w luavm.HTTP) luavm.Answer
	// Place says where a file access leads and whether it is free, asked for,
	// or refused (then why says why). It looks at the file system.
	Place func(w luavm.Want) (path string, ask bool, why string)
	// Access carries out a file access that was allowed, at the place.
	Access func(w luavm.Want, path string) luavm.Answer
	// CallTool spawns the toolcall of a clm.call below n, or says why not.
	CallTool func(n *family.Node, c actor.Context, w luavm.CallTool) (*family.Node, error)
}

// Spec describes the main task of a call.
func Spec(cfg *Config) family.Spec {
	return family.Spec{Kind: family.KindTask, Name: "1", Behavior: &task{cfg: cfg, main: true, left: cfg.Wall}}
}

func subSpec(cfg *Config, t *luavm.Task) family.Spec {
	return family.Spec{Kind: family.KindSubtask, Name: fmt.Sprint(t.ID()), Behavior: &task{cfg: cfg, co: t}}
}

type task struct {
	cfg  *Config
	main bool
	run  vm.RunTask
	co   *luavm.Task
	in   luavm.Answer   // what the next slice is resumed with
	vm   *luavm.VM      // while it is lent
	lua  sync.WaitGroup // the goroutine that runs it

	asking bool       // a Lend is out
	ended  bool       // the coroutine has ended
	want   luavm.Want // what it waits for
	path   string     // of a file access: where it leads
	wait   *luavm.Wait
	unwait func() // takes back the wait's timeout

	kids map[*luavm.Task]*kid // main's spawned tasks

	left    time.Duration // of the wall limit
	since   time.Time     // when the wall limit began to run again
	unlimit func()
	over    bool // the wall limit is, while Lua runs
}

type kid struct {
	node         *family.Node
	done, failed bool
}

// From the own edge and timers.
type (
	stepped  struct{ yield luavm.Yield }
	timedOut struct{ wait *luavm.Wait }
	wallOver struct{}
	loaded   struct{ err error }
	placed   struct {
		path string
		ask  bool
		why  string
	}
)

func (t *task) Receive(n *family.Node, c actor.Context, message any) {
	switch m := message.(type) {
	case vm.RunTask:
		t.run = m
		if t.main {
			t.ask(n, c)
		}
	case vm.Lent:
		t.lent(n, c, m)
	case loaded:
		t.loaded(n, c, m)
	case stepped:
		t.stepped(n, c, m.yield)
	case vm.RequestDone:
		t.resume(n, c, m.Answer)
	case msg.ToolDone:
		t.toolDone(n, c, m)
	case placed:
		t.placed(n, c, m)
	case msg.ToolPrepared:
		t.prepared(n, c, m)
	case vm.TaskDone:
		t.kidDone(n, c, m)
	case timedOut:
		if m.wait == t.wait {
			t.wait = nil
			t.resume(n, c, luavm.Answer{Timeout: true})
		}
	case wallOver:
		t.timeOver(n, c)
	case family.Refused:
		t.finish(n, c, vm.TaskDone{Failed: true, Result: &luavm.Result{Text: fmt.Sprintf("the plugin has ended: %v", m.Cause), Failed: true, Aborted: true}})
	case family.ChildEnded:
		t.childEnded(n, c, m)
	case family.Stopping:
		t.stop(n)
	}
}

// ask borrows the VM. Waiting for it does not count for the wall limit.
func (t *task) ask(n *family.Node, c actor.Context) {
	n.SetState("waiting for the VM")
	t.asking = true
	t.pause(n)
	n.Request(c, t.cfg.Plugin, vm.Lend{})
}

func (t *task) pause(n *family.Node) {
	if t.unlimit != nil {
		t.unlimit()
		t.unlimit = nil
		t.left -= n.System().Clock.Now().Sub(t.since)
	}
}

func (t *task) lent(n *family.Node, c actor.Context, m vm.Lent) {
	t.asking = false
	if t.main {
		if t.since.IsZero() {
			n.Request(c, c.Parent(), vm.TaskStarted{})
		}
		t.since = n.System().Clock.Now()
		t.unlimit = n.After(max(t.left, 0), wallOver{})
	}
	t.vm = m.VM
	if !m.VM.Loaded() {
		n.SetState("loading the plugin")
		t.lua.Add(1)
		n.Go("load plugin", func(ctx context.Context) any {
			defer t.lua.Done()
			return loaded{m.Load(ctx, m.VM)}
		})
		return
	}
	t.step(n)
}

func (t *task) loaded(n *family.Node, c actor.Context, m loaded) {
	if m.err != nil {
		t.ended = true
		n.Request(c, t.cfg.Plugin, vm.Return{})
		t.finish(n, c, vm.TaskDone{ID: 1, Failed: true, Result: &luavm.Result{Text: m.err.Error(), Failed: true}})
		return
	}
	t.step(n)
}

func (t *task) step(n *family.Node) {
	if t.co == nil {
		t.co = t.vm.Call(t.run.Tool, t.run.Args).Main()
	}
	n.SetState("running Lua")
	co, in, lent := t.co, t.in, t.vm
	t.in = luavm.Answer{}
	t.lua.Add(1)
	n.Compute("lua", func(ctx context.Context, long func()) any {
		defer t.lua.Done()
		lent.OnLong(long)
		return stepped{co.Step(ctx, in)}
	})
}

// stepped takes up what a slice of Lua left.
func (t *task) stepped(n *family.Node, c actor.Context, y luavm.Yield) {
	t.vm = nil
	n.Request(c, t.cfg.Plugin, vm.Return{})
	for _, co := range y.Cancelled {
		if k := t.kids[co]; k != nil {
			k.done, k.failed = true, true
			k.node.Cancel(errTaskCancelled)
		}
	}
	for _, co := range y.Spawned {
		t.spawn(n, c, co)
	}
	if y.Done {
		t.ended = true
		t.finish(n, c, vm.TaskDone{ID: t.co.ID(), Failed: y.Failed, Result: y.Result})
		return
	}
	if t.over {
		t.timeOver(n, c)
		return
	}
	t.want = y.Want
	t.serve(n, c)
}

func (t *task) spawn(n *family.Node, c actor.Context, co *luavm.Task) {
	node, err := n.Spawn(c, subSpec(t.cfg, co))
	if err != nil {
		return // stopping: the whole call ends
	}
	if t.kids == nil {
		t.kids = map[*luavm.Task]*kid{}
	}
	t.kids[co] = &kid{node: node}
	n.Request(c, node.PID(), vm.RunTask{})
	// Asked here and not by the task itself, tasks start in spawn order.
	c.RequestWithCustomSender(t.cfg.Plugin, vm.Lend{}, node.PID())
}

func (t *task) resume(n *family.Node, c actor.Context, in luavm.Answer) {
	t.want, t.in = nil, in
	if t.unwait != nil {
		t.unwait()
		t.unwait = nil
	}
	t.ask(n, c)
}

func (t *task) kidDone(n *family.Node, c actor.Context, m vm.TaskDone) {
	if m.Result != nil {
		// The child ran out of the call's time or memory: the call is over.
		t.finish(n, c, vm.TaskDone{ID: 1, Failed: true, Result: m.Result})
		return
	}
	for co, k := range t.kids {
		if co.ID() == m.ID {
			k.done, k.failed = true, m.Failed
		}
	}
	t.check(n, c)
}

// childEnded ends a wait whose child died on the way: a request or toolcall
// that panicked, a task whose actor did.
func (t *task) childEnded(n *family.Node, c actor.Context, m family.ChildEnded) {
	for _, k := range t.kids {
		if k.node == m.Child {
			if !k.done {
				k.done, k.failed = true, true
				t.check(n, c)
			}
			return
		}
	}
	if m.Err != nil && t.want != nil && t.wait == nil && !t.asking && t.vm == nil {
		t.resume(n, c, luavm.Answer{Err: m.Err.Error()})
	}
}

// check ends main's wait for its tasks when it is over.
func (t *task) check(n *family.Node, c actor.Context) {
	if t.wait == nil {
		return
	}
	over := t.wait.Over(func(co *luavm.Task) (bool, bool) {
		k := t.kids[co]
		return k == nil || k.done, k == nil || k.failed
	})
	if over {
		t.wait = nil
		t.resume(n, c, luavm.Answer{})
	}
}

// timeOver ends the call at its wall limit. Lua that runs is unwound first: what
// it has completed stands, as where the CPU limit ends it.
func (t *task) timeOver(n *family.Node, c actor.Context) {
	text := fmt.Sprintf("timed out after %d ms", t.cfg.Wall.Milliseconds())
	if t.vm != nil && t.co != nil && !t.over {
		t.over = true
		co := t.co
		n.Go("wall limit", func(context.Context) any {
			co.Kill(text)
			return nil
		})
		return
	}
	t.finish(n, c, vm.TaskDone{ID: 1, Failed: true, Result: &luavm.Result{Text: text, Failed: true, Aborted: true}})
}

func (t *task) finish(n *family.Node, c actor.Context, m vm.TaskDone) {
	n.Request(c, c.Parent(), m)
	n.Stop()
}

// stop unwinds a coroutine that waits and lets go of the VM. The node joins
// this before it ends.
func (t *task) stop(n *family.Node) {
	if t.ended || t.main && t.co == nil && !t.asking && t.vm == nil {
		return
	}
	co, plugin := t.co, t.cfg.Plugin
	n.Go("unwind", func(context.Context) any {
		t.lua.Wait() // its context has ended
		if co != nil {
			co.Kill("task cancelled")
		}
		n.Tell(plugin, vm.Return{})
		return nil
	})
}

// serve begins what the coroutine wants.
func (t *task) serve(n *family.Node, c actor.Context) {
	switch w := t.want.(type) {
	case luavm.HTTP:
		n.SetState(w.Method)
		t.request(n, c, requestSpec(w.Method+" "+w.URL, func(ctx context.Context) luavm.Answer { return t.cfg.HTTP(ctx, w) }))
	case luavm.Sleep:
		n.SetState("sleeping")
		t.request(n, c, timerSpec(w.For))
	case luavm.ReadFile, luavm.WriteFile:
		t.file(n)
	case luavm.CallTool:
		t.callTool(n, c, w)
	case luavm.Wait:
		n.SetState("waiting for tasks")
		t.wait = &w
		if w.Timeout >= 0 {
			t.unwait = n.After(w.Timeout, timedOut{t.wait})
		}
		t.check(n, c)
	}
}

func (t *task) request(n *family.Node, c actor.Context, spec family.Spec) {
	node, err := n.Spawn(c, spec)
	if err != nil {
		return // stopping
	}
	n.Request(c, node.PID(), vm.RunRequest{})
}

func (t *task) file(n *family.Node) {
	n.SetState("file")
	w, place := t.want, t.cfg.Place
	n.Go("resolve path", func(context.Context) any {
		path, ask, why := place(w)
		return placed{path, ask, why}
	})
}

func (t *task) placed(n *family.Node, c actor.Context, m placed) {
	t.path = m.path
	_, write := t.want.(luavm.WriteFile)
	switch {
	case m.why != "":
		t.resume(n, c, luavm.Answer{Err: m.why})
	case m.ask:
		n.SetState("asking for permission")
		n.Request(c, t.cfg.Agent, msg.PrepareTool{
			Turn: t.cfg.Turn, CallID: t.cfg.CallID, Tool: t.cfg.Tool, File: m.path, Write: write,
		})
	default:
		t.access(n, c)
	}
}

func (t *task) prepared(n *family.Node, c actor.Context, m msg.ToolPrepared) {
	if !m.Allowed {
		t.resume(n, c, luavm.Answer{Err: m.Why})
		return
	}
	t.access(n, c)
}

func (t *task) access(n *family.Node, c actor.Context) {
	w, path, access := t.want, t.path, t.cfg.Access
	t.request(n, c, requestSpec("file", func(context.Context) luavm.Answer { return access(w, path) }))
}

func (t *task) callTool(n *family.Node, c actor.Context, w luavm.CallTool) {
	n.SetState("calling " + w.Name)
	if _, err := t.cfg.CallTool(n, c, w); err != nil {
		t.resume(n, c, luavm.Answer{Err: err.Error()})
	}
}

func (t *task) toolDone(n *family.Node, c actor.Context, m msg.ToolDone) {
	if m.Failed {
		t.resume(n, c, luavm.Answer{Err: m.Text})
		return
	}
	t.resume(n, c, luavm.Answer{Text: m.Text})
}
