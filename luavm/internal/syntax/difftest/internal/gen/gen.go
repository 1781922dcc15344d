// Package gen writes random Lua 5.4 programs that end, and whose output is the
// same on every right implementation on which an integral float up to 2^53 is an
// integer. They print what they do.
package gen

import (
	"fmt"
	"math/rand/v2"
	"strings"
)

// A kind is what an expression or variable is known to be.
type kind int

const (
	number kind = iota // an integer, less than 10,000 when stored
	str                // a short string
	anything
	seq // a table with numbers at 1, 2, …; its variable keeps it
	obj // a table with fields a, b (anything), n (number), sub (table) and methods; its variable keeps it
	fun // a function of two or more values
	big // an integer of any size
)

type variable struct {
	name  string
	kind  kind
	fixed bool
}

// A program is one being written.
type program struct {
	r         *rand.Rand
	out       strings.Builder
	indent    int
	vars      []variable
	names     int
	lines     int
	dots      bool     // "..." is there
	functions int      // around the current place
	loops     int      // around the current place, in this function
	labels    []string // at the ends of the loop bodies around the current place
	objects   bool     // the program has tables with metamethods
	bigs      bool     // and integers beyond 2^53
}

// A production is a way to write something; it gives "" where it does not apply.
type production struct {
	weight int
	write  func(x *program, depth int) string
}

const maxLines = 220

// Main is the line that follows the functions that a program uses.
const Main = "local ok, err = pcall(function(...)"

// A part is in front of the programs that have use in them.
type part struct{ use, source string }

var prelude = []part{
	{"", `local function S(x)
  if x == nil or x == true or x == false then return tostring(x) end
  if type(x) == "number" then
    if x ~= x then return "nan" end
    if math.type(x) == "integer" or x >= -2^53 and x <= 2^53 and x == math.floor(x) then return string.format("%d", x) end
    return string.format("%.14g", x)
  end
  if type(x) == "string" then
    if x:find(":%d+:") or x:find("^attempt to") or x:find("^bad argument") then return "E" end
    return x:sub(1, 24)
  end
  return type(x)
end
local function E(e)
  if type(e) == "table" then return "E{" .. S(e.code) .. "}" end
  if type(e) == "string" then return e:sub(1, 1) == "@" and e or "E" end
  return S(e)
end
local lines = 0
local function O(...)
  lines = lines + 1
  if lines > 150 then return end
  local t = table.pack(...)
  for i = 1, t.n do t[i] = S(t[i]) end
  print(t.n .. ":" .. table.concat(t, "/"))
end
function K(...) return ... end
function N(x)
  if math.type(x) then return math.tointeger(math.floor(x) % 997) end
  if type(x) == "string" then return #x end
  return x and 1 or 0
end
function F(x, ...) if type(x) == "function" then return x(...) end return x, ... end
local C, D, GT = {}, 0, {}
G0, G1, G2, GN = nil, 1, "g", 0
`},
	{"SP(", `local function SP(t) local ks = {} for k in pairs(t) do ks[#ks + 1] = S(k) end table.sort(ks) return table.concat(ks, "+") end
`},
	{"PX(", `local function PX(t) return setmetatable({}, {__index = function(_, k) return t[k] end, __newindex = function(_, k, w) t[k] = w end, __len = function() return #t end}) end
`},
	{"OBJ(", `local MT = {} MT.__index = MT
function MT:m(p, q, ...) self.n = N(self.n) + 1 return q, p, ... end
function MT.s(p, q) return q, p end
local function nn(p) if type(p) == "table" then return N(p.n) end return N(p) end
MT.__add = function(p, q) return nn(p) + nn(q) end
MT.__idiv = function(p, q) return nn(p) // 2 + nn(q) end
MT.__mod = function(p, q) return nn(p) * 10 + nn(q) end
MT.__band = function(p, q) return nn(p) & nn(q) end
MT.__shl = function(p, q) return "shl" .. nn(p) .. nn(q) end
MT.__bnot = function(p) return ~nn(p) end
MT.__concat = function(p, q) return S(type(p) == "table" and p.n or p) .. S(type(q) == "table" and q.n or q) end
MT.__call = function(self, p, q) return self.n, p, q end
MT.__lt = function(p, q) return nn(p) < nn(q) end
MT.__le = function(p, q) return nn(p) <= nn(q) end
MT.__eq = function(p, q) return nn(p) == nn(q) end
MT.__unm = function(p) return -nn(p) end
MT.__close = function(p, e) O("close", p.n, e == nil) end
MT.__tostring = function(p) return "obj" .. S(p.n) end
local function OBJ(n, a, b) return setmetatable({n = n, a = a, b = b, sub = {n = n}}, MT) end
`},
}

// Program returns the program for a seed.
func Program(seed uint64) string {
	x := &program{r: rand.New(rand.NewPCG(seed, 0))}
	x.objects, x.bigs = x.one(2), x.one(2)
	x.raw(Main)
	x.indent++
	x.dots = true
	x.functions++
	x.ballast()
	for range 12 {
		x.stmt(3)
	}
	x.indent--
	x.line(`end, 1, nil, "va")`)
	x.line("if not ok then O('ERR', E(err)) end")
	x.line("for i = 1, #C do local o, a, b = pcall(C[i], i, 2) O(o, o and a, o and b) if i > 20 then break end end")
	x.line("O(G0, G1, G2, GN)")
	return Prelude(x.out.String()) + x.out.String()
}

// Prelude is the functions that a program uses. Parts with the names of
// metamethods of comparison, or big integers, change how all of it is compiled.
func Prelude(program string) string {
	var b strings.Builder
	for _, p := range prelude {
		if strings.Contains(program, p.use) {
			b.WriteString(p.source)
		}
	}
	return b.String()
}

// ballast makes more constants than an operand can name, and many registers.
func (x *program) ballast() {
	if x.one(8) {
		var b strings.Builder
		for i := range 300 {
			fmt.Fprintf(&b, "%d,", 1000+i)
		}
		x.raw("local BIG = {" + b.String() + "}")
	}
	if x.one(8) {
		for i := range 60 {
			n := x.fresh()
			x.line("local %s = %s", n, x.small())
			if i%9 == 0 {
				x.declare(n, number, false)
			}
		}
		x.lines -= 60
	}
}

func (x *program) line(format string, a ...any) { x.raw(fmt.Sprintf(format, a...)) }

func (x *program) raw(text string) {
	x.out.WriteString(strings.Repeat(" ", x.indent))
	x.out.WriteString(text)
	x.out.WriteByte('\n')
	x.lines++
}

// one is true once in n times.
func (x *program) one(n int) bool { return x.r.IntN(n) == 0 }

func (x *program) pick(s ...string) string { return s[x.r.IntN(len(s))] }

func (x *program) small() string { return fmt.Sprint(x.r.IntN(9) - 2) }

// choose writes one of the productions, else whatever other gives.
func (x *program) choose(ps []production, depth int, other func() string) string {
	sum := 0
	for _, p := range ps {
		sum += p.weight
	}
	n := x.r.IntN(sum)
	for _, p := range ps {
		if n -= p.weight; n < 0 {
			if s := p.write(x, depth); s != "" {
				return s
			}
			break
		}
	}
	return other()
}

func (x *program) fresh() string {
	x.names++
	return fmt.Sprintf("v%d", x.names)
}

func (x *program) declare(name string, k kind, fixed bool) {
	x.vars = append(x.vars, variable{name, k, fixed})
}

// name gives a new local a fresh name or, sometimes, one that hides another.
func (x *program) name() string {
	if len(x.vars) > 0 && x.one(8) {
		return x.vars[x.r.IntN(len(x.vars))].name
	}
	return x.fresh()
}

// find picks a visible variable of a kind, the nearer the likelier; "" if none.
func (x *program) find(k kind, write bool) string {
	var found []string
	seen := map[string]bool{}
	for i := len(x.vars) - 1; i >= 0; i-- {
		v := x.vars[i]
		if seen[v.name] {
			continue
		}
		seen[v.name] = true
		if v.kind != k || write && v.fixed {
			continue
		}
		found = append(found, v.name)
		if i > len(x.vars)-6 {
			found = append(found, v.name, v.name)
		}
	}
	if len(found) == 0 {
		return ""
	}
	return x.pick(found...)
}

// with fills the name of a variable into a pattern; "" if there is none.
func (x *program) with(k kind, pattern string) string {
	n := x.find(k, false)
	if n == "" {
		return ""
	}
	return strings.ReplaceAll(pattern, "$", n)
}
