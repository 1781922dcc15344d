package luavm_test

import (
	"context"
	"fmt"
	"regexp"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"slices"
	"strings"
	"testing"
	"time"

	"clm/luavm"
	"clm/luavm/luavmtest"
)

// An attack is code that a hostile plugin runs, at load or inside invoke, and how it must end: want is matched
// against the result's text ("^$" for a load that ends well; a call completes with "survived" unless want says else).
type attack struct{ name, code, want string }

const (
	timedOut = `timed out after \d+ ms`
	noMemory = `not enough memory: the plugin's limit is 8 MiB`
	survived = `^(survived)?$`
	stopped  = timedOut + `|` + noMemory
)

// limit is the CPU limit of the attack: short where it must end by it, else long enough for a slow machine.
func (a attack) limit() time.Duration {
	if strings.Contains(a.want, timedOut) {
		return 100 * time.Millisecond
	}
	return 10 * time.Second
}

// tool is the attack as the tool evil of a plugin that has hello too.
func (a attack) tool() string {
	return fmt.Sprintf("clm.tool_register('evil', { timeout_ms = %d, invoke = function(args, ctx) do %s end ctx:complete('survived') end })\n%s",
		a.limit().Milliseconds(), a.code, helloPlugin)
}

var attacks = []attack{
	{"probe", probeCode, survived},
	{"loop", `while true do end`, timedOut},
	{"pcall loop", `local function s() while true do end end while true do pcall(s) end`, timedOut},
	{"pcall loops nested", `local function s() while true do pcall(function() while true do end end) end end while true do pcall(s) end`, timedOut},
	{"pcall of pcall", `while true do pcall(pcall, pcall, function() while true do end end) end`, timedOut},
	{"goto loop", `::top:: pcall(error) goto top`, timedOut},
	{"xpcall handler", `while true do xpcall(error, function() while true do end end) end`, timedOut},
	{"xpcall handler fails", `while true do xpcall(error, function(e) error(e) end) end`, timedOut},
	{"close", `local x <close> = setmetatable({}, {__close = function() while true do end end}) error()`, timedOut},
	{"close after abort", `local x <close> = setmetatable({}, {__close = function() while true do end end}) while true do end`, timedOut},
	{"gc", `setmetatable({}, {__gc = function() while true do end end})`, survived},
	{"iterator", `for _ in function() return pcall(function() while true do end end) end do end`, timedOut},
	{"index metamethod", `local t = setmetatable({}, {__index = function() while true do end end}) while true do pcall(function() return t.x end) end`, timedOut},
	{"tostring metamethod", `error(setmetatable({}, {__tostring = function() while true do end end}))`, timedOut},
	{"error nil", `error(nil)`, `nil`},
	{"error table", `error({})`, `table|error object`},
	{"tail loop", `local function f() return f() end f()`, timedOut},
	{"tail loop then error", `local n = 0 local function f() n = n + 1 if n > 200000 then error("end") end return f() end while true do n = 0 pcall(f) end`, timedOut},
	{"numeric for", `for i = 1, math.huge do end`, timedOut},

	{"find backtracking", `("a"):rep(40):find(("a-"):rep(30) .. "b")`, timedOut},
	{"find optional", `("a"):rep(28):find(("a?"):rep(28) .. ("a"):rep(28))`, survived + `|` + timedOut},
	{"match quadratic", `local s = ("a"):rep(4e6) s:match(".-b")`, timedOut},
	{"match in pcall", `local s = ("a"):rep(4e6) while true do pcall(string.match, s, ".-b") end`, timedOut},
	{"gmatch", `for _ in ("a"):rep(1e6):gmatch(".-b") do end`, timedOut},
	{"deep pattern", `("a"):find(("("):rep(3e6))`, `pattern|memory|captures`},
	{"deep match", `local n = (("a"):rep(5000000)):find("a*$")`, survived},
	{"balanced", `local s = ("("):rep(1e6) while true do s:find("%b()") end`, timedOut},
	{"frontier", `local s = ("a"):rep(4e6) while true do s:find("%f[b]") end`, timedOut},
	{"gsub amplification", `("x"):rep(1e5):gsub("x", ("y"):rep(1e5))`, noMemory},
	{"gsub callback", `("x"):rep(1e6):gsub("x", function() return ("y"):rep(100) end)`, stopped},
	{"rep", `("x"):rep(2^31)`, noMemory + `|too large`},
	{"rep huge", `("x"):rep(1e10)`, noMemory + `|too large`},
	{"rep separator", `("x"):rep(1e9, ("y"):rep(1e6))`, noMemory + `|too large`},
	{"rep empty", `(""):rep(1e15)`, survived},
	{"format width", `string.format(("%99d"):rep(1e6), table.unpack({}, 1, 10))`, `format|bad argument|memory`},
	{"format huge", `while true do string.format("%s", ("x"):rep(7e6)) end`, stopped},
	{"concat doubling", `local s = "x" for i = 1, 40 do s = s .. s end`, noMemory},
	{"live strings", `local t = {} for i = 1, 1000 do t[i] = ("x"):rep(1e6) end table.concat(t)`, noMemory},
	{"garbage strings", `for i = 1, 1e9 do local s = ("x"):rep(1e6) end`, timedOut},
	{"substrings", `local t = {} for i = 1, 1e9 do local s = ("x"):rep(5e5) t[i % 100 + 1] = s:sub(1, 1) end`, timedOut},
	{"comparison", `local a, b = ("x"):rep(3e6), ("x"):rep(3e6) local n = 0 while true do if a < b then n = n + 1 end end`, timedOut},
	{"equality", `local a, b = ("x"):rep(3e6), ("x"):rep(3e6) while true do if a == b then end end`, timedOut},
	{"string key", `local a = ("x"):rep(3e6) local t = {} while true do t[a] = 1 end`, timedOut},
	{"string key read", `local a = ("x"):rep(3e6) local t = {} while true do local x = t[a] end`, timedOut},
	{"concat loop", `local a = ("x"):rep(3e6) while true do local b = a .. "y" end`, timedOut},

	{"tables", `local t = {} while true do t[#t + 1] = {} end`, noMemory},
	{"records", `local t = {} while true do local r = {} r.x = 1 t[#t + 1] = r end`, noMemory},
	{"number keys", `local t = {} local i = 0.5 while true do t[i] = i i = i + 1 end`, noMemory},
	{"string keys", `local t = {} for i = 1, 1e9 do t["k" .. i] = true end`, stopped},
	{"closures", `local t = {} while true do local a, b = 1, 2 t[#t + 1] = function() a = b end end`, noMemory},
	{"sparse", `local t = {} for i = 1, 100 do t[i] = {} t[i][1e6] = 1 end`, noMemory},
	{"sparse huge", `local t = {} t[6e7] = 1 t[2^53] = 2`, survived},
	{"insert far", `table.insert({}, 6e7, 1)`, `out of bounds`},
	{"globals", `for i = 1, 1e9 do _G["g" .. i] = i end`, stopped},
	{"registry of upvalues", `local f = function() end for i = 1, 1e9 do local g = f f = function() return g end end`, noMemory},
	{"metatable chain", `local t = {} for i = 1, 1e9 do t = setmetatable({}, t) end`, stopped},
	{"length with holes", `local t = {} for i = 1, 200000 do t[i] = 1 end for i = 1, 200000 do t[i] = nil end local n = 0 while true do n = n + #t end`, timedOut},
	{"unpack", `table.unpack({}, 1, 1e8)`, `too many results`},
	{"unpack overflow", `table.unpack({}, -2^63, 2^63 - 1)`, `too many results|no integer representation`},
	{"move", `table.move({}, 1, 2^53, 2)`, timedOut + `|too many`},
	{"insert front", `local t = {} for i = 1, 100000 do t[i] = i end while true do table.insert(t, 1, 0) table.remove(t, 1) end`, timedOut},
	{"concat table", `local t = {} for i = 1, 100000 do t[i] = ("x"):rep(70) end while true do table.concat(t) end`, stopped},
	{"sort slow", `local t = {} for i = 1, 1e5 do t[i] = i * 7919 % 100003 end
		table.sort(t, function(a, b) for i = 1, 100 do end return a < b end)`, timedOut},
	{"sort always true", `local t = {} for i = 1, 1000 do t[i] = i end table.sort(t, function() return true end)`, `invalid order function|survived|^$`},
	{"sort by pcall", `local t = {} for i = 1, 1e5 do t[i] = type end while true do pcall(table.sort, t, pcall) end`, timedOut},
	{"select", `local function f(...) return select("#", ...) end while true do f(table.unpack({}, 1, 200)) end`, timedOut},
	{"varargs", `local t = {} for i = 1, 20000 do t[i] = i end local function f(...) return pcall(f, ...) end while true do f(table.unpack(t)) end`, stopped},

	{"recursion", `local function f(n) return 1 + f(n + 1) end assert(not pcall(f, 1))`, survived},
	{"recursion uncaught", `local function f(n) return 1 + f(n + 1) end f(1)`, `stack overflow`},
	{"recursion by gsub", `local function f(s) return (s:gsub(".", f)) end assert(not pcall(f, "x"))`, survived},
	{"recursion by pcall", `local function f() local ok, err = pcall(f) return ok, err end f()`, survived},
	{"recursion by pcall tree", `local function f() pcall(f) pcall(f) end f()`, timedOut},
	{"recursion by index", `local t = setmetatable({}, {}) getmetatable(t).__index = function(_, k) return t[k .. "x"] end assert(not pcall(function() return t.a end))`, survived},
	{"recursion by tostring", `local t = setmetatable({}, {__tostring = tostring}) pcall(tostring, t)`, survived},
	{"recursion by eq", `local mt = {} mt.__eq = function(a, b) return setmetatable({}, mt) == setmetatable({}, mt) end pcall(mt.__eq)`, survived},
	{"recursion by sort", `local function f() table.sort({3, 2, 1}, f) return true end pcall(f)`, survived},
	{"recursion by concat", `local mt = {} mt.__concat = function(a, b) return a .. b end local t = setmetatable({}, mt) pcall(function() return t .. t end)`, survived},
	{"recursion by call", `local t = setmetatable({}, {}) getmetatable(t).__call = t pcall(t)`, survived},
	{"recursion by handler", `local function h() error("x") end xpcall(h, h)`, survived},
	{"recursion by xpcall", `local function f() xpcall(error, f) end f()`, survived + `|` + timedOut},
	{"recursion by iterator", `local function f() for _ in f do end end pcall(f)`, survived},
	{"recursion by close", `local function f() local x <close> = setmetatable({}, {__close = f}) f() end pcall(f)`, survived + `|` + timedOut},
	{"pcall with args of pcall", `local a = {} for i = 1, 200 do a[i] = pcall end pcall(table.unpack(a))`, survived},
	{"long error key", `while true do pcall(function() local q q[("x"):rep(1e6)] = 1 end) end`, timedOut},
	{"kept error messages", `local t = {} while true do local _, e = pcall(function() local q q[("x"):rep(3e5)] = 1 end) t[#t + 1] = e end`, stopped},

	{"varargs kept", `local t = {} for i = 1, 50000 do t[i] = i end
		local function f(...) local a, b = pcall(f, 1) return a end
		local function g(...) return (function(...) return pcall(g) end)(table.unpack(t)) end while true do g() end`, stopped},
	{"registers kept by closures", `local big, t = {}, {} for i = 1, 50000 do big[i] = i end
		for i = 1, 1e9 do pcall(function(...) local x = i t[i] = function() return x end end, table.unpack(big)) end`, stopped},
	{"pages of numbers", `local t, i = {}, 0.5 while true do
		i = i + 1 i = i + 1 i = i + 1 i = i + 1 i = i + 1 i = i + 1 i = i + 1 i = i + 1 i = i + 1 i = i + 1 i = i + 1
		i = i + 1 i = i + 1 i = i + 1 i = i + 1 i = i + 1 i = i + 1 i = i + 1 i = i + 1 i = i + 1 i = i + 1 i = i + 1
		i = i + 1 i = i + 1 i = i + 1 i = i + 1 i = i + 1 i = i + 1 i = i + 1 i = i + 1 t[#t + 1] = i end`, stopped},
	{"iterators kept", `local t = {} for i = 1, 1e9 do t[i] = ("x"):rep(1e6):gmatch("x") end`, noMemory},
	{"code points kept", `local t = {} for i = 1, 1e9 do local f, s = utf8.codes(("x"):rep(1e6)) t[i] = { f, s } end`, noMemory},
	{"open upvalues", `local function deep(n)
			local a, b, c, d, e, f, g, h, i, j, k, l, m, o, p, q, r, s, t, u, v, w, x, y, z = 1
			local z1, z2, z3, z4, z5, z6, z7, z8, z9, y1, y2, y3, y4, y5, y6, y7, y8, y9, x1, x2, x3, x4, x5, x6, x7, x8, x9
			local keep = { function() return a, b, c, d, e, f, g, h, i, j, k, l, m, o, p, q, r, s, t, u, v, w, x, y, z end,
				function() return z1, z2, z3, z4, z5, z6, z7, z8, z9, y1, y2, y3, y4, y5, y6, y7, y8, y9, x1, x2, x3, x4, x5, x6, x7, x8, x9 end }
			if n == 0 then while true do local one local f = function() return one end end end
			deep(n - 1) return keep
		end while true do pcall(deep, 950) end`, timedOut},
	{"errors with open upvalues", `local function deep(n)
			local a, b, c, d, e, f, g, h, i, j, k, l, m, o, p, q, r, s, t, u, v, w, x, y, z = 1
			local keep = function() return a, b, c, d, e, f, g, h, i, j, k, l, m, o, p, q, r, s, t, u, v, w, x, y, z end
			deep(n + 1) return keep
		end while true do pcall(deep, 1) end`, timedOut},
	{"numbers in long strings", `local s = ("1"):rep(4e6) while true do local x = s + 1 end`, timedOut},
	{"long string as loop bound", `local s = ("1"):rep(4e6) while true do pcall(function() for i = 1, s do end end) end`, timedOut},
	{"long hexadecimal numerals", `local s = "0x" .. ("f"):rep(1e6) while true do local x = s + 1 x = ("0x." .. s:sub(3)) + 1 end`, timedOut},
	{"long fractions", `local s = "." .. ("0"):rep(4e6) .. "1" while true do local x = s + 1 x = math.tointeger(s) end`, timedOut},
	{"many spaces", `local s = (" "):rep(4e6) .. "1" while true do local x = s + 1 x = tonumber(s) x = tonumber(s, 10) end`, timedOut},
	{"errors that double", `local e = "x" while true do local _, m = pcall(error, e .. e, 0) e = m end`, noMemory},
	{"error of megabytes", `error(("e"):rep(4e6))`, `^\w+.lua:\d+: e{1000}`},
	{"error text of megabytes", `error(setmetatable({}, { __tostring = function() return ("y"):rep(4e6) end }))`, `^y{1000}`},
	{"error text that grows", `error(setmetatable({}, { __tostring = function() local s = "x" while true do s = s .. s end end }))`, noMemory},
	{"names of megabytes", `local n = setmetatable({}, { __name = ("n"):rep(4e6) })
		for _, f in ipairs({ function() return n + 1 end, function() return n < n end, function() return #n .. n end, function() n() end,
			function() ("x"):rep(n) end, function() table.concat({ n }) end, function() error(n) end, function() tostring(n) end }) do
			local _, err = pcall(f) assert(rawequal(err, n) or err == nil or #err < 1000)
		end`, survived},
	{"patterns in replacements", `("x"):rep(1e6):gsub("(x+)", ("%1"):rep(1000))`, noMemory},
	{"captures of all", `local s = ("x"):rep(1e6) while true do s:find(("(x*)"):rep(31)) end`, stopped},
	{"pack of many", `string.pack(("i16"):rep(1e5), table.unpack({}, 1, 200))`, `bad argument`},
	{"unpack of lengths", `for _, n in ipairs({ "\255\255\255\255\255\255\255\127", "\255\255\255\255\255\255\255\255", "\0\0\0\0\0\0\0\128" }) do
		local ok, err = pcall(string.unpack, "<s8", n .. "abc") assert(not ok and #err < 200) end`, survived},
	{"unpack loop", `local s, f = ("x"):rep(4e6), ("b"):rep(200) while true do string.unpack(f, s) string.unpack("z", s .. "\0") end`, stopped},
	{"code points", `local s = ("\u{10FFFF}"):rep(5e5) while true do for _, c in utf8.codes(s) do end utf8.offset(s, -1) end`, timedOut},
	{"holes at the end", `local t = {} t[1e5] = 1 t[1e5] = nil while true do table.insert(t, 1) t[1] = nil end`, timedOut},
	{"insert at odd places", `local t = { 1, 2 } for _, at in ipairs({ 0, -1, 4, 1.5, 0/0, 1/0, 2^53, math.mininteger, math.maxinteger, "x", {} }) do
		assert(not pcall(table.insert, t, at, 1)) end
		table.insert(t, "3", 3) table.insert(t, 1, nil) assert(t[1] == nil and t[2] == 1 and t[4] == 3)`, survived},
	{"unary minus of a long string", `local s = ("1"):rep(4e6) while true do local x = -s end`, timedOut},
	{"tonumber of long strings", `local s = ("1"):rep(4e6) while true do local x = tonumber(s) x = math.tointeger(s) end`, timedOut},
	{"next over deleted keys", `local t = {} for i = 1, 30000 do t["k" .. i] = true end for i = 1, 30000 do t["k" .. i] = nil end
		while true do next(t) pairs(t) for _ in pairs(t) do end end`, timedOut},
	{"deleted keys", `local t = {} for r = 1, 1e9 do local k = "k" .. r t[k] = true t[k] = nil end`, stopped},
	{"lower and upper", `local s = ("x"):rep(3e6) while true do s:upper() s:lower() s:reverse() s:len() s:byte(1) end`, timedOut},
	{"compare by sort", `local s = ("x"):rep(1e6) local t = {} for i = 1, 5000 do t[i] = s end while true do table.sort(t) end`, timedOut},
	{"concat of one", `local s = ("x"):rep(3e6) while true do table.concat({ s }) end`, timedOut},
	{"pack", `local s = ("x"):rep(3e6) while true do string.pack("s4", s) end`, timedOut},
	{"utf8 length", `local s = ("x"):rep(4e6) while true do utf8.len(s) end`, timedOut},
	{"tostring of keys", `local s = ("x"):rep(3e6) while true do pcall(function() local q q[s] = 1 end) end`, timedOut},
	{"method chain", `local t = {} for i = 1, 90 do t = setmetatable({}, { __index = t }) end while true do local x = t.missing end`, timedOut},
	{"chain with long keys", `local s = ("x"):rep(2e6) local t = {} for i = 1, 20 do t["a" .. i] = i end
		for i = 1, 90 do t = setmetatable({ a = 1, b = 2, c = 3, d = 4, e = 5, f = 6, g = 7, h = 8, i = 9, j = 10 }, { __index = t }) end
		while true do local x = t[s] end`, timedOut},
	{"newindex chain", `local t = {} for i = 1, 90 do t = setmetatable({}, { __newindex = t }) end for i = 1, 1e9 do t[i] = {} end`, stopped},
	{"newindex to globals", `local t = setmetatable({}, { __newindex = _G }) for i = 1, 1e9 do t["x" .. i] = i end`, stopped},
	{"rawset", `local t = {} for i = 1, 1e9 do rawset(t, "x" .. i, i) end`, stopped},
	{"string methods added", `function string.spin(s) while true do end end ("x"):spin()`, timedOut},
	{"string metatable", `getmetatable("").__index = function() while true do end end local x = ("x").y`, timedOut},
	{"string metatable call", `getmetatable("").__call = function() return (("x")()) end pcall(function() ("x")() end)`, survived},

	{"json cycle", `local t = {} t.t = t json.encode(t)`, `value.t: the table contains itself`},
	{"json deep encode", `local t = {} for i = 1, 1e4 do t = { t } end json.encode(t)`, `nested deeper than 200 levels`},
	{"json deep decode", `local v, err = json.decode(("["):rep(1e5)) assert(v == nil and err:find("nested deeper"))`, survived},
	{"json too long", `local v, err = json.decode((" "):rep(2 * 1024 * 1024 + 1)) assert(v == nil and err:find("2097152"))`, survived},
	{"json amplification", `json.decode("[" .. ("[],"):rep(699049) .. "[]]")`, noMemory},
	{"json dag", `local t = {} for i = 1, 60 do t = { t, t } end json.encode(t)`, stopped},
	{"json strings", `local s = ("\1"):rep(2e6) json.encode({ s, s, s })`, noMemory},
	{"json with equal slots", `local list = {} for i = 1, 20000 do list[i] = '"a' .. i + 100000 .. "0" .. ("x"):rep(9) .. '"' end
		local back = json.decode("[" .. table.concat(list, ",") .. "]")
		for i = 1, 20000 do assert('"' .. back[i] .. '"' == list[i]) end`, survived},
	{"json with equal keys", `assert(json.decode("{" .. ('"k":1,'):rep(5e4) .. '"k":2}').k == 2)`, survived},
	{"json records that share keys", `local r = json.decode('[{"a":1,"b":2},{"a":3,"b":4},{"a":5,"b":6}]')
		setmetatable({}, { __newindex = r[1] }).c = 7 rawset(r[2], "d", 8) r[3].b = nil r[3].e = 9
		local function keys(t) local s = "" for k, v in pairs(t) do s = s .. k .. v end return s end
		assert(keys(r[1]) == "a1b2c7" and keys(r[2]) == "a3b4d8" and keys(r[3]) == "a5e9")`, survived},
	{"json long numbers", `local s = ("1"):rep(1e6) while true do json.decode(s) json.decode("0." .. s) json.decode("-" .. s .. "e9") end`, timedOut},
	{"json long exponent", `local s = "1e" .. ("9"):rep(1e6) while true do json.decode(s) json.decode("1e-" .. s) end`, timedOut},
	{"json escapes", `local s = '"' .. ("\\u0041"):rep(3e5) .. '"' while true do json.decode(s) end`, timedOut},
	{"json half escape", `local v, err = json.decode('"' .. ("\\"):rep(1e6 + 1)) assert(v == nil and err:find("without end"))`, survived},
	{"json metamethods", `local function spin() while true do end end
		json.encode(setmetatable({ 1 }, { __index = spin, __len = spin, __pairs = spin, __tostring = spin, __name = ("x"):rep(1e6) }))`, survived},
	{"json path", `local t = print for i = 1, 150 do t = { [("k"):rep(1e4)] = t } end
		local ok, err = pcall(json.encode, t) assert(not ok and #err < 1000)`, survived},
	{"json loop", `local s = "[" .. ("1,"):rep(1e5) .. "1]" while true do pcall(json.decode, s) end`, timedOut},
}

// taskAttacks need tasks: they are for invoke only.
var taskAttacks = []attack{
	{"many tasks", `for i = 1, 1024 do clm.spawn(function() clm.sleep(1e6) end) end clm.sleep(1000)`, `unawaited tasks`},
	{"tasks deep in pcall", `for i = 1, 1024 do clm.spawn(function()
			local function f(n) if n == 0 then clm.sleep(1e6) end pcall(f, n - 1) end f(250)
		end) end clm.sleep(1000)`, noMemory},
	{"tasks deep in metamethods", `for i = 1, 1024 do clm.spawn(function()
			local n, t = 0, setmetatable({}, {})
			getmetatable(t).__index = function(t, k) n = n + 1 if n == 800 then clm.sleep(1e6) end local v = t[k] return v end
			local v = t.x
		end) end clm.sleep(1000)`, noMemory},
	{"tasks deep in callbacks", `for i = 1, 1024 do clm.spawn(function()
			local n = 0
			local function f(c) n = n + 1 if n == 400 then clm.sleep(1e6) end return (c:gsub(".", f)) end f("x")
		end) end clm.sleep(1000)`, noMemory},
	{"tasks with values", `local list = {} for i = 1, 1024 do list[i] = clm.spawn(function() return ("x"):rep(1e5) end) end clm.sleep(1000)`, noMemory},
	{"tasks with errors", `local list = {} for i = 1, 1024 do list[i] = clm.spawn(function() error(("x"):rep(1e5)) end) end clm.sleep(1000)`, noMemory},
	{"tasks for ever", `for i = 1, 1e9 do clm.spawn(function() end):wait() end`, timedOut},
	{"wait loop", `local t = clm.spawn(function() while true do clm.sleep(0) end end) while true do clm.wait_any({ t }, 0) end`, timedOut},
	{"bodies kept", `local list = {} for i = 1, 100 do list[i] = http.get("http://x/" .. ("y"):rep(15000)).body .. ("z"):rep(1e6) end`, noMemory},
	{"tasks with reasons", `local list = {} for i = 1, 1024 do
			list[i] = clm.spawn(function() clm.sleep(1e6) end) list[i]:cancel(("x"):rep(1e5) .. i) end clm.sleep(1000)`, noMemory},
	{"tasks that close", `local x, list = 0, {} for i = 1, 100 do list[i] = clm.spawn(function()
			local c <close> = setmetatable({}, { __close = function() x = x + 1 while true do end end }) clm.sleep(1e6)
		end) end clm.sleep(1) for _, t in ipairs(list) do t:cancel() end assert(x == 0)`, survived},
	{"closer that waits", `local t = clm.spawn(function()
			local c <close> = setmetatable({}, { __close = function() clm.sleep(1) error("from the closer", 0) end }) error("x") end)
		t:wait() assert(t:result().error == "from the closer")`, survived},
	{"deep results", `local t = clm.spawn(function() local t = {} for i = 1, 2e4 do t = { t } end return t end) t:wait()
		assert(not pcall(json.encode, t:result().value))`, survived},
	{"metatables on outcomes", `local function spin() while true do end end
		local mt = { __index = spin, __newindex = spin, __len = spin, __pairs = spin, __eq = spin, __call = spin, __close = spin, __gc = spin }
		local t = clm.spawn(function() return setmetatable({}, mt) end)
		setmetatable(clm.await_all({ t })[1], mt) clm.await_all({ t }) clm.try_all(setmetatable({ t }, mt))
		http.get("http://x/", setmetatable({}, mt)) clm.call("x", setmetatable({}, mt)) assert(t:result().ok)`, survived},
	{"list of a metatable", `local t = clm.spawn(function() end) t:wait()
		local list = setmetatable({}, { __index = function() return t end, __len = function() return 1e9 end })
		assert(#clm.await_all(list) == 0 and not pcall(clm.wait_any, list))`, survived},
	{"result that is no text", `ctx:complete(setmetatable({}, { __tostring = function() while true do end end, __name = "string" }))`, `string expected, got`},
	{"handles locked", `local t = clm.spawn(function() end) t:wait()
		for _, h in ipairs({ ctx, t }) do
			assert(type(getmetatable(h)) == "string" and not pcall(setmetatable, h, {}) and not pcall(rawset, h, 1, 1) and not pcall(function() h.x = 1 end))
		end
		for _, self in ipairs({ 42, "x", {}, t, json.null, print }) do
			assert(not pcall(ctx.complete, self, "x") and not pcall(ctx.fail, self, "x"))
			assert(self == t or not pcall(t.wait, self) and not pcall(t.cancel, self))
		end
		assert(not pcall(ctx.complete) and not pcall(t.result, ctx))`, survived},
	{"handles kept", `kept = kept or {} for i = 1, 1e6 do kept[#kept + 1] = clm.spawn(function() end) kept[#kept]:cancel() end`, stopped},
}

// probes must all be nil; what is reached through _G._G too.
const probeCode = `
for _, name in ipairs({ "os", "io", "package", "debug", "require", "load", "loadstring", "dofile", "loadfile",
	"collectgarbage", "getfenv", "setfenv", "newproxy", "module", "coroutine", "_printregs", "channel", "unpack" }) do
	assert(_G[name] == nil, name)
	assert(_G._G[name] == nil, name)
end
assert(string.dump == nil)
assert(_G == _G._G and getmetatable(_G) == nil)
assert(not pcall(setmetatable, string, {}))
for _, v in ipairs({ 1, 1.5, 9007199254740993, true, print, function() end, string, table, math, utf8, clm, http, json, json.array({}) }) do
	assert(type(getmetatable(v)) ~= "table")
end
assert(getmetatable(nil) == nil)
for _, lib in ipairs({ string, table, math, utf8, clm, http, json }) do
	local names = 0
	for k, v in pairs(lib) do names = names + 1 assert(lib[k] == v) end
	assert(names > 1)
	lib.mark = "mine"
	assert(rawget(lib, "mark") == "mine" and rawget(lib, "rep") == nil)
end
assert(9007199254740993 .. "" == "9007199254740993")
assert(type(getmetatable("").__index) == "table")
`

func TestAttacksAtLoad(t *testing.T) {
	for _, a := range attacks {
		t.Run(a.name, func(t *testing.T) {
			p, err := luavm.Compile("evil", a.code)
			if err != nil {
				t.Fatal(err)
			}
			neighbour := load(t, luavm.Options{}, helloPlugin)
			watch(t, a, func() luavm.Result {
				v := luavm.New(p, luavm.Options{LoadTime: a.limit()})
				defer v.Close()
				return new(luavmtest.Simulation).Run(context.Background(), v.Load())
			})
			greet(t, neighbour)
		})
	}
}

func TestAttacksInInvoke(t *testing.T) {
	for _, a := range slices.Concat(attacks, taskAttacks) {
		t.Run(a.name, func(t *testing.T) {
			v := load(t, luavm.Options{}, a.tool())
			watch(t, a, func() luavm.Result { return run(t, v, "evil", "") })
			if err := v.Broken(); err != nil {
				if !strings.Contains(a.code, "_G") && !strings.Contains(a.code, "kept") {
					t.Errorf("the VM is broken: %v", err)
				}
				return
			}
			greet(t, v)
		})
	}
}

// greet checks that a VM still works.
func greet(t *testing.T, v *luavm.VM) {
	t.Helper()
	if got := call(t, v, "hello", `{"name":"Ada"}`); got != "Hello, Ada!" {
		t.Errorf("hello gave %q", got)
	}
}

// watch runs an attack and checks its end, its time and its memory. Time is measured again where it was too long: a
// collection of garbage or other work on the machine may have been in it.
func watch(t *testing.T, a attack, f func() luavm.Result) {
	t.Helper()
	limit := (a.limit() + 50*time.Millisecond) * slowdown
	if strings.Contains(a.code, "clm.") {
		limit *= 4 // what the host does between slices is no time of the call
	}
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1)) // so that the process's CPU time is never more than the wall time
	var r luavm.Result
	var took time.Duration
	for range 3 {
		debug.FreeOSMemory()
		base, peak := resident(), watchMemory()
		start, cpu := time.Now(), cpuTime()
		r = f()
		took = min(time.Since(start), cpuTime()-cpu)
		over := peak() - base
		t.Logf("%v, %d MiB, %.60q", took, over>>20, r.Text)
		if over > 64<<20*min(slowdown, 3) {
			t.Errorf("%d MiB over the baseline", over>>20)
		}
		if took <= limit {
			break
		}
	}
	if took > limit {
		t.Errorf("took %v, more than %v", took, limit)
	}
	if !regexp.MustCompile(a.want).MatchString(r.Text) {
		t.Errorf("ended with %.300q, want %s", r.Text, a.want)
	}
	if r.Aborted != (strings.HasPrefix(r.Text, "timed out") || strings.HasPrefix(r.Text, "not enough memory")) {
		t.Errorf("aborted is %v with %.100q", r.Aborted, r.Text)
	}
}

// watchMemory samples what the process holds until the function that it returns is called, which gives the most.
func watchMemory() (peak func() int64) {
	result, stop := make(chan int64), make(chan struct{})
	go func() {
		var most int64
		tick := time.NewTicker(2 * time.Millisecond)
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
				most = max(most, resident())
			case <-stop:
				result <- most
				return
			}
		}
	}()
	return func() int64 {
		close(stop)
		return <-result
	}
}

// resident is what the process holds, without what it has given back.
func resident() int64 {
	s := []metrics.Sample{{Name: "/memory/classes/total:bytes"}, {Name: "/memory/classes/heap/released:bytes"}}
	metrics.Read(s)
	return int64(s[0].Value.Uint64() - s[1].Value.Uint64())
}
