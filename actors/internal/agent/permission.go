package agent

import (
	"fmt"

	"github.com/asynkron/protoactor-go/actor"

	"clm/actors/internal/family"
	"clm/actors/msg"
)

// prepare answers a call that wants to run: at once by a rule, or later by a
// person.
func (a *agent) prepare(n *family.Node, c actor.Context, p msg.PrepareTool) {
	if p.Turn != a.turns || a.turn == nil {
		n.Request(c, c.Sender(), msg.ToolPrepared{Why: "the turn has ended", Token: p.Token})
		return
	}
	v, why := a.cfg.Host.Decide(p)
	if v == Ask {
		a.asked++
		q := question{a.asked, c.Sender(), p}
		if p.File == "" {
			n.Request(c, c.Sender(), msg.ToolAsked{})
		}
		if a.cfg.Above != nil {
			a.passUp(n, c, q)
			return
		}
		a.questions = append(a.questions, q)
		if p.Reason != "" {
			why = p.Reason
		}
		a.publish(n, msg.PermissionAsked{
			ID: q.id, CallID: p.CallID, Tool: p.Tool, Args: p.Args, Question: a.cfg.Host.Question(p), Reason: why,
		})
		return
	}
	a.answer(n, c, c.Sender(), p, v == Allow, why)
}

// passUp has the agent above decide.
func (a *agent) passUp(n *family.Node, c actor.Context, q question) {
	if a.passed == nil {
		a.passed = map[uint64]question{}
	}
	a.passed[q.id] = q
	up := q.ask
	up.Turn, up.Token, up.Plugin, up.Nested = a.cfg.AboveTurn, q.id, "", true
	n.Request(c, a.cfg.Above, up)
}

func (a *agent) fromAbove(n *family.Node, c actor.Context, m msg.ToolPrepared) {
	if q, ok := a.passed[m.Token]; ok {
		delete(a.passed, m.Token)
		a.answer(n, c, q.from, q.ask, m.Allowed, m.Why)
	}
}

func (a *agent) answer(n *family.Node, c actor.Context, to *actor.PID, p msg.PrepareTool, allow bool, why string) {
	r := msg.ToolPrepared{Allowed: allow, Why: why, Token: p.Token}
	if allow && p.Plugin != "" {
		node, err := a.plugin(n, c, p.Plugin)
		if err != nil {
			r = msg.ToolPrepared{Token: p.Token, Why: fmt.Sprintf("plugin %s: %v", p.Plugin, err)}
		} else {
			r.Plugin = node.PID()
		}
	}
	if r.Allowed && !p.Nested && p.File == "" {
		r.Delay = a.cfg.Host.Rate(n.System().Clock.Now())
	}
	n.Request(c, to, r)
}

func (a *agent) plugin(n *family.Node, c actor.Context, name string) (*family.Node, error) {
	if p := a.plugins[name]; p != nil {
		return p, nil
	}
	p, err := a.cfg.Host.SpawnPlugin(n, c, name)
	if err == nil {
		a.plugins[name] = p
	}
	return p, err
}

// permit takes up a person's answer. Always and never may settle others too.
func (a *agent) permit(n *family.Node, c actor.Context, m msg.Permit) any {
	at := -1
	for i, q := range a.questions {
		if q.id == m.ID {
			at = i
		}
	}
	if at < 0 {
		return msg.Rejected{Err: msg.ErrNoQuestion}
	}
	q := a.questions[at]
	allow := m.Answer == msg.AllowOnce || m.Answer == msg.AllowAlways
	if !allow && m.Answer != msg.DenyOnce && m.Answer != msg.DenyAlways {
		return msg.Rejected{Err: fmt.Errorf("permission answer %q: use allow, always, deny or never", m.Answer)}
	}
	a.questions = append(a.questions[:at:at], a.questions[at+1:]...)
	a.settle(n, c, q, allow, "answer", "the user denied this call")
	if m.Answer == msg.AllowAlways || m.Answer == msg.DenyAlways {
		a.cfg.Host.Remember(q.ask, allow)
		a.resettle(n, c)
	}
	return msg.Accepted{}
}

// resettle applies the rules again to the questions that wait.
func (a *agent) resettle(n *family.Node, c actor.Context) {
	open := a.questions
	a.questions = nil
	for _, q := range open {
		switch v, why := a.cfg.Host.Decide(q.ask); v {
		case Ask:
			a.questions = append(a.questions, q)
		default:
			a.settle(n, c, q, v == Allow, "rule", why)
		}
	}
}

func (a *agent) settle(n *family.Node, c actor.Context, q question, allow bool, by, why string) {
	a.publish(n, msg.PermissionSettled{ID: q.id, CallID: q.ask.CallID, Allowed: allow, By: by})
	a.answer(n, c, q.from, q.ask, allow, why)
}

// dropPlugins lets go of plugins that changed or are gone. Calls that are using
// one go on with it: its actor ends with the turn.
func (a *agent) dropPlugins(n *family.Node, names []string) {
	for _, name := range names {
		if p := a.plugins[name]; p != nil {
			a.publish(n, msg.Notice{Text: fmt.Sprintf("plugin %s was changed or removed: its Lua state is dropped", name)})
			a.dropped = append(a.dropped, p)
			delete(a.plugins, name)
		}
	}
	if a.turn == nil {
		a.endDropped()
	}
}

func (a *agent) endDropped() {
	for _, p := range a.dropped {
		p.Stop()
	}
	a.dropped = nil
}
