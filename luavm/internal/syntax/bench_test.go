package syntax_test

import (
	"os"
	"runtime"
	"strings"
	"testing"

	lua "github.com/yuin/gopher-lua"
	"github.com/yuin/gopher-lua/parse"

	"clm/luavm/internal/syntax"
)

const hello = `clm.tool_register("hello", {
  description = "Say hello to someone",
  params_schema = {
    type = "object",
    properties = {
      name = { type = "string", description = "Name to greet" },
    },
    required = { "name" },
  },
  invoke = function(args, ctx)
    ctx:complete("Hello, " .. args.name .. "!")
  end,
})
`

// BenchmarkCompile compares with gopher-lua's own parser and compiler.
func BenchmarkCompile(b *testing.B) {
	long, err := os.ReadFile("testdata/long.lua")
	if err != nil {
		b.Fatal(err)
	}
	for _, c := range []struct{ name, source string }{{"hello", hello}, {"long", string(long)}} {
		b.Run(c.name+"/ours", func(b *testing.B) {
			b.SetBytes(int64(len(c.source)))
			b.ReportAllocs()
			for b.Loop() {
				if _, err := syntax.Compile("b.lua", c.source); err != nil {
					b.Fatal(err)
				}
			}
		})
		b.Run(c.name+"/gopher-lua", func(b *testing.B) {
			b.SetBytes(int64(len(c.source)))
			b.ReportAllocs()
			for b.Loop() {
				tree, err := parse.Parse(strings.NewReader(c.source), "b.lua")
				if err != nil {
					b.Fatal(err)
				}
				if _, err := lua.Compile(tree, "b.lua"); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkKept measures what a compiled plugin keeps in memory.
func BenchmarkKept(b *testing.B) {
	var before, after runtime.MemStats
	chunks := make([]*syntax.Chunk, 0, b.N)
	runtime.GC()
	runtime.ReadMemStats(&before)
	for range b.N {
		c, err := syntax.Compile("b.lua", hello)
		if err != nil {
			b.Fatal(err)
		}
		chunks = append(chunks, c)
	}
	runtime.GC()
	runtime.ReadMemStats(&after)
	b.ReportMetric(float64(after.HeapAlloc-before.HeapAlloc)/float64(b.N), "B/chunk")
	runtime.KeepAlive(chunks)
}

var programs = []struct{ name, source string }{
	{"fib", `local function fib(n) if n < 2 then return n end return fib(n-1) + fib(n-2) end fib(22)`},
	{"loop", `local s = 0 for i = 1, 300000 do s = s + i % 7 end`},
	{"swap", `local a, b, i = 0, 1, 0 while i < 50000 do a, b = b, (a + b) % 1000 i = i + 1 end`},
	{"modulo", `local n, c = 400, 0 for i = 2, n do local p = true for j = 2, i - 1 do if i % j == 0 then p = false break end end if p then c = c + 1 end end`},
	{"logical", `local x, n = nil, 0 for i = 1, 100000 do x = i % 3 == 0 and i or x if x and not (x > 5 and i < 3) then n = n + 1 end end`},
	{"records", `local t = {} for i = 1, 30000 do t[i] = {id = i, name = "n", v = i * 2} end local s = 0 for i, r in ipairs(t) do s = s + r.v + r.id end`},
	{"concat", `local t = {} for i = 1, 30000 do t[#t + 1] = "item " .. i .. "-" .. i end`},
	{"concat strings", `local s, t = "abc", {} for i = 1, 30000 do t[#t + 1] = s .. ": " .. s .. "," end`},
	{"goto", `local n = 0 local function inc() n = n + 1 end for i = 1, 100000 do if i % 2 == 0 then goto continue end inc() ::continue:: end`},
	{"break", `local n = 0 for i = 1, 50000 do for j = 1, 10 do n = n + 1 if j == 2 then break end end end`},
	{"closures", `local s = 0 for i = 1, 30000 do local f = function(x) return x + i end s = s + f(1) if s < 0 then break end end`},
}

// BenchmarkRun compares lowered code with what gopher-lua's compiler makes.
func BenchmarkRun(b *testing.B) {
	for _, c := range programs {
		b.Run(c.name+"/ours", func(b *testing.B) {
			chunk, err := syntax.Compile("b.lua", c.source)
			if err != nil {
				b.Fatal(err)
			}
			m := newMachine()
			for b.Loop() {
				m.left = 1 << 60
				m.run(chunk)
			}
		})
		b.Run(c.name+"/gopher-lua", func(b *testing.B) {
			tree, err := parse.Parse(strings.NewReader(c.source), "b.lua")
			if err != nil {
				b.Fatal(err)
			}
			proto, err := lua.Compile(tree, "b.lua")
			if err != nil {
				b.Fatal(err)
			}
			m := newMachine()
			for b.Loop() {
				m.left = 1 << 60
				m.run(&syntax.Chunk{Proto: proto})
			}
		})
	}
}
