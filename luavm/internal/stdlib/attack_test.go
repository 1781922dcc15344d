package stdlib

import (
	"runtime/debug"
	"runtime/metrics"
	"strings"
	"testing"
	"time"
)

// Attacks on the library: each must end as it says, soon after the deadline at
// the latest, without much more memory than the limit.
const (
	attackDeadline = slowdown * 60 * time.Millisecond
	attackGrace    = slowdown * 50 * time.Millisecond
	attackLimit    = 8 << 20
	attackPeak     = 64 << 20 // bytes that the process grows by, charged or not
)

// The ways to end: in time, at the memory limit, by an error that can be caught,
// or well. "time or memory" is for races between both: a loop that makes garbage
// ends by whichever comes first, as this VM never counts anew what is still alive.
var attacks = []struct{ name, end, code string }{
	{"find backtracking", "time", `return ("a"):rep(40):find(("a-"):rep(30) .. "b")`},
	{"find optional", "time", `return ("a"):rep(28):find(("a?"):rep(28) .. ("a"):rep(28) .. "b")`},
	{"find stars", "time", `return ("a"):rep(200):find(("a*"):rep(30) .. "b")`},
	{"find lazy quadratic", "time", `return ("a"):rep(4e6):match(".-b")`},
	{"find greedy quadratic", "time", `return ("a"):rep(4e6):match("a*b")`},
	{"find big set", "time", `return ("b"):rep(1e6):find("[" .. ("a"):rep(1e6) .. "]")`},
	{"find big set repeat", "time", `return ("b"):rep(1e6):find("[" .. ("a"):rep(1e6) .. "b]*x")`},
	{"find many sets", "time", `return ("b"):rep(1e6):find(("[^a]"):rep(150) .. "x")`},
	{"find balance", "time", `return ("("):rep(1e6):find("%b()")`},
	{"find frontier set", "time", `return ("b"):rep(1e6):find("%f[" .. ("a"):rep(1e6) .. "]")`},
	{"find back reference", "time", `return ("a"):rep(1e6):find("(a*)%1b")`},
	{"find captures", "time", `return ("a"):rep(1e4):find("(a*)(a*)(a*)(a*)(a*)b")`},
	{"match suffix quadratic", "time", `return (" "):rep(4e6):match("%s+$.")`},
	{"gmatch quadratic", "time", `for w in ("a"):rep(4e6):gmatch("a-b") do end`},
	{"gmatch empty", "time", `for i = 1, 1000 do for w in ("a"):rep(1e3):gmatch("") do end end`},
	{"gsub quadratic", "time", `return ("a"):rep(4e6):gsub("a-b", "")`},
	{"gsub caught", "time", `while true do pcall(string.gsub, ("a"):rep(40), ("a-"):rep(30) .. "b", "") end`},
	{"find caught", "time", `while true do pcall(string.find, ("a"):rep(40), ("a-"):rep(30) .. "b") end`},
	{"gsub callback", "time", `return ("a"):rep(100):gsub("a", function() while true do end end)`},
	{"gsub index", "time", `return ("a"):gsub("a", setmetatable({}, {__index = function() while true do end end}))`},
	{"sort slow", "time or memory", `local t = {} for i = 1, 3e5 do t[i] = -i end table.sort(t, function(a, b) for i = 1, 100 do end return a < b end)`},
	{"sort pcall", "time or memory", `local t = {} for i = 1, 1e5 do t[i] = i end table.sort(t, pcall)`},
	{"sort loop", "time", `table.sort({3, 2, 1}, function() while true do end end)`},
	{"sort length", "memory", `table.sort(setmetatable({}, {__len = function() return 2^31 - 2 end}))`},
	{"sort too long", "error", `table.sort(setmetatable({}, {__len = function() return 2^40 end}))`},
	{"sort inconsistent", "error", `table.sort({1, 2, 3, 4, 5, 6, 7, 8, 9, 10}, function() return true end)`},
	{"sort grows", "time or memory", `local t = {3, 2, 1} table.sort(t, function(a, b) while true do t[#t + 1] = 1 end end)`},
	{"sort empties", "ok", `local t = {5, 4, 3, 2, 1, 9, 8} table.sort(t, function(a, b) while #t > 0 do table.remove(t) end return a < b end)`},
	{"move forever", "time", `table.move({}, 1, 2^53, 2)`},
	{"move values", "time or memory", `table.move(setmetatable({}, {__index = function() return 1 end}), 1, 2^53, 1, {})`},
	{"move caught", "time", `while true do pcall(table.move, {}, 1, 2^53, 2) end`},
	{"concat metamethod", "time or memory", `table.concat(setmetatable({}, {__index = function() return "" end}), "", 1, 2^53)`},
	{"insert length", "time", `table.insert(setmetatable({}, {__len = function() return 2^53 end}), 1, 1)`},
	{"remove length", "time", `table.remove(setmetatable({}, {__len = function() return 2^53 end}), 1)`},
	{"unpack", "error", `table.unpack({}, 1, 1e8)`},
	{"unpack edges", "error", `table.unpack({}, -2^53, 2^53)`},
	{"unpack metamethod", "time or memory", `for i = 1, 1e9 do table.unpack(setmetatable({}, {__index = function() return 1 end}), 1, 1000) end`},
	{"byte all", "error", `return (("x"):rep(1e6)):byte(1, -1)`},
	{"codepoint all", "error", `return utf8.codepoint(("x"):rep(1e6), 1, -1)`},
	{"tostring loop", "time", `tostring(setmetatable({}, {__tostring = function() while true do end end}))`},
	{"tostring deep", "error", `local t = setmetatable({}, {}) getmetatable(t).__tostring = function(x) return tostring(x) end tostring(t)`},
	{"index deep", "error", `local t = {} setmetatable(t, {__index = function(t, k) return t[k] end}) ipairs(t)(t, 0)`},
	{"pcall deep", "ok", `local function f() return pcall(f) end f()`},
	{"gsub deep", "error", `local function f() return (("x"):gsub("x", f)) end f()`},
	{"sort deep", "error", `local function f() table.sort({2, 1}, f) end f()`},
	{"xpcall handler", "time", `xpcall(error, function() while true do end end)`},
	{"xpcall deep", "ok", `local function h(e) return error(e) end xpcall(error, h)`},
	{"close loop", "time", `local x <close> = setmetatable({}, {__close = function() while true do end end}) error()`},
	{"close swallows", "time", `while true do pcall(function() local x <close> = setmetatable({}, {__close = function() while true do end end}) end) end`},
	{"next emptied", "time", `local t = {} for i = 1, 2e4 do t["k" .. i] = i end for k in pairs(t) do t[k] = nil end while true do next(t) end`},
	{"pairs forever", "time or memory", `local t = {} for i = 1, 1e9 do t[i .. ""] = i next(t) end`},
	{"length of nils", "time or memory", `local t = {} for i = 1, 1e5 do t[i] = i end for i = 1e5, 2, -1 do t[i] = nil end while true do table.insert(t, nil) end`},
	{"pop quadratic", "ok", `local t = {} for i = 1, 2e4 do t[i] = i end while #t > 0 do table.remove(t) end`},
	{"select many", "ok", `for i = 1, 1000 do select(-1, table.unpack({}, 1, 200)) end`},
	{"find plain", "time", `local s, p = ("a"):rep(2e6), ("a"):rep(1e6) .. "b" while true do s:find(p, 1, true) end`},
	{"compare long", "time or memory", `local a, b = ("x"):rep(2e6) .. "a", ("x"):rep(2e6) .. "b" while true do table.sort({a, b, a, b}) end`},
	{"tonumber long", "time or memory", `local s = ("1"):rep(4e6) while true do tonumber(s) tonumber(s, 10) end`},
	{"utf8 long", "time", `local s = ("x"):rep(4e6) while true do utf8.len(s) utf8.offset(s, 3e6) end`},
	{"format padding", "time or memory", `while true do string.format("%99.99f%99.99f", 1e308, 1e308) end`},
	{"random seed loop", "time", `while true do math.randomseed() math.random(2^53) end`},

	{"rep", "memory", `("x"):rep(2^31 - 1)`},
	{"rep 2^31", "error", `("x"):rep(2^31)`},
	{"rep caught", "memory", `pcall(string.rep, "x", 1e9) while true do end`},
	{"rep overflow", "error", `("xy"):rep(math.maxinteger)`},
	{"rep separator", "memory", `("x"):rep(3, ("y"):rep(4e6))`},
	{"rep nothing", "ok", `(""):rep(1e18)`},
	{"gsub amplification", "memory", `("x"):rep(1e5):gsub("x", ("y"):rep(1e5))`},
	{"gsub template", "time or memory", `("x"):rep(2e6):gsub("x+", "%0%0%0%0%0")`},
	{"gsub function amplification", "memory", `local y = ("y"):rep(1e5); ("x"):rep(1e5):gsub("x", function() return y end)`},
	{"doubling", "memory", `local s = "x" for i = 1, 40 do s = s .. s end`},
	{"doubling three", "memory", `local s = "x" for i = 1, 40 do s = s .. s .. s end`},
	{"many strings", "memory", `local t = {} for i = 1, 1000 do t[i] = ("x"):rep(1e6) end return table.concat(t)`},
	{"concat separator", "memory", `local t = {} for i = 1, 1000 do t[i] = "" end return table.concat(t, ("x"):rep(1e5))`},
	{"format strings", "memory", `local s = ("x"):rep(1e5) local t = {} for i = 1, 200 do t[i] = s end return string.format(("%s"):rep(200), table.unpack(t))`},
	{"format quoted", "time or memory", `return string.format("%q%q", ("\0"):rep(2e6), "")`},
	{"upper", "memory", `local s = ("x"):rep(4e6) return s:upper() .. s:lower()`},
	{"reverse", "memory", `local s = ("x"):rep(4e6) return s:reverse():reverse()`},
	{"sub copies", "memory", `local s, t = ("x"):rep(1e6), {} for i = 1, 20 do t[i] = s:sub(2) end`},
	{"captures copy", "time or memory", `local s, t = ("x"):rep(1e6), {} for i = 1, 20 do t[i] = s:match("x(x+)") end`},
	{"pack fixed", "memory", `string.pack("c2000000000", "x")`},
	{"pack strings", "memory", `local s = ("x"):rep(1e6) return string.pack("zzzzzzzzzz", s, s, s, s, s, s, s, s, s, s)`},
	{"unpack format", "error", `string.unpack(("b"):rep(1e6), ("x"):rep(1e6))`},
	{"unpack pad", "error", `string.unpack("!16" .. ("Xi16"):rep(1e5) .. "b", "")`},
	{"packsize", "error", `string.packsize(("c2147483639"):rep(5e3) .. "z")`},
	{"sparse keys", "memory", `local t = {} for i = 1, 100 do rawset({}, 1e6, 1) end`},
	{"insert forever", "time or memory", `local t = {} while true do table.insert(t, 1) end`},
	{"insert first forever", "time or memory", `local t = {} while true do table.insert(t, 1, 1) end`},
	{"pack tables", "time or memory", `local t = {} for i = 1, 1e9 do t[i % 100 + 1] = table.pack(i, i, i) end`},
	{"captures deep", "error", `("a"):find(("("):rep(3e6))`},
	{"pattern deep", "error", `("a"):rep(9e5):find(("a?"):rep(3e5))`},
	{"pattern long star", "ok", `("a"):rep(9e5):find("a*$")`},
	{"gmatch closures", "time or memory", `local t = {} for i = 1, 1e9 do t[i] = ("x"):gmatch("x") end`},
	{"print", "memory", `print(("x"):rep(5e6))`},
	{"error long", "memory", `local s = ("x"):rep(3e6) for i = 1, 10 do pcall(error, s) pcall(function() error(s) end) end`},
	{"names long", "ok", `local s = ("x"):rep(1e5) for i = 1, 100 do assert(#select(2, pcall(string.rep, setmetatable({}, {__name = s}))) < 300) end`},
}

func TestAttacks(t *testing.T) {
	for _, c := range attacks {
		t.Run(strings.ReplaceAll(c.name, " ", "_"), func(t *testing.T) {
			v := newTestVM()
			v.limit = attackLimit
			fn, args, err := v.load(c.code)
			if err != nil {
				t.Fatal(err)
			}
			debug.FreeOSMemory()
			before := resident()
			elapsed := stopwatch()
			v.deadline = time.Now().Add(attackDeadline)
			if !strings.Contains(c.end, "time") {
				v.deadline = v.deadline.Add(time.Minute) // however busy the machine is
			}
			_, e, ok := v.call(fn, args...)
			took := elapsed()
			grown := resident() - before

			if end := endOf(t, v, ok); !strings.Contains(c.end, end) {
				t.Errorf("ended by %s (%v), want %s", end, e, c.end)
			}
			if took > attackDeadline+attackGrace {
				t.Errorf("took %v, deadline %v", took, attackDeadline)
			}
			if grown > attackPeak {
				t.Errorf("grew by %d MiB, charged %d", grown>>20, v.used>>20)
			}
		})
	}
}

// resident is what the process holds, without what it has given back: since
// memory is given back slowly, the highest use of late, however often garbage
// was collected meanwhile.
func resident() int64 {
	s := []metrics.Sample{{Name: "/memory/classes/total:bytes"}, {Name: "/memory/classes/heap/released:bytes"}}
	metrics.Read(s)
	return int64(s[0].Value.Uint64() - s[1].Value.Uint64())
}

func endOf(t *testing.T, v *testVM, ok bool) string {
	if v.fault != nil {
		t.Error(v.fault)
	}
	switch {
	case v.dead == errTime:
		return "time"
	case v.dead == errMemory:
		return "memory"
	case ok:
		return "ok"
	}
	return "error"
}
