package luavm_test

import (
	"context"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"

	lua "github.com/yuin/gopher-lua"

	"clm/luavm"
	"clm/luavm/luavmtest"
)

const fib = `local function fib(n) if n < 2 then return n end return fib(n-1) + fib(n-2) end `

const loop = `local n = 0 for i = 1, 3000000 do n = n + i % 7 end `

const records = `for i = 1, 200000 do local t = { x = i, y = 2 } t.z = t.x + t.y end `

const concat = `local t = {} for i = 1, 100000 do t[#t + 1] = i .. "x" end `

// BenchmarkAgainstGopher runs the same work in a VM and in bare gopher-lua: compare the two of a name.
func BenchmarkAgainstGopher(b *testing.B) {
	for _, w := range []struct{ name, work string }{
		{"fib27", fib + "fib(27)"}, {"loop3M", loop}, {"records", records}, {"concat", concat},
	} {
		b.Run(w.name+"/gopher", func(b *testing.B) {
			for b.Loop() {
				L := lua.NewState()
				if err := L.DoString(w.work); err != nil {
					b.Fatal(err)
				}
				L.Close()
			}
		})
		b.Run(w.name+"/vm", func(b *testing.B) {
			v := load(b, luavm.Options{}, register("work", w.work+` ctx:complete("")`))
			for b.Loop() {
				call(b, v, "work", "")
			}
		})
	}
}

// BenchmarkJSON encodes and decodes about 107 KB, 100 times in one call.
func BenchmarkJSON(b *testing.B) {
	const data = `local rows = {} for i = 1, 1000 do
		rows[i] = { id = i, name = "row number " .. i, ok = i % 2 == 0, ratio = i / 7, tags = { "a", "b\n", "c" }, none = json.null }
	end local text = json.encode(rows) `
	v := load(b, luavm.Options{},
		register("encode", data+`for i = 1, 100 do json.encode(rows) end ctx:complete(#text)`),
		register("decode", data+`for i = 1, 100 do json.decode(text) end ctx:complete(#text)`))
	for _, tool := range []string{"encode", "decode"} {
		b.Run(tool, func(b *testing.B) {
			for b.Loop() {
				b.ReportMetric(float64(len(call(b, v, tool, ""))), "digits")
			}
		})
	}
}

// BenchmarkSwitch is a task that waits and goes on: one Step.
func BenchmarkSwitch(b *testing.B) {
	for name, body := range map[string]string{"plain": `while true do clm.sleep(0) end`, "pcall": `while true do pcall(clm.sleep, 0) end`} {
		b.Run(name, func(b *testing.B) {
			v := load(b, luavm.Options{}, register("t", body))
			t := v.Call("t", "").Main()
			for b.Loop() {
				if y := t.Step(context.Background(), luavm.Answer{}); y.Done {
					b.Fatal(y.Result)
				}
			}
			t.Kill("end")
		})
	}
}

// BenchmarkTasks is 128 tasks with 100 waits each; ns/wait is the figure.
func BenchmarkTasks(b *testing.B) {
	v := load(b, luavm.Options{}, register("t", `local ts = {} for i = 1, 128 do
		ts[i] = clm.spawn(function() for j = 1, 100 do clm.sleep(1) end end) end clm.await_all(ts) ctx:complete("")`))
	for b.Loop() {
		call(b, v, "t", "")
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/12800, "ns/wait")
}

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

// BenchmarkNewVM makes a VM of a known plugin and loads it.
func BenchmarkNewVM(b *testing.B) {
	p, err := luavm.Compile("hello", helloPlugin)
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		v := luavm.New(p, luavm.Options{})
		if y := v.Load().Main().Step(context.Background(), luavm.Answer{}); y.Result.Failed {
			b.Fatal(y.Result.Text)
		}
	}
}

// BenchmarkVMBytes reports the heap that a loaded VM holds on to, before and after its first call.
func BenchmarkVMBytes(b *testing.B) {
	p, err := luavm.Compile("hello", helloPlugin)
	if err != nil {
		b.Fatal(err)
	}
	const n = 2000
	for _, called := range []bool{false, true} {
		b.Run(fmt.Sprintf("called=%v", called), func(b *testing.B) {
			for b.Loop() {
				before := heap()
				vms := make([]*luavm.VM, n)
				for i := range vms {
					vms[i] = luavm.New(p, luavm.Options{})
					vms[i].Load().Main().Step(context.Background(), luavm.Answer{})
					if called {
						vms[i].Call("hello", `{"name":"x"}`).Main().Step(context.Background(), luavm.Answer{})
					}
				}
				b.ReportMetric(float64(heap()-before)/n, "B/vm")
				runtime.KeepAlive(vms)
			}
		})
	}
}

func heap() int64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc + m.StackInuse)
}

// BenchmarkCompile compiles the hello plugin.
func BenchmarkCompile(b *testing.B) {
	for b.Loop() {
		if _, err := luavm.Compile("hello", helloPlugin); err != nil {
			b.Fatal(err)
		}
	}
}

// What the tests share.

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
