package actors_test

import (
	"fmt"
	"strings"
	"testing"

	"clm/actors"
)

// Calls begin in the order of the answer, and tasks in spawn order.
func TestStartOrder(t *testing.T) {
	plugin := `
local n = 0
clm.tool_register("t", { no_prompt = true, invoke = function(_, ctx)
	n = n + 1
	local mine, order, tasks = n, {}, {}
	for i = 1, 9 do tasks[i] = clm.spawn(function() order[#order + 1] = i end) end
	clm.await_all(tasks)
	ctx:complete(mine .. ": " .. table.concat(order))
end })`
	for range 20 {
		r := newRig(t, actors.Options{}, fanOut(12)+"!finish tool_calls\n", ok)
		a, l := r.spawn(actors.AgentOptions{Tools: r.tools(nil, plugin)})
		_, events := r.turn(a, l, "go")
		got := results(events)
		for i := 1; i <= 12; i++ {
			if want := fmt.Sprintf("%d: 123456789", i); got[fmt.Sprint("c", i)] != want {
				t.Fatalf("call %d gave %q, want %q", i, got[fmt.Sprint("c", i)], want)
			}
		}
		r.close()
	}
}

// A call that waits for a person does not hold up the next one.
func TestQuestionHoldsUpNobody(t *testing.T) {
	bubble(t, actors.Options{}, func(r *rig) {
		tools := r.tools(actors.GoTools{{Name: "gated", Run: says("gated ran")}, {Name: "t", NoPrompt: true, Run: says("free ran")}})
		a, l := r.spawn(actors.AgentOptions{Tools: tools, Permissions: actors.Permissions{Ask: true}})
		n, err := a.Submit("go")
		if err != nil {
			r.Fatal(err)
		}
		seen := ""
		for !strings.Contains(seen, "tool_result") {
			e, err := l.Next(r.Context())
			if err != nil {
				r.Fatal(err)
			}
			seen += " " + e.Data.EventName()
		}
		if !strings.Contains(seen, "permission") {
			r.Errorf("events %s", seen)
		}
		if err := a.Cancel(); err != nil {
			r.Fatal(err)
		}
		r.end(l, n)
	}, "!tool c1@0 gated {}\n!tool c2@1 t {}\n!finish tool_calls\n")
}
