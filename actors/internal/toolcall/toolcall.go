// Package toolcall is the actor of one call of a tool: it checks the
// arguments, has the call permitted, runs it within its deadline, and makes its
// result safe for the model.
package toolcall

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"clm/actors/internal/family"
	"clm/actors/internal/tool"
	"clm/actors/internal/vm"
	"clm/actors/msg"
	"clm/llm"
	"clm/luavm"
)

// MaxResult bounds what a model gets of one result, in bytes.
const MaxResult = 64 << 10

// Config is what a call's actor needs.
type Config struct {
	Agent   *actor.PID
	Turn    uint64
	Tool    *tool.Tool // nil: there is none of that name
	Plugin  string     // the plugin of a Lua tool
	Nested  bool       // made by another tool
	Timeout time.Duration
	// Path is the resolved path that a call touches, for rules about paths;
	// nil for tools that touch none.
	Path func(args string) string
	// Check says what is wrong with the arguments, "" for nothing.
	Check func(args string) string
	// Spawn starts the main task of a Lua tool below n.
	Spawn func(n *family.Node, c actor.Context, plugin *actor.PID, call llm.ToolCall) (*family.Node, error)
}

// Spec describes a call's actor.
func Spec(cfg Config, id string) family.Spec {
	return family.Spec{Kind: family.KindToolCall, Name: id, Behavior: &toolcall{cfg: cfg}}
}

type toolcall struct {
	cfg    Config
	run    msg.RunTool
	plugin *actor.PID
	begun  time.Time
	abort  context.CancelCauseFunc // of the running Go tool
	told   bool                    // that it has started
	done   bool
}

// From the own edge and timers.
type (
	begin   struct{}
	looked  struct{ reason, path string }
	expired struct{}
	ran     struct {
		result tool.Result
		err    error
	}
)

var errExpired = errors.New("timed out")

func (t *toolcall) Receive(n *family.Node, c actor.Context, message any) {
	switch m := message.(type) {
	case msg.RunTool:
		t.run = m
		t.check(n, c)
	case msg.ToolPrepared:
		t.prepared(n, c, m)
	case looked:
		t.ask(n, c, m)
	case begin:
		t.begin(n, c)
	case ran:
		t.ran(n, c, m)
	case expired:
		t.abort(errExpired)
		t.fail(n, c, fmt.Sprintf("timed out after %d ms", t.timeout().Milliseconds()))
	case msg.ToolAsked, vm.TaskStarted:
		t.started(n, c)
	case vm.TaskDone:
		t.taskDone(n, c, m)
	case family.ChildEnded:
		if m.Err != nil {
			t.fail(n, c, m.Err.Error())
		}
	case family.Refused:
		t.fail(n, c, fmt.Sprintf("the agent is ending: %v", m.Cause))
	}
}

func (t *toolcall) check(n *family.Node, c actor.Context) {
	if !t.cfg.Nested {
		n.Tell(t.cfg.Agent, msg.Report{Turn: t.cfg.Turn, Data: msg.ToolBegin{CallID: t.run.Call.ID, Name: t.run.Call.Name, Args: t.run.Call.Args}})
	}
	tl := t.cfg.Tool
	if tl == nil || tl.Hidden && !t.cfg.Nested {
		t.fail(n, c, fmt.Sprintf("unknown tool %q", llm.Clip(llm.Clean(t.run.Call.Name), 100)))
		return
	}
	if strings.TrimSpace(t.run.Call.Args) == "" {
		t.run.Call.Args = "{}"
	}
	if why := objectError(t.run.Call.Args); why != "" {
		t.fail(n, c, why)
		return
	}
	if why := t.cfg.Check(t.run.Call.Args); why != "" {
		t.fail(n, c, why)
		return
	}
	n.SetState("being permitted")
	if tl.Reason == nil && t.cfg.Path == nil {
		t.ask(n, c, looked{})
		return
	}
	args, path := t.run.Call.Args, t.cfg.Path
	n.Go("look", func(context.Context) any { // at the file system
		var l looked
		if tl.Reason != nil {
			l.reason = tl.Reason(args)
		}
		if path != nil {
			l.path = path(args)
		}
		return l
	})
}

func (t *toolcall) ask(n *family.Node, c actor.Context, l looked) {
	n.Request(c, t.cfg.Agent, msg.PrepareTool{
		Turn: t.cfg.Turn, CallID: t.run.Call.ID, Tool: t.cfg.Tool.Name, Args: t.run.Call.Args,
		Reason: l.reason, Path: l.path, NoPrompt: t.cfg.Tool.NoPrompt, Plugin: t.cfg.Plugin, Nested: t.cfg.Nested,
	})
}

// objectError says why arguments are no JSON object, "" when they are one.
func objectError(args string) string {
	raw := []byte(args)
	if json.Valid(raw) {
		if strings.HasPrefix(strings.TrimSpace(args), "{") {
			return ""
		}
		return "the arguments are not a JSON object; send one JSON object"
	}
	err := json.Unmarshal(raw, new(any))
	var at int64
	var syntax *json.SyntaxError
	if errors.As(err, &syntax) {
		at = syntax.Offset
	}
	return fmt.Sprintf("the arguments are not valid JSON: %v at byte %d; send one JSON object", err, at)
}

func (t *toolcall) prepared(n *family.Node, c actor.Context, m msg.ToolPrepared) {
	switch {
	case !m.Allowed:
		t.fail(n, c, m.Why)
	case m.Delay > 0:
		t.plugin = m.Plugin
		n.SetState("waiting for the tool rate")
		t.started(n, c)
		n.After(m.Delay, begin{})
	default:
		t.plugin = m.Plugin
		t.begin(n, c)
	}
}

// started lets the next call of the batch be taken up.
func (t *toolcall) started(n *family.Node, c actor.Context) {
	if !t.told && !t.cfg.Nested {
		t.told = true
		n.Request(c, c.Parent(), msg.ToolStarted{Index: t.run.Index})
	}
}

func (t *toolcall) timeout() time.Duration {
	if t.cfg.Tool.Timeout > 0 {
		return t.cfg.Tool.Timeout
	}
	return t.cfg.Timeout
}

func (t *toolcall) begin(n *family.Node, c actor.Context) {
	t.begun = n.System().Clock.Now() // permitted: what went before was waiting
	n.SetState("running")
	if t.cfg.Tool.Run == nil {
		t.beginTask(n, c)
		return
	}
	ctx, abort := context.WithCancelCause(n.Context())
	t.abort = abort
	n.After(t.timeout(), expired{})
	run, call := t.cfg.Tool.Run, tool.Call{ID: t.run.Call.ID, Name: t.run.Call.Name, Args: t.run.Call.Args}
	t.started(n, c)
	n.Go("tool "+call.Name, func(context.Context) any {
		defer abort(nil)
		r, err := run(ctx, call)
		return ran{r, err}
	})
}

func (t *toolcall) beginTask(n *family.Node, c actor.Context) {
	node, err := t.cfg.Spawn(n, c, t.plugin, t.run.Call)
	if err != nil {
		t.fail(n, c, err.Error())
		return
	}
	n.Request(c, node.PID(), vm.RunTask{Tool: t.cfg.Tool.Name, Args: t.run.Call.Args})
}

func (t *toolcall) ran(n *family.Node, c actor.Context, m ran) {
	if m.err != nil {
		t.fail(n, c, m.err.Error())
		return
	}
	d := msg.ToolDone{Text: m.result.Text}
	for _, a := range m.result.Attachments {
		d.Attachments = append(d.Attachments, llm.Attachment(a))
	}
	t.finish(n, c, d)
}

func (t *toolcall) taskDone(n *family.Node, c actor.Context, m vm.TaskDone) {
	r := m.Result
	if r == nil {
		r = &luavm.Result{Text: "the call ended without a result", Failed: true}
	}
	if r.Failed {
		t.fail(n, c, r.Text)
		return
	}
	t.finish(n, c, msg.ToolDone{Text: r.Text})
}

func (t *toolcall) fail(n *family.Node, c actor.Context, why string) {
	t.finish(n, c, msg.ToolDone{Text: why, Failed: true})
}

// finish answers once; what comes later is of a call that has ended.
func (t *toolcall) finish(n *family.Node, c actor.Context, d msg.ToolDone) {
	if t.done {
		return
	}
	t.done = true
	d.Index, d.CallID, d.Name = t.run.Index, t.run.Call.ID, t.run.Call.Name
	d.Text = llm.Clip(llm.Clean(d.Text), MaxResult)
	if d.Failed && !t.cfg.Nested {
		d.Text = Failure(d.Text)
	}
	if !t.begun.IsZero() {
		d.Duration = n.System().Clock.Now().Sub(t.begun)
	}
	n.Request(c, c.Parent(), d)
	n.Stop()
}

// Failure frames why a call failed, as a model gets it.
func Failure(why string) string { return "[tool failed: " + why + "]" }
