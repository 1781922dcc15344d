package turn

import (
	"errors"
	"fmt"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"clm/actors/internal/family"
	"clm/actors/msg"
	"clm/llm"
)

const (
	tellRepeats = 3 // the model is told
	maxRepeats  = 8 // the turn ends
)

var errIterations = errors.New("max iterations: the model kept calling tools; raise max_iterations to allow more")

// batch is the calls of one answer. A call is over when its actor has ended,
// so that nothing of it runs beside what follows.
type batch struct {
	calls   []llm.ToolCall
	begun   []time.Time
	nodes   map[string]int // toolcalls that run, by address
	results []*msg.ToolDone
	over    int
	started int
	pending int // the call that was taken up and has not begun, -1: none
	serial  bool
	stuck   string // a tool that was called too often in the same way
}

func (t *turn) runBatch(n *family.Node, c actor.Context, calls []llm.ToolCall, cut bool) {
	n.SetState("CALLING_TOOL")
	t.report(n, msg.StateChanged{State: msg.StateCallingTool})
	t.batch = &batch{
		calls: calls, begun: make([]time.Time, len(calls)), results: make([]*msg.ToolDone, len(calls)),
		nodes: make(map[string]int, len(calls)), serial: t.cfg.Sequential, pending: -1,
	}
	if cut {
		// Its arguments may parse and still be half of what was meant.
		for i, call := range calls {
			t.batch.results[i] = &msg.ToolDone{Index: i, CallID: call.ID, Name: call.Name, Failed: true, Text: "[tool failed: the answer was cut by the token limit, so the call was not run; make it again, with less text]"}
			t.batch.over++
			t.settle(n, call, t.batch.results[i])
		}
		t.batchDone(n, c)
		return
	}
	t.batch.more(t, n, c)
}

// more takes up the next call: when the one before has begun, or has ended.
func (b *batch) more(t *turn, n *family.Node, c actor.Context) {
	if b.started < len(b.calls) && b.pending < 0 && (!b.serial || len(b.nodes) == 0) {
		i := b.started
		b.pending = i
		b.started++
		b.begun[i] = n.System().Clock.Now()
		node, err := t.cfg.SpawnTool(n, c, b.calls[i])
		if err != nil {
			return // stopping
		}
		b.nodes[node.PID().Id] = i
		n.Request(c, node.PID(), msg.RunTool{Index: i, Call: b.calls[i]})
	}
}

// callBegun notes that a call has begun.
func (t *turn) callBegun(n *family.Node, c actor.Context, m msg.ToolStarted) {
	if b := t.batch; b != nil && b.pending == m.Index {
		b.pending = -1
		b.more(t, n, c)
	}
}

func (b *batch) result(from *actor.PID, m msg.ToolDone) {
	if i, ok := b.nodes[from.Id]; ok {
		b.results[i] = &m
	}
}

// callEnded notes that a call's actor is gone, and reports the call's result.
func (t *turn) callEnded(n *family.Node, m family.ChildEnded) bool {
	b := t.batch
	i, ok := b.nodes[m.Child.PID().Id]
	if !ok {
		return false
	}
	delete(b.nodes, m.Child.PID().Id)
	b.over++
	if b.pending == i {
		b.pending = -1
	}
	if b.results[i] == nil {
		b.results[i] = &msg.ToolDone{
			Index: i, CallID: b.calls[i].ID, Name: b.calls[i].Name, Failed: true,
			Text:     fmt.Sprintf("[tool failed: %s]", llm.Clip(llm.Clean(fmt.Sprint(m.Err)), 4096)),
			Duration: n.System().Clock.Now().Sub(b.begun[i]),
		}
	}
	t.settle(n, b.calls[i], b.results[i])
	return true
}

// settle counts a result among identical ones and reports it.
func (t *turn) settle(n *family.Node, call llm.ToolCall, r *msg.ToolDone) {
	b := t.batch
	r.CallID, r.Name = call.ID, call.Name
	k := 0
	if !t.cfg.Volatile(call.Name) { // those are polled by nature
		k = t.repeats.count(call, r)
	}
	if k >= maxRepeats {
		b.stuck = r.Name
	} else if k >= tellRepeats {
		r.Text += fmt.Sprintf("\n[note: this is the %s identical call with an identical result; do something else]", ordinal(k))
	}
	t.report(n, msg.ToolResult{CallID: r.CallID, Name: r.Name, Text: r.Text, Failed: r.Failed, Duration: r.Duration})
	t.report(n, msg.BatchProgress{Done: b.over, Total: len(b.calls)})
}

// ordinal writes a number from tellRepeats up to maxRepeats as a place.
func ordinal(n int) string {
	if n == 3 {
		return "3rd"
	}
	return fmt.Sprintf("%dth", n)
}

func (b *batch) complete() bool { return b.over == len(b.calls) }

// batchDone puts the results into the conversation, in the order of the calls.
func (t *turn) batchDone(n *family.Node, c actor.Context) {
	b := t.batch
	t.batch = nil
	results := make([]llm.Message, len(b.results))
	for i, r := range b.results {
		results[i] = llm.Message{
			Role: llm.RoleTool, Content: r.Text, ToolCallID: r.CallID, ToolName: r.Name,
			Failed: r.Failed, Attachments: r.Attachments,
		}
	}
	t.add(n, results...)
	t.cfg.History.Supersede(t.cfg.Volatile)
	t.iterations++
	switch {
	case b.stuck != "":
		t.finish(n, c, fmt.Errorf("the model called %s with the same arguments and the same result %d times", b.stuck, maxRepeats), "repeated")
	case t.cfg.MaxIterations > 0 && t.iterations >= t.cfg.MaxIterations:
		t.finish(n, c, errIterations, "iterations")
	default:
		t.next(n, c)
	}
}
