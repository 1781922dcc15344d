package luavmtest_test

import (
	"context"
	"fmt"
	"time"

	"clm/luavm"
	"clm/luavm/luavmtest"
)

// A case is a text: what the plugin meets, what is called, what comes out. Tests play files of this kind with
// luavmtest.Run(t, "testdata/*.txt").
func ExampleCase() {
	c, err := luavmtest.Parse("slow.txt", `A request that takes a second.
-- plugin slow.lua --
clm.tool_register("slow", { invoke = function(args, ctx)
    local resp = http.get("https://example.org/" .. args.page)
    ctx:complete(resp.status .. " " .. resp.body)
end })
-- reply GET https://example.org/* --
status: 404
after: 1s

no such page
-- call slow {"page":"x"} --
-- effects --
`)
	if err != nil {
		fmt.Println(err)
		return
	}
	played, err := c.Play(context.Background())
	if err != nil {
		fmt.Println(err)
		return
	}
	text := played.String()
	fmt.Println(text[len(text)-len("-- call slow {\"page\":\"x\"} --\n404 no such page\n-- effects --\n0s main: GET https://example.org/x\n"):])
	// Output:
	// -- call slow {"page":"x"} --
	// 404 no such page
	// -- effects --
	// 0s main: GET https://example.org/x
}

// Simulation drives calls from Go, in virtual time.
func ExampleSimulation() {
	program, err := luavm.Compile("p", `clm.tool_register("t", { invoke = function(_, ctx)
		local naps = {}
		for i = 1, 3 do naps[i] = clm.spawn(function() clm.sleep(60000) return i end) end
		ctx:complete(table.concat(clm.try_all(naps), " "))
	end })`)
	if err != nil {
		fmt.Println(err)
		return
	}
	vm := luavm.New(program, luavm.Options{})
	defer vm.Close()
	s := &luavmtest.Simulation{Trace: func(at time.Duration, t *luavm.Task, what any) {
		if what == "ended" {
			fmt.Println(at, "task", t.ID(), what)
		}
	}}
	s.Run(context.Background(), vm.Load())
	fmt.Println(s.Run(context.Background(), vm.Call("t", "")).Text)
	// Output:
	// 0s task 1 ended
	// 1m0s task 2 ended
	// 1m0s task 3 ended
	// 1m0s task 4 ended
	// 1m0s task 1 ended
	// 1 2 3
}
