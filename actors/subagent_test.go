package actors_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"clm/actors"
	"clm/actors/msg"
	"clm/llm"
)

func TestSubAgent(t *testing.T) {
	bubble(t, actors.Options{}, func(r *rig) {
		sub := actors.AgentOptions{System: "you are the helper", Tools: r.tools(actors.GoTools{{Name: "t", Run: says("secret 42")}})}
		a, l := r.spawn(actors.AgentOptions{SubAgents: map[string]actors.AgentOptions{"helper": sub}, Permissions: actors.Permissions{Ask: true}})
		n, err := a.Submit("delegate")
		if err != nil {
			r.Fatal(err)
		}
		asked := 0
		var events []actors.Event
		d, err := l.Turn(context.Background(), n, func(e actors.Event) {
			events = append(events, e)
			if p, ok := e.Data.(msg.PermissionAsked); ok {
				asked++
				if err := a.Permit(p.ID, msg.AllowOnce); err != nil {
					r.Error(err)
				}
			}
		})
		if err != nil || d.Status != "done" || asked != 1 || results(events)["s1"] != "it is 42" {
			r.Errorf("%+v, %v, asked %d, %v", d, err, asked, results(events))
		}
		q := r.model.Requests()
		if len(q) != 4 || !strings.Contains(string(q[1].Body), "you are the helper") || strings.Contains(string(q[1].Body), "delegate") {
			r.Errorf("%d requests", len(q))
		}
		r.idle()
	}, `!tool s1 agent {"agent":"helper","prompt":"find it"}
!finish tool_calls
`, call, "!text it is 42\n!finish stop\n", ok)
}

func TestCancelReachesSubAgents(t *testing.T) {
	bubble(t, actors.Options{}, func(r *rig) {
		a, l := r.spawn(actors.AgentOptions{SubAgents: map[string]actors.AgentOptions{"helper": {}}})
		n, err := a.Submit("delegate")
		if err != nil {
			r.Fatal(err)
		}
		time.Sleep(time.Second)
		if r.model.Active() != 1 {
			r.Fatalf("%d requests in flight", r.model.Active())
		}
		if err := a.Cancel(); err != nil {
			r.Fatal(err)
		}
		r.end(l, n)
		for _, c := range r.engine.Counts() {
			if c.Kind == "agent" && c.Live != 1 {
				r.Errorf("%d agents are alive", c.Live)
			}
		}
		r.idle()
	}, `!tool s1 agent {"agent":"helper","prompt":"find it"}
!finish tool_calls
`, "!hang\n")
}

// delegate is a call that gives a task to the sub-agent helper.
func delegate(id string) string {
	return "!tool " + id + ` agent {"agent":"helper","prompt":"find it"}` + "\n!finish tool_calls\n"
}

func helper(o actors.AgentOptions) map[string]actors.AgentOptions {
	return map[string]actors.AgentOptions{"helper": o}
}

func TestSubAgentEvents(t *testing.T) {
	bubble(t, actors.Options{}, func(r *rig) {
		a, l := r.spawn(actors.AgentOptions{ID: "top", SubAgents: helper(actors.AgentOptions{Tools: r.tools(goTool(says("x")))})})
		_, events := r.turn(a, l, "go")
		var names []string
		for i, e := range events {
			s, ok := e.Data.(msg.SubAgentEvent)
			if !ok {
				continue
			}
			if s.CallID != "s1" || s.Event.Agent != "top/helper.1" {
				r.Errorf("%+v", s)
			}
			names = append(names, s.Event.Data.EventName())
			if _, done := s.Event.Data.(msg.TurnDone); done && !slices.ContainsFunc(events[i:], func(e actors.Event) bool {
				t, ok := e.Data.(msg.ToolResult)
				return ok && t.CallID == "s1"
			}) {
				r.Error("the result of the call is told before the end of the sub-agent's turn")
			}
		}
		got := " " + strings.Join(names, " ") + " "
		if !strings.Contains(got, " tool_begin tool_result ") || !strings.HasSuffix(got, " turn_done ") {
			r.Errorf("events%s", got)
		}
	}, delegate("s1"), call, ok, ok)
}

// agentCalls is n calls of the tool agent in one answer.
func agentCalls(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, `!tool s%d@%d agent {"agent":"helper","prompt":"task %d"}`+"\n", i, i, i)
	}
	return b.String() + "!finish tool_calls\n"
}

func TestSubAgentLimits(t *testing.T) {
	replies := []string{agentCalls(12)}
	for range 8 {
		replies = append(replies, "!sleep 100\n"+ok)
	}
	bubble(t, actors.Options{}, func(r *rig) {
		a, l := r.spawn(actors.AgentOptions{SubAgents: helper(actors.AgentOptions{})})
		_, events := r.turn(a, l, "go")
		refused := 0
		for _, text := range results(events) {
			if strings.Contains(text, "8 sub-agents run") {
				refused++
			}
		}
		if refused != 4 {
			r.Errorf("%d of 12 were refused, want 4", refused)
		}
		// They are counted down again.
		if _, events := r.turn(a, l, "once more"); results(events)["again"] != "ok" {
			r.Errorf("%v", results(events))
		}
	}, append(replies, ok, delegate("again"), ok, ok)...)

	// Each has the tool agent but the one at the bottom.
	bubble(t, actors.Options{}, func(r *rig) {
		var o actors.AgentOptions
		for range 5 {
			o = actors.AgentOptions{SubAgents: helper(o)}
		}
		a, l := r.spawn(o)
		r.turn(a, l, "go")
		q := r.model.Requests()
		for i, want := range []bool{true, true, true, false} {
			if got := strings.Contains(string(q[i].Body), `"tools"`); got != want {
				r.Errorf("at depth %d there is the tool agent: %v", i, got)
			}
		}
	}, delegate("a"), delegate("b"), delegate("c"), ok, ok, ok, ok)
}

// A sub-agent spends what is above it, whatever its profile says.
func TestSubAgentsInheritCeilings(t *testing.T) {
	used := "!usage 90 20\n"
	bubble(t, actors.Options{}, func(r *rig) {
		b := &actors.Budget{MaxTokens: 200}
		a, l := r.spawn(actors.AgentOptions{Budget: b, SubAgents: helper(actors.AgentOptions{Budget: &actors.Budget{}, Tools: r.tools(goTool(says("x")))})})
		d, events := r.turn(a, l, "go")
		if got := results(events)["s1"]; d.Status != "ceiling" && !strings.Contains(got, "ceiling") {
			r.Errorf("%+v, %q", d, got)
		}
		if turns, tokens, _ := b.Used(); turns != 2 || tokens != 220 || len(r.model.Requests()) > 3 {
			r.Errorf("%d turns, %d tokens, %d requests", turns, tokens, len(r.model.Requests()))
		}
	}, "!usage 90 20\n"+delegate("s1"), used+call, used+ok, used+ok)

	// A sub-agent that may start no turn is told so.
	bubble(t, actors.Options{}, func(r *rig) {
		sub := actors.AgentOptions{Tools: r.tools(goTool(says("x")))}
		a, l := r.spawn(actors.AgentOptions{Budget: &actors.Budget{MaxTurns: 1}, SubAgents: helper(sub)})
		d, events := r.turn(a, l, "go")
		if got := results(events)["s1"]; d.Status != "done" || !strings.Contains(got, "ceiling") {
			r.Errorf("%+v, %q", d, got)
		}
	}, delegate("s1"), ok)
}

// The permissions of the agent above hold, with the answers that it got; a
// profile can deny more, not allow more.
func TestSubAgentPermissions(t *testing.T) {
	gated := actors.GoTools{{Name: "t", Run: says("ran")}}
	for name, tc := range map[string]struct {
		above, profile actors.Permissions
		want           string
	}{
		"headless":       {actors.Permissions{}, actors.Permissions{AllowAll: true, Ask: true}, "--allow"},
		"above allows":   {actors.Permissions{Allow: []string{"t"}}, actors.Permissions{}, "ran"},
		"above denies":   {actors.Permissions{Deny: []string{"t"}, AllowAll: true}, actors.Permissions{Allow: []string{"t"}}, "denied by the rule"},
		"profile denies": {actors.Permissions{AllowAll: true}, actors.Permissions{Deny: []string{"t"}}, "denied by the rule"},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, actors.Options{}, func(r *rig) {
				a, l := r.spawn(actors.AgentOptions{Permissions: tc.above, SubAgents: helper(actors.AgentOptions{Permissions: tc.profile, Tools: r.tools(gated)})})
				r.turn(a, l, "go")
				if q := r.model.Requests(); len(q) != 4 || !strings.Contains(string(q[2].Body), tc.want) {
					r.Errorf("%d requests, %s", len(q), q[2].Body)
				}
			}, delegate("s1"), call, ok, ok)
		})
	}
}

// "Always", said for a sub-agent's call, holds for the next one too.
func TestAlwaysHoldsBelow(t *testing.T) {
	bubble(t, actors.Options{}, func(r *rig) {
		sub := actors.AgentOptions{Tools: r.tools(actors.GoTools{{Name: "t", Run: says("ran")}})}
		a, l := r.spawn(actors.AgentOptions{SubAgents: helper(sub), Permissions: actors.Permissions{Ask: true}})
		n := r.begin(a, "go")
		asked := 0
		d, err := l.Turn(context.Background(), n, func(e actors.Event) {
			if p, ok := e.Data.(msg.PermissionAsked); ok {
				asked++
				if err := a.Permit(p.ID, msg.AllowAlways); err != nil {
					r.Error(err)
				}
			}
		})
		if err != nil || d.Status != "done" || asked != 1 {
			r.Errorf("%+v, %v, asked %d times", d, err, asked)
		}
	}, delegate("s1"), call, ok, delegate("s2"), call, ok, ok)
}

func TestCancelSettlesASubAgentsQuestion(t *testing.T) {
	bubble(t, actors.Options{}, func(r *rig) {
		sub := actors.AgentOptions{Tools: r.tools(actors.GoTools{{Name: "t", Run: says("ran")}})}
		a, l := r.spawn(actors.AgentOptions{SubAgents: helper(sub), Permissions: actors.Permissions{Ask: true}})
		n := r.begin(a, "go")
		if err := a.Cancel(); err != nil {
			r.Fatal(err)
		}
		d, events := r.end(l, n)
		if !slices.ContainsFunc(events, func(e actors.Event) bool {
			s, ok := e.Data.(msg.PermissionSettled)
			return ok && s.By == "cancel"
		}) || d.Status != "canceled" || !errors.Is(a.Permit(1, msg.AllowOnce), actors.ErrNoQuestion) {
			r.Errorf("%+v: the question was left open", d)
		}
		synctest.Wait()
		r.idle()
	}, delegate("s1"), call)
}

// What is wrong with a profile is told when the agent is spawned, not to its model.
func TestSubAgentProfilesAreChecked(t *testing.T) {
	r := newRig(t, actors.Options{})
	defer r.close()
	for want, profile := range map[string]actors.AgentOptions{
		"syntax error in pattern": {Volatile: []string{"["}},
		"empty pattern":           {Permissions: actors.Permissions{Deny: []string{""}}},
		"has no URL":              {Model: actors.Model{ID: "m"}},
		"unknown kind":            {SubAgents: map[string]actors.AgentOptions{"below": {Model: actors.Model{ID: "m", Fallback: []actors.Model{{Connection: llm.Connection{URL: modelURL, Kind: "k"}}}, Connection: llm.Connection{URL: modelURL}}}}},
	} {
		_, err := r.engine.Spawn(t.Context(), actors.AgentOptions{Model: mock(100_000), SubAgents: map[string]actors.AgentOptions{"helper": profile}})
		if err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "sub-agent helper") {
			t.Errorf("want %q of sub-agent helper, got %v", want, err)
		}
	}
}

func TestSubAgentFaults(t *testing.T) {
	bubble(t, actors.Options{}, func(r *rig) {
		a, l := r.spawn(actors.AgentOptions{SubAgents: helper(actors.AgentOptions{})})
		_, events := r.turn(a, l, "go")
		got := results(events)
		if !strings.Contains(got["s1"], "agent") || !strings.Contains(got["s2"], "did not finish (failed)") || !strings.Contains(got["s2"], "no such thing") {
			r.Errorf("%q", got)
		}
		r.idle()
	}, `!tool s1 agent {"agent":"nobody","prompt":"x"}
!finish tool_calls
`, delegate("s2"), "!status 400\n{\"error\":{\"message\":\"no such thing\"}}", ok)
}

// Profiles may name themselves: a copy of them ends, and the depth bounds who runs.
func TestProfilesNameThemselves(t *testing.T) {
	bubble(t, actors.Options{}, func(r *rig) {
		profiles := map[string]actors.AgentOptions{}
		for _, name := range []string{"a", "b", "c"} {
			profiles[name] = actors.AgentOptions{SubAgents: profiles}
		}
		a, l := r.spawn(actors.AgentOptions{SubAgents: profiles, Permissions: actors.Permissions{AllowAll: true}})
		delete(profiles, "b") // the configuration was copied whole
		d, events := r.turn(a, l, "go")
		if d.Status != "done" || !strings.Contains(results(events)["1"], "deepest") {
			r.Errorf("%+v, %q", d, results(events)["1"])
		}
	}, "!tool 1 agent {\"agent\":\"b\",\"prompt\":\"x\"}\n!finish tool_calls\n",
		"!tool 2 agent {\"agent\":\"a\",\"prompt\":\"x\"}\n!finish tool_calls\n",
		"!text deepest\n!finish stop\n", "!text deepest\n!finish stop\n", "!text ok\n!finish stop\n")
}
