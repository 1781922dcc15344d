package luavm_test

import (
	"context"
	"testing"
	"time"

	"clm/luavm"
	"clm/luavm/luavmtest"
)

func TestHello(t *testing.T) {
	p, err := luavm.Compile("hello", `
clm.tool_register("hello", {
  description = "Say hello to someone",
  params_schema = { type = "object", properties = { name = { type = "string", description = "who" } }, required = { "name" } },
  invoke = function(args, ctx) ctx:complete("Hello, " .. args.name .. "!") end,
})
clm.tool_register("two", { invoke = function(args, ctx)
        local function fetch(url)
            return clm.spawn(function()
                local resp, err = http.get(url)
                if resp == nil then error(err) end
                return resp.body
            end)
        end
        local tasks = { fetch("http://x/A"), fetch("http://x/B") }
        local outcomes = clm.await_all(tasks)
        for _, outcome in ipairs(outcomes) do
            if not outcome.ok then ctx:fail(outcome.error) return end
        end
        ctx:complete(outcomes[1].value .. outcomes[2].value)
    end })
`)
	if err != nil {
		t.Fatal(err)
	}
	v := luavm.New(p, luavm.Options{})
	s := &luavmtest.Simulation{Answer: func(_ *luavm.Task, w luavm.Want) (luavm.Answer, time.Duration) {
		return luavm.Answer{Status: 200, Body: w.(luavm.HTTP).URL}, time.Second
	}}
	t.Log(s.Run(context.Background(), v.Load()))
	for _, x := range v.Tools() {
		t.Logf("%s %s", x.Name, x.Schema)
	}
	t.Log(s.Run(context.Background(), v.Call("hello", `{"name":"Ada"}`)))
	t.Log(s.Run(context.Background(), v.Call("two", ``)), s.Now)
	t.Log(v.Memory())
}
