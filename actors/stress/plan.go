package stress

import (
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"time"
)

// plan is what an agent does in one turn, the same for the same seed.
type plan struct {
	calls  int
	cancel float64 // share of a usual turn's time after which it is cancelled; negative: not
	leave  bool
	think  time.Duration
}

// rng is the random numbers of one thing of the run.
func rng(seed, a, b uint64) *rand.Rand {
	return rand.New(rand.NewPCG(seed^a*0x9e3779b97f4a7c15, a^b<<32))
}

// plan is for the nth turn at a place. It is no matter of the agent: in what
// order agents come and go is up to the clock.
func (o *Options) plan(place, nth uint64) plan {
	r := rng(o.Seed, place, nth)
	p := plan{cancel: -1}
	if r.Float64() < o.Tools.Share {
		p.calls = o.Tools.Calls
	}
	if at := r.Float64() * 1.2; r.Float64() < o.Cancel {
		p.cancel = at
	}
	p.leave = r.Float64() < o.Churn
	if o.Think > 0 {
		p.think = time.Duration(min(r.ExpFloat64(), 10) * float64(o.Think))
	}
	return p
}

// A turn's tag is in its prompt, in its calls' ids and arguments and in
// its answers, so that whatever reaches another agent is noticed. The embedded
// model reads from the prompt what it is to do.
const (
	askMark   = "[ask "
	replyMark = "[reply "
	callMark  = "call_"

	callingMark = " calls" // after the tag of a turn that calls tools
)

func tagOf(agent, turn uint64) string { return fmt.Sprintf("%d.%d", agent, turn) }

// prompt is what an agent says in a turn.
func (o *Options) prompt(tag string, p plan, tool string) string {
	if o.Model.ID == "" {
		if p.calls > 0 {
			return askMark + tag + callingMark + "]"
		}
		return askMark + tag + "]"
	}
	if o.Prompt != "" {
		return strings.NewReplacer("{tag}", tag, "{tool}", tool).Replace(o.Prompt)
	}
	if p.calls > 0 {
		return fmt.Sprintf("%s%s] Call the tool %s %d time(s), with arguments like %s, then say in one sentence what it returned.", askMark, tag, tool, p.calls, o.args(tag, tool, 1))
	}
	return fmt.Sprintf("%s%s] Write about %d words on the sea.", askMark, tag, o.Tokens)
}

// args is the arguments of a turn's nth call.
func (o *Options) args(tag, tool string, n int) string {
	switch a := o.Tools.Args; {
	case a != "":
		return strings.NewReplacer("{tag}", tag, "{call}", strconv.Itoa(n)).Replace(a)
	case tool == helloTool:
		return `{"name":"` + tag + " " + strconv.Itoa(n) + `"}`
	}
	return "{}"
}

const helloTool = "hello"

// helloPlugin is the tool that runs call unless a toolset is given.
const helloPlugin = `clm.tool_register("hello", {
  description = "Say hello to someone",
  no_prompt = true,
  params_schema = {
    type = "object",
    properties = { name = { type = "string", description = "who to greet" } },
    required = { "name" },
  },
  invoke = function(args, ctx) ctx:complete("Hello, " .. args.name .. "!") end,
})
`
