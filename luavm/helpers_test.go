package luavm_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"clm/luavm"
	"clm/luavm/luavmtest"
)

// helloPlugin is the first example of clm-tool(5).
const helloPlugin = `clm.tool_register("hello", {
    description = "Say hello to someone",
    params_schema = {
        type = "object",
        properties = { name = { type = "string", description = "who to greet" } },
        required = { "name" },
    },
    invoke = function(args, ctx)
        ctx:complete("Hello, " .. args.name .. "!")
    end,
})`

// register is the source of a tool without prompt.
func register(name, body string) string {
	return fmt.Sprintf("clm.tool_register(%q, { no_prompt = true, invoke = function(args, ctx) %s\nend })\n", name, body)
}

// load makes a loaded VM of the sources together.
func load(tb testing.TB, o luavm.Options, sources ...string) *luavm.VM {
	tb.Helper()
	p, err := luavm.Compile("p", strings.Join(sources, ""))
	if err != nil {
		tb.Fatal(err)
	}
	v := luavm.New(p, o)
	if r := new(luavmtest.Simulation).Run(context.Background(), v.Load()); r.Failed {
		tb.Fatal(r.Text)
	}
	return v
}

// call runs a tool whose requests are answered with their own URL after 10 ms, and fails the test if the call fails.
func call(tb testing.TB, v *luavm.VM, tool, args string) string {
	tb.Helper()
	r := run(tb, v, tool, args)
	if r.Failed {
		tb.Fatalf("%s: %s", tool, r.Text)
	}
	return r.Text
}

// run is call for calls that may fail.
func run(tb testing.TB, v *luavm.VM, tool, args string) luavm.Result {
	tb.Helper()
	s := &luavmtest.Simulation{Answer: echo}
	return s.Run(tb.Context(), v.Call(tool, args))
}

func echo(_ *luavm.Task, w luavm.Want) (luavm.Answer, time.Duration) {
	if h, ok := w.(luavm.HTTP); ok {
		return luavm.Answer{Status: 200, Body: h.URL}, 10 * time.Millisecond
	}
	return luavm.Answer{Err: "no answer"}, 0
}
