package turn

import (
	"fmt"

	"github.com/asynkron/protoactor-go/actor"

	"clm/actors/internal/family"
	"clm/actors/msg"
	"clm/llm"
)

// compaction is a summary being made.
type compaction struct {
	plan     llm.Plan
	midChain bool
}

// bytesOfWindow is how much of a request for a summary a token of the window
// stands for: 4 bytes a token, and a quarter of the window for the summary.
const bytesOfWindow = 3

// compact folds the older part of the conversation into a summary, by one
// model request. Mid-chain, the turn goes on after it, whether it worked or not.
func (t *turn) compact(n *family.Node, c actor.Context, midChain bool) {
	plan, err := llm.PlanCompaction(t.cfg.History)
	if err != nil {
		t.noCompact = true
		if midChain {
			// Nothing can be folded: no attempt, so no failure to report.
			t.ask(n, c)
			return
		}
		t.finish(n, c, fmt.Errorf("%w (%w)", msg.ErrNothingToCompact, err), "compact")
		return
	}
	t.summarise(n, c, plan, midChain)
}

func (t *turn) summarise(n *family.Node, c actor.Context, plan llm.Plan, midChain bool) {
	if t.cfg.ContextMax > 0 {
		plan.MaxBytes = int(min(t.cfg.ContextMax*bytesOfWindow, llm.DefaultPlanBytes))
	}
	t.compacting = &compaction{plan, midChain}
	n.SetState("compacting")
	t.report(n, msg.Compaction{Phase: "started", MidChain: midChain})
	t.send(n, c, msg.AskModel{Silent: true, Request: &llm.Request{
		Model: t.cfg.Model, Messages: plan.Request(), Stream: t.cfg.Stream, MaxTokens: t.cfg.MaxOutputTokens,
	}}, t.summarised)
}

func (t *turn) summarised(n *family.Node, c actor.Context, m msg.ModelAnswered) {
	k := t.compacting
	t.compacting = nil
	err := m.Err
	if err == nil {
		err = t.cfg.Spend(t.conn, m.Response.Usage)
	}
	var msgs []llm.Message
	if err == nil {
		msgs, err = k.plan.Apply(m.Response.Message.Content)
	}
	if err != nil {
		t.noCompact = true
		t.summaryUsage(n, m.Response)
		t.report(n, msg.Compaction{Phase: "failed", MidChain: k.midChain, Error: err.Error()})
		if !k.midChain {
			t.finish(n, c, err, "compact")
			return
		}
		t.ask(n, c)
		return
	}
	t.cfg.History.Clear()
	t.cfg.History.Append(msgs...)
	n.Tell(t.cfg.Agent, msg.Replaced{Messages: t.cfg.History.Messages()})
	t.summaryUsage(n, m.Response)
	t.report(n, msg.Compaction{Phase: "succeeded", MidChain: k.midChain})
	if !k.midChain {
		t.finish(n, c, nil, "")
		return
	}
	// What is left may still be over the threshold; once more would not help.
	t.noCompact = t.used() >= t.threshold()
	t.ask(n, c)
}

// summaryUsage reports what a summary cost, if there is one, and what the
// conversation now takes of the window.
func (t *turn) summaryUsage(n *family.Node, r *llm.Response) {
	if r != nil {
		t.usage(n, r)
	}
}
