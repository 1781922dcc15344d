package stdlib

import (
	"strings"
	"testing"
	"time"

	lua "github.com/yuin/gopher-lua"
)

// benchmarks call one function in a loop, in a VM with our library and in one
// with gopher-lua's own, both with the same hook on every instruction.
var benchmarks = []struct{ name, setup, body string }{
	{"find plain", `local s = ("x"):rep(200) .. "needle"`, `s:find("needle", 1, true)`},
	{"find literal", `local s = ("x"):rep(200) .. "needle"`, `s:find("needle")`},
	{"find short", `local s = "key = value"`, `s:find("=")`},
	{"find class", `local s = ("x"):rep(200) .. "123"`, `s:find("%d+")`},
	{"match pair", `local s = "key = value"`, `s:match("^(%w+)%s*=%s*(%w+)$")`},
	{"match lazy", `local s = "  some text to trim   "`, `s:match("^%s*(.-)%s*$")`},
	{"match set", `local s = "user.name+tag@example.com"`, `s:match("^[%w.+-]+@[%w-]+%.[%a]+$")`},
	{"match number", `local s = "-12.5e3"`, `s:match("^-?%d+%.?%d*[eE]?%d*$")`},
	{"gmatch words", `local s = ("word "):rep(20)`, `for w in s:gmatch("%a+") do end`},
	{"gsub literal", `local s = ("a,b"):rep(50)`, `s:gsub(",", ";")`},
	{"gsub template", `local s = ("k=v "):rep(20)`, `s:gsub("(%w)=(%w)", "%2=%1")`},
	{"gsub function", `local s = ("k=v "):rep(20) local function f(x) return x end`, `s:gsub("%w", f)`},
	{"gsub table", `local s = ("k=v "):rep(20) local t = {k = "K"}`, `s:gsub("%w", t)`},
	{"gsub none", `local s = ("x"):rep(1000)`, `s:gsub("%d", "")`},
	{"sub", `local s = ("x"):rep(100)`, `s:sub(10, 20)`},
	{"sub one", `local s = ("x"):rep(100)`, `s:sub(10, 10)`},
	{"byte", `local s = ("x"):rep(100)`, `s:byte(10)`},
	{"char", ``, `string.char(72, 101, 108, 108, 111)`},
	{"rep", ``, `("ab"):rep(100)`},
	{"upper", `local s = ("abc"):rep(30)`, `s:upper()`},
	{"reverse", `local s = ("abc"):rep(30)`, `s:reverse()`},
	{"len", `local s = ("abc"):rep(30)`, `s:len()`},
	{"format d", ``, `string.format("%d items", i)`},
	{"format mix", ``, `string.format("%5.2f %s %x", 3.14159, "abc", 255)`},
	{"format s", `local s = ("abc"):rep(10)`, `string.format("%s-%s", s, s)`},
	{"tostring", ``, `tostring(i)`},
	{"tostring float", ``, `tostring(i + 0.5)`},
	{"tonumber", ``, `tonumber("12345")`},
	{"concat", `local t = {} for j = 1, 100 do t[j] = "item" end`, `table.concat(t, ",")`},
	{"concat numbers", `local t = {} for j = 1, 100 do t[j] = j end`, `table.concat(t, ",")`},
	{"insert", `local t = {}`, `table.insert(t, i) if i % 1000 == 0 then t = {} end`},
	{"insert first", `local t = {}`, `table.insert(t, 1, i) if i % 200 == 0 then t = {} end`},
	{"insert remove", `local t = {1, 2, 3}`, `table.insert(t, i) table.remove(t)`},
	{"unpack", `local t = {1, 2, 3, 4, 5} local unpack = unpack or table.unpack`, `unpack(t)`},
	{"sort numbers", `local t = {}`, `for j = 1, 100 do t[j] = (j * 7919) % 101 end table.sort(t)`},
	{"sort strings", `local t = {}`, `for j = 1, 100 do t[j] = "k" .. (j * 7919) % 101 end table.sort(t)`},
	{"sort function", `local t = {} local function f(a, b) return a > b end`, `for j = 1, 100 do t[j] = (j * 7919) % 101 end table.sort(t, f)`},
	{"floor", ``, `math.floor(i / 3)`},
	{"max", ``, `math.max(i, 5, 7)`},
	{"random", ``, `math.random(100)`},
	{"sin", ``, `math.sin(i)`},
	{"pairs", `local t = {a = 1, b = 2, c = 3, 1, 2, 3}`, `for k, v in pairs(t) do end`},
	{"ipairs", `local t = {1, 2, 3, 4, 5, 6}`, `for k, v in ipairs(t) do end`},
	{"select", ``, `select("#", 1, 2, 3)`},
	{"type", ``, `type(i)`},
	{"rawget", `local t = {x = 1}`, `rawget(t, "x")`},
	{"setmetatable", `local t, mt = {}, {}`, `setmetatable(t, mt)`},
}

// newStockVM has gopher-lua's own libraries.
func newStockVM() *testVM {
	v := newTestVM()
	v.root = lua.NewState(lua.Options{
		SkipOpenLibs: true, CallStackSize: 200, RegistrySize: 1024, RegistryMaxSize: 65536, RegistryGrowStep: 256,
	})
	for _, open := range []lua.LGFunction{lua.OpenBase, lua.OpenString, lua.OpenTable, lua.OpenMath} {
		v.root.Push(v.root.NewFunction(open))
		v.root.Call(0, 0)
	}
	return v
}

// calls is how many calls are measured at once.
const calls = 200

// BenchmarkLibrary reports the best time of a call, ours and stock's, and their
// ratio: below 1 is faster than stock. The best of many short runs is steady
// also on a busy machine.
func BenchmarkLibrary(b *testing.B) {
	for _, c := range benchmarks {
		b.Run(strings.ReplaceAll(c.name, " ", "-"), func(b *testing.B) {
			code := c.setup + "\nreturn function(n) for i = 1, n do " + c.body + " end end"
			run := func(v *testVM) func(n int) time.Duration {
				v.deadline = time.Now().Add(time.Hour)
				v.limit = 1 << 62
				fn, err := v.root.LoadString(code)
				if err != nil {
					b.Fatal(err)
				}
				results, e, ok := v.call(fn)
				if !ok {
					b.Fatal(e)
				}
				t := v.thread()
				return func(n int) time.Duration {
					start := time.Now()
					t.Push(results[0])
					t.Push(lua.LNumber(n))
					t.Call(1, 0)
					return time.Since(start)
				}
			}
			ours, stock := run(newTestVM()), run(newStockVM())
			mine, theirs := time.Hour, time.Hour
			for range b.N {
				mine = min(mine, ours(calls))
				theirs = min(theirs, stock(calls))
			}
			b.ReportMetric(float64(mine.Nanoseconds())/calls, "ours-ns/call")
			b.ReportMetric(float64(theirs.Nanoseconds())/calls, "stock-ns/call")
			b.ReportMetric(float64(mine)/float64(theirs), "ours/stock")
			b.ReportMetric(0, "ns/op")
		})
	}
}
