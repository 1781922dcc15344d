package actors

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"clm/actors/internal/agent"
	"clm/actors/internal/family"
	"clm/actors/msg"
	"clm/llm"
)

// Agent is a handle of a running agent. Its methods may be called from any
// goroutine, also from a callback.
type Agent struct {
	host *host
	node *family.Node
	view agent.View
}

// ID is the agent's name in its engine.
func (a *Agent) ID() string { return a.node.Name }

// PID takes the messages of package msg; the methods send the same ones.
func (a *Agent) PID() *actor.PID { return a.node.PID() }

// answerTime bounds the wait for an agent's answer. Its actor never blocks, so
// this is only reached when the process is starved.
const answerTime = time.Minute

// ask sends a command and gives its answer.
func (a *Agent) ask(m any) (any, error) {
	r, err := a.host.e.sys.Actors.Root.RequestFuture(a.node.PID(), m, answerTime).Result()
	switch {
	case errors.Is(err, actor.ErrDeadLetter):
		return nil, msg.ErrStopped
	case err != nil:
		return nil, fmt.Errorf("agent %s: no answer: %w", a.ID(), err)
	}
	switch r := r.(type) {
	case msg.Rejected:
		return nil, r.Err
	case family.Refused:
		return nil, msg.ErrStopped
	}
	return r, nil
}

func (a *Agent) do(m any) error {
	_, err := a.ask(m)
	return err
}

// Submit starts a user turn and returns its number at once. [ErrBusy]: one is
// in flight. [ErrOverloaded]: the engine has no room for it, see [Options]. How
// it ends is told by a [msg.TurnDone] event.
func (a *Agent) Submit(prompt string, files ...llm.Attachment) (uint64, error) {
	return a.submitted(msg.Submit{Prompt: prompt, Attachments: files})
}

func (a *Agent) submitted(m any) (uint64, error) {
	r, err := a.ask(m)
	if err != nil {
		return 0, err
	}
	return r.(msg.Submitted).Turn, nil
}

// Steer adds text to the turn in flight: it joins the next request, or starts
// the turn after it when it came too late. With none in flight it starts a turn.
// The answer is the turn that it is meant for. A cancel drops what came before
// it; what comes after it starts the next turn.
func (a *Agent) Steer(text string) (uint64, error) { return a.submitted(msg.Steer{Text: text}) }

// Notify gives the agent text from outside: submitted when idle, else folded
// with others into one turn that follows, or into the next one that is wanted
// when the turn in flight is cancelled or none may follow.
func (a *Agent) Notify(text string) error { return a.do(msg.Notify{Text: text}) }

// Cancel ends the turn in flight with all that it started. It returns at once;
// the end is told by a [msg.TurnDone] event. [ErrNoTurn]: there is none. To
// cancel again while the turn is ending is no error.
func (a *Agent) Cancel() error { return a.do(msg.Cancel{}) }

// CancelTurn is [Agent.Cancel] of one turn, by its number. When that has ended,
// the next one goes on. [ErrNoTurn]: it is not in flight.
func (a *Agent) CancelTurn(turn uint64) error {
	if turn == 0 {
		return msg.ErrNoTurn // turns count from 1
	}
	return a.do(msg.Cancel{Turn: turn})
}

// Compact folds older turns into a summary, as a turn of its own, whose number
// it returns. [ErrBusy]: one is in flight. When there is nothing worth it, the
// turn fails with [ErrNothingToCompact].
func (a *Agent) Compact() (uint64, error) { return a.submitted(msg.Compact{}) }

// CheckConnection probes the model server, at any time; the result is a
// [msg.Connection] event.
func (a *Agent) CheckConnection() error { return a.do(msg.CheckConnection{}) }

// Permit answers a [msg.PermissionAsked] event. [ErrNoQuestion]: it was settled
// by another answer, a rule or a cancel.
func (a *Agent) Permit(id uint64, answer msg.PermitAnswer) error {
	return a.do(msg.Permit{ID: id, Answer: answer})
}

// RestoreHistory appends messages of a stored conversation, without events:
// system prompts are left out, calls without a result are closed as interrupted,
// and what newer results had superseded is superseded again. Between turns,
// else [ErrBusy]. A session of the agent is rewritten to hold the result.
func (a *Agent) RestoreHistory(m []llm.Message) error { return a.do(msg.RestoreHistory{Messages: m}) }

// ClearHistory empties the conversation, and its session. Between turns, else
// [ErrBusy].
func (a *Agent) ClearHistory() error { return a.do(msg.ClearHistory{}) }

// History is the conversation as a model would get it. Between turns, else
// [ErrBusy].
func (a *Agent) History() ([]llm.Message, error) {
	r, err := a.ask(msg.GetHistory{})
	if err != nil {
		return nil, err
	}
	return r.(msg.History).Messages, nil
}

// SetModel changes the connection and the model, and keeps history and tools.
// Between turns, else [ErrBusy].
func (a *Agent) SetModel(ctx context.Context, m Model) error {
	reply := make(chan connected, 1)
	e := a.host.e
	e.sys.Send(e.root.PID(), connect{m.clone(), reply})
	select {
	case r := <-reply:
		if r.err != nil {
			return fmt.Errorf("agent %s: %w", a.ID(), r.err)
		}
		return a.do(setModel{r.model})
	case <-e.root.Done():
		return msg.ErrStopped
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// SetTools replaces the tools. In a turn that runs they hold from its next
// request on. Lua VMs of plugins that are the same in both sets are kept; the
// others end, with a notice, as soon as no turn runs: this is how plugins are
// reloaded, with a set of a new [LoadPlugins].
func (a *Agent) SetTools(t *Toolset) error { return a.do(setTools{t}) }

// ReloadPlugins loads plugins anew and puts them in the place of those that the
// agent has, between turns, else [ErrBusy]. Those whose file and settings are
// the same keep their Lua state; the others lose it, with a notice. Plugins that
// do not load are left out and returned. On an error nothing was changed.
func (a *Agent) ReloadPlugins(ctx context.Context, o PluginOptions) ([]*PluginError, error) {
	p, left := LoadPlugins(ctx, o)
	return left, a.do(reloadPlugins{p})
}

// AddTool adds one tool; a name that is taken is an error.
func (a *Agent) AddTool(t Tool) error { return a.do(addTool{t}) }

// RemoveTool removes a tool.
func (a *Agent) RemoveTool(name string) error { return a.do(removeTool{name}) }

// Tools is what the agent may call now, hidden tools included.
func (a *Agent) Tools() []Tool { return a.host.offer().List() }

// Jobs names the background jobs of bg_exec that run now, the oldest first. They
// end with the agent.
func (a *Agent) Jobs() []string {
	if a.host.builtins == nil {
		return nil
	}
	return a.host.builtins.Jobs()
}

// Stop ends the agent with all that it started, and waits for the last of it
// or the end of ctx. It may be called in a callback, and again. The error says
// why the agent had ended before, if by a panic, or what was left behind.
func (a *Agent) Stop(ctx context.Context) error {
	a.node.Stop()
	select {
	case <-a.node.Done():
		return a.node.Err()
	case <-ctx.Done():
		return fmt.Errorf("stop agent %s: %w", a.ID(), context.Cause(ctx))
	}
}

// Done is closed when nothing of the agent is alive any more.
func (a *Agent) Done() <-chan struct{} { return a.node.Done() }

// Tree pictures the agent's live actors.
func (a *Agent) Tree() Info { return a.node.Info() }

// State is what the agent does.
func (a *Agent) State() msg.State { return msg.State(a.view.State.Load()) }

// ContextMax is the model's context window in tokens; 0: not known yet.
func (a *Agent) ContextMax() int64 { return a.view.ContextMax.Load() }

// ContextUsed is what the conversation takes of the window, in tokens: what the
// server said of the last request, or an estimate where it did not or the
// conversation was compacted, restored or cleared since.
func (a *Agent) ContextUsed() int64 { return a.view.Used.Load() }

// LastError describes the newest failure, empty when there was none.
func (a *Agent) LastError() string {
	if s := a.view.LastError.Load(); s != nil {
		return *s
	}
	return ""
}

// OverAutocompactThreshold reports whether the use of the window is at the
// point where the conversation is compacted.
func (a *Agent) OverAutocompactThreshold() bool {
	return a.view.Used.Load() >= a.host.threshold()
}

// TakeMidChainCompactStarted reports, once each time, that a compaction between
// two tool batches has started.
func (a *Agent) TakeMidChainCompactStarted() bool { return a.view.CompactStarted.Swap(false) }

// TakeMidChainCompactSucceeded reports, once each time, that one has succeeded.
func (a *Agent) TakeMidChainCompactSucceeded() bool { return a.view.CompactSucceeded.Swap(false) }

// TakeMidChainCompactError reports, once each time, that one has failed;
// [Agent.LastError] says why.
func (a *Agent) TakeMidChainCompactError() bool { return a.view.CompactFailed.Swap(false) }

// The errors of commands and turns. They match their errno with [errors.Is].
var (
	ErrBusy             = msg.ErrBusy
	ErrCanceled         = msg.ErrCanceled
	ErrNoTurn           = msg.ErrNoTurn
	ErrStopped          = msg.ErrStopped
	ErrEmpty            = msg.ErrEmpty
	ErrNoQuestion       = msg.ErrNoQuestion
	ErrCeiling          = msg.ErrCeiling
	ErrOverloaded       = msg.ErrOverloaded
	ErrNothingToCompact = msg.ErrNothingToCompact
)
