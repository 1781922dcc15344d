//go:build unix

package luavm_test

import (
	"context"
	"fmt"
	"runtime"
	"testing"
	"time"

	lua "github.com/yuin/gopher-lua"

	"clm/luavm"
)

const fib = `local function fib(n) if n < 2 then return n end return fib(n-1) + fib(n-2) end `

const loop = `local n = 0 for i = 1, 3000000 do n = n + i % 7 end `

const records = `for i = 1, 200000 do local t = { x = i, y = 2 } t.z = t.x + t.y end `

const concat = `local t = {} for i = 1, 100000 do t[#t + 1] = i .. "x" end `

const protected = `local function f(x) return x end for i = 1, 300000 do pcall(f, i) end `

const caught = `for i = 1, 100000 do pcall(error, "x") end `

const methods = `local C = {} C.__index = C function C:add(n) self.n = self.n + n end
	local o = setmetatable({ n = 0 }, C) for i = 1, 300000 do o:add(i) end `

// BenchmarkAgainstGopher runs the same work in a VM and in bare gopher-lua: compare the two of a name.
func BenchmarkAgainstGopher(b *testing.B) {
	for _, w := range []struct{ name, work string }{
		{"fib27", fib + "fib(27)"},
		{"loop3M", loop},
		{"records", records},
		{"concat", concat},
		{"pcall", protected},
		{"pcall-error", caught},
		{"methods", methods},
	} {
		b.Run(w.name+"/gopher", func(b *testing.B) {
			defer reportCPU(b, 1, cpuTime())
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
			defer reportCPU(b, 1, cpuTime())
			for b.Loop() {
				call(b, v, "work", "")
			}
		})
	}
}

// BenchmarkJSON encodes and decodes about 107 KB, 100 times in one call.
func BenchmarkJSON(b *testing.B) {
	const data = `local rows = {} for i = 1, 1015 do
		rows[i] = { id = i, name = "row number " .. i, ok = i % 2 == 0, ratio = i / 7, tags = { "a", "b\n", "c" }, none = json.null }
	end local text = json.encode(rows) `
	v := load(b, luavm.Options{},
		register("encode", data+`for i = 1, 100 do json.encode(rows) end ctx:complete(text)`),
		register("decode", data+`for i = 1, 100 do json.decode(text) end ctx:complete(text)`))
	for _, tool := range []string{"encode", "decode"} {
		b.Run(tool, func(b *testing.B) {
			defer reportCPU(b, 1, cpuTime())
			for b.Loop() {
				b.ReportMetric(float64(len(call(b, v, tool, "")))/1024, "KiB")
			}
		})
	}
}

// BenchmarkCall is one call of a trivial tool.
func BenchmarkCall(b *testing.B) {
	v := load(b, luavm.Options{}, helloPlugin)
	b.ReportAllocs()
	for b.Loop() {
		if y := v.Call("hello", `{"name":"x"}`).Main().Step(context.Background(), luavm.Answer{}); !y.Done {
			b.Fatal(y.Want)
		}
	}
}

// BenchmarkSwitch is a task that waits and goes on: one Step.
func BenchmarkSwitch(b *testing.B) {
	for name, body := range map[string]string{"plain": `while true do clm.sleep(0) end`, "pcall": `while true do pcall(clm.sleep, 0) end`} {
		b.Run(name, func(b *testing.B) {
			v := load(b, luavm.Options{}, register("t", body))
			t := v.Call("t", "").Main()
			defer reportCPU(b, 1, cpuTime())
			for b.Loop() {
				if y := t.Step(context.Background(), luavm.Answer{}); y.Done {
					b.Fatal(y.Result)
				}
			}
			t.Kill("end")
		})
	}
}

// BenchmarkTasks is 128 tasks with 100 waits each; the figure is for one wait.
func BenchmarkTasks(b *testing.B) {
	v := load(b, luavm.Options{}, register("t", `local ts = {} for i = 1, 128 do
		ts[i] = clm.spawn(function() for j = 1, 100 do clm.sleep(1) end end) end clm.await_all(ts) ctx:complete("")`))
	defer reportCPU(b, 12800, cpuTime())
	for b.Loop() {
		call(b, v, "t", "")
	}
}

// BenchmarkNewVM makes a VM of a known plugin and loads it.
func BenchmarkNewVM(b *testing.B) {
	p, err := luavm.Compile("hello", helloPlugin)
	if err != nil {
		b.Fatal(err)
	}
	known := load(b, luavm.Options{}, helloPlugin).Tools()
	b.ReportAllocs()
	defer reportCPU(b, 1, cpuTime())
	for b.Loop() {
		v := luavm.New(p, luavm.Options{Tools: known})
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
	known := load(b, luavm.Options{}, helloPlugin).Tools()
	const n = 2000
	for _, called := range []bool{false, true} {
		b.Run(fmt.Sprintf("called=%v", called), func(b *testing.B) {
			for b.Loop() {
				before := heap()
				vms := make([]*luavm.VM, n)
				for i := range vms {
					vms[i] = luavm.New(p, luavm.Options{Tools: known})
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

// reportCPU reports the process's own time for each of the parts of an operation: other work on the machine, which
// ns/op counts, does not show in it.
func reportCPU(b *testing.B, parts int, start time.Duration) {
	b.ReportMetric(float64((cpuTime()-start).Nanoseconds())/float64(b.N*parts), "cpu-ns")
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
