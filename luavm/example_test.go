package luavm_test

import (
	"context"
	"fmt"

	"clm/luavm"
)

// A host compiles a plugin, loads it, and answers what its calls want.
func Example() {
	program, err := luavm.Compile("greeter", `
		clm.tool_register("greet", {
			params_schema = { type = "object", properties = { name = { type = "string" } }, required = { "name" } },
			invoke = function(args, ctx)
				local resp, err = http.get("https://example.org/greeting")
				if not resp then ctx:fail(err) return end
				ctx:complete(resp.body .. ", " .. args.name .. "!")
			end,
		})`)
	if err != nil {
		fmt.Println(err)
		return
	}
	ctx := context.Background()
	vm := luavm.New(program, luavm.Options{})
	defer vm.Close()
	if y := vm.Load().Main().Step(ctx, luavm.Answer{}); y.Result.Failed {
		fmt.Println(y.Result.Text)
		return
	}
	fmt.Println(vm.Tools()[0].Name, string(vm.Tools()[0].Schema))

	main := vm.Call("greet", `{"name":"Ada"}`).Main()
	y := main.Step(ctx, luavm.Answer{})
	want := y.Want.(luavm.HTTP)
	fmt.Println(want.Method, want.URL)
	y = main.Step(ctx, luavm.Answer{Status: 200, Body: "Hello"})
	fmt.Println(y.Done, y.Result.Text)
	// Output:
	// greet {"type":"object","properties":{"name":{"type":"string"}},"required":["name"]}
	// GET https://example.org/greeting
	// true Hello, Ada!
}

// Configuration files are Lua that returns a table.
func ExampleEvalConfig() {
	v, err := luavm.EvalConfig("config.lua", `return { model = "m", tools = { weather = { days = 1 + 2, key = clm.secrets.k } } }`,
		map[string]any{"clm": map[string]any{"secrets": map[string]any{"k": "x"}}})
	fmt.Println(v, err)
	_, err = luavm.EvalConfig("config.lua", "return {\n  model = print,\n}", nil)
	fmt.Println(err)
	// Output:
	// map[model:m tools:map[weather:map[days:3 key:x]]] <nil>
	// config.lua: model: a function is not data
}
