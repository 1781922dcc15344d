package actors

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/asynkron/protoactor-go/actor"

	"clm/actors/internal/agent"
	"clm/actors/internal/family"
	"clm/actors/internal/vm"
	"clm/actors/msg"
	"clm/llm"
	"clm/luavm"
)

// SubAgentTool is the name of the tool that starts sub-agents.
const SubAgentTool = "agent"

const (
	maxAgentDepth  = 3 // sub-agents of sub-agents
	maxAgentsBelow = 8 // at once, of one agent
)

func subAgentTool(profiles map[string]AgentOptions) Tool {
	names := slices.Sorted(maps.Keys(profiles))
	list, err := json.Marshal(names)
	if err != nil {
		list = []byte("[]") // strings always marshal
	}
	return Tool{
		Name:        SubAgentTool,
		Description: "Have a sub-agent work on a task of its own, with a conversation of its own. It gives back its last answer. Agents: " + strings.Join(names, ", ") + ".",
		Schema: json.RawMessage(`{"type":"object","properties":{` +
			`"agent":{"type":"string","enum":` + string(list) + `},` +
			`"prompt":{"type":"string","description":"the whole task; the sub-agent knows nothing else"}},` +
			`"required":["agent","prompt"]}`),
		NoPrompt: true, // what the sub-agent calls is asked for
		Source:   "agent",
	}
}

// spawnSubAgent spawns the actor that runs one sub-agent below a toolcall. It
// counts before it looks: the calls of a batch come here at the same time.
func (h *host) spawnSubAgent(n *family.Node, c actor.Context, turn uint64, callID string) (*family.Node, error) {
	if h.children.Add(1) > maxAgentsBelow {
		h.children.Add(-1)
		return nil, fmt.Errorf("%d sub-agents run, as many as may at once; wait for one of them", maxAgentsBelow)
	}
	s := &subAgent{above: h, turn: turn, callID: callID}
	node, err := n.Spawn(c, family.Spec{Kind: family.KindTask, Name: "agent", Behavior: s})
	if err != nil {
		h.children.Add(-1)
	}
	return node, err
}

// subAgent is the task of a call of the tool "agent": it spawns the agent below
// itself, has it do one turn and those that follow from it, and answers with
// what came out. What happens in it is told to the listeners above.
type subAgent struct {
	above  *host
	turn   uint64
	callID string
	run    vm.RunTask
}

func (s *subAgent) Receive(n *family.Node, c actor.Context, message any) {
	switch m := message.(type) {
	case vm.RunTask:
		n.Request(c, c.Parent(), vm.TaskStarted{})
		s.run = m
		s.resolve(n)
	case connected:
		s.start(n, c, m)
	case msg.Rejected:
		s.fail(n, c, m.Err)
	case msg.Event:
		s.event(n, c, m)
	case family.ChildEnded:
		s.fail(n, c, errors.Join(errors.New("the sub-agent ended"), m.Err))
	case family.Stopping:
		s.above.children.Add(-1)
	}
}

type subArgs struct{ Agent, Prompt string }

func (s *subAgent) args() (a subArgs, o AgentOptions, err error) {
	if err := json.Unmarshal([]byte(s.run.Args), &a); err != nil {
		return a, o, fmt.Errorf("arguments: %w", err)
	}
	o, ok := s.above.opts.SubAgents[a.Agent]
	if !ok {
		return a, o, fmt.Errorf("there is no agent %q", a.Agent)
	}
	return a, o, nil
}

// resolve asks the engine for the model's connections; a profile without a
// model works on the one above.
func (s *subAgent) resolve(n *family.Node) {
	_, o, err := s.args()
	if err != nil || o.Model.ID == "" {
		n.Tell(n.PID(), connected{s.above.model, err})
		return
	}
	e := s.above.e
	reply := make(chan connected, 1)
	e.sys.Send(e.root.PID(), connect{o.Model, reply})
	n.Go("connect", func(ctx context.Context) any {
		select {
		case r := <-reply:
			return r
		case <-ctx.Done():
			return nil
		}
	})
}

func (s *subAgent) start(n *family.Node, c actor.Context, m connected) {
	a, o, err := s.args()
	if err = errors.Join(err, m.err); err != nil {
		s.fail(n, c, err)
		return
	}
	o.ID = fmt.Sprintf("%s/%s.%d", s.above.opts.ID, a.Agent, s.above.begun.Add(1))
	o.Budget = s.above.opts.Budget
	o.Permissions.Ask = true // of the agent above
	h, err := newHost(s.above.e, o, s.above.depth+1)
	if err != nil {
		s.fail(n, c, err)
		return
	}
	h.first = nil
	h.own = h.rules.Swap(s.above.rules.Load())
	if s.above.own != nil {
		h.own = s.above.own.Denying(h.own)
	}
	h.setModel(m.model)
	node, err := n.Spawn(c, agent.Spec(agent.Config{
		ID: o.ID, History: llm.NewHistory(nil), Volatile: h.volatile, View: &h.handle.view, Host: h,
		Above: s.above.handle.node.PID(), AboveTurn: s.turn,
	}))
	if err != nil {
		h.model.release()
		s.fail(n, c, err)
		return
	}
	h.handle.node = node
	n.Request(c, node.PID(), msg.Listen{})
	n.Request(c, node.PID(), msg.Submit{Prompt: a.Prompt})
}

func (s *subAgent) event(n *family.Node, c actor.Context, e msg.Event) {
	n.Tell(s.above.handle.node.PID(), msg.Report{Turn: s.turn, Data: msg.SubAgentEvent{CallID: s.callID, Event: e}})
	d, ok := e.Data.(msg.TurnDone)
	if !ok || d.Pending > 0 {
		return
	}
	r := &luavm.Result{Text: d.Text}
	if d.Status != "done" {
		r = &luavm.Result{Failed: true, Text: fmt.Sprintf("the sub-agent did not finish (%s): %s", d.Status, d.Error)}
	}
	n.Request(c, c.Parent(), vm.TaskDone{ID: 1, Result: r})
	n.Stop()
}

func (s *subAgent) fail(n *family.Node, c actor.Context, err error) {
	n.Request(c, c.Parent(), vm.TaskDone{ID: 1, Failed: true, Result: &luavm.Result{Text: err.Error(), Failed: true}})
	n.Stop()
}
