package gen

import "strings"

// Statements with functions, errors and tables.

func (x *program) calledFunction(d int) bool {
	if d <= 0 {
		return false
	}
	n := x.name()
	x.function(n)
	if x.one(2) {
		x.line("O(%s(%s))", n, x.args(1))
	}
	return true
}

// without writes with "..." out of reach, for a body that has none.
func (x *program) without(write func()) {
	dots := x.dots
	x.dots = false
	write()
	x.dots = dots
}

func (x *program) closure(int) bool {
	x.without(func() {
		t, k := x.target()
		x.line("C[#C + 1] = function(p, q) %s = %s return %s, %s end", t, x.value(k, 1), t, x.any(0))
	})
	return true
}

// counter makes closures that share variables of several depths.
func (x *program) counter(d int) bool {
	if d <= 0 {
		return false
	}
	n, m := x.fresh(), x.fresh()
	x.without(func() {
		t, k := x.target()
		x.line("local function %s(p)", n)
		x.line(" local %s = %s", m, x.num(1)+" % 97")
		x.declare(m, number, false)
		x.line(" C[#C + 1] = function(q) local z = p %s = (%s + 1) %% 97 return function(r) %s = %s p = r return %s, z, p, q end end", m, m, t, x.value(k, 1), m)
		x.line(" return C[#C](%s), %s", x.any(1), m)
		x.line("end")
		x.vars = x.vars[:len(x.vars)-1]
		x.line("do local f, g = %s(1), %s(2) O(f(%s)) O(g(%s)) O(F(%s(%s))) end", n, n, x.any(0), x.any(0), n, x.any(0))
	})
	x.declare(n, fun, true)
	return true
}

func (x *program) callClosure(int) bool {
	x.line("if #C > 0 then O(C[%s](%s)) end", x.pick("1", "#C"), x.args(1))
	return true
}

// try is a protected call with statements in it.
func (x *program) try(d int) bool {
	if d <= 0 {
		return false
	}
	dots := x.one(2)
	list := ""
	if dots {
		list = "..."
	}
	call, tail := "pcall(", ""
	if x.one(2) {
		call, tail = "xpcall(", ", "+x.pick("E", "function(e) return E(e), 2 end", "K", "function(e) return {code = E(e)} end")
	}
	x.line("O(%sfunction(%s)", call, list)
	x.inside(nil, dots, func() {
		for range x.r.IntN(3) + 1 {
			x.stmt(d - 1)
		}
		if x.one(2) {
			x.line("if %s then error(%s, 0) end", x.cond(1), x.pick("{code = 1}", "'@x'", x.num(1), "nil and 1 or '@nil'", "true"))
		}
		x.returns()
	})
	x.line("end%s, %s))", tail, x.args(1))
	return true
}

func (x *program) raise(int) bool {
	x.line("O(E(select(2, pcall(error, %s))))", x.pick("{code = "+x.num(1)+"}", "'@m', 0", x.num(1), "true"))
	return true
}

func (x *program) tableCall(int) bool {
	n := x.find(seq, false)
	if n == "" {
		return false
	}
	x.raw(x.tableUse(n))
	x.line("O(#%s, table.concat(%s, ' '))", n, n)
	return true
}

func (x *program) tableUse(n string) string {
	s := ""
	switch x.r.IntN(8) {
	case 0:
		s = "table.insert($, " + x.num(1) + ")"
	case 1:
		s = "table.insert($, K(" + x.num(1) + ") % (#$ + 1) + 1, " + x.num(1) + ")"
	case 2:
		s = "O(table.remove($))"
	case 3:
		s = "if #$ > 0 then O(table.remove($, 1)) end"
	case 4:
		s = "table.sort($" + x.pick("", ", function(a, b) return a > b end") + ")"
	case 5:
		s = "table.move($, 1, #$, " + x.pick("2", "1", "#$ + 1") + x.pick("", ", {9, 9}") + ") for i = #$, 12, -1 do $[i] = nil end for i = 1, #$ do $[i] = $[i] or 0 end"
	case 6:
		s = "O(pcall(table.remove, $, " + x.small() + "))"
	case 7:
		s = "O(table.concat($, ',', " + x.pick("1", "#$") + ", #$))"
	}
	return strings.ReplaceAll(s, "$", n)
}

func (x *program) bigTable(int) bool {
	n := x.name()
	x.line("local %s = %s", n, x.table(2, true))
	x.line("do local o = %s O(o.k, o.j, o.h, o[0], o.st) O(o[1], o[2], o[3], o[4], o[5], o[6]) O(o[48], o[49], o[50], o[51], o[52], o[53]) O(o[97], o[98], o[99], o[100], o[101], o[102], o[103]) end", n)
	x.declare(n, anything, false)
	return true
}

func (x *program) early(int) bool {
	if x.functions < 2 {
		return false
	}
	x.line("if %s then", x.cond(1))
	x.indent++
	x.returns()
	x.indent--
	x.line("end")
	return true
}

func (x *program) method(int) bool {
	n := x.find(obj, false)
	if n == "" {
		return false
	}
	a := x.fresh()
	x.line("function %s%s(%s)", n, x.pick(".", ":")+x.pick("a", "b"), a)
	x.body(1, []string{a}, false)
	x.line("end")
	return true
}

func (x *program) keys(int) bool {
	x.line("O(SP(%s))", x.table(1, true))
	return true
}

func (x *program) matches(int) bool {
	a, b := x.fresh(), x.fresh()
	s := x.str(1)
	switch x.r.IntN(3) {
	case 0:
		x.line("for %s, %s in (%s):gmatch(%s) do O(%s, %s) end", a, b, s, x.pick(`"%a"`, `"()(%w)"`, `"([^,]*)"`, `"(%w+)=(%w+)"`, `"%S*"`), a, b)
	case 1:
		x.line("O((%s):gsub(%s, function(%s, %s) O(%s, %s) return %s end))", s, x.pick(`"(%w)(.?)"`, `"%a+"`, `""`), a, b, a, b, x.pick(a, b, "nil", "1", "false", "'<'.."+a))
	case 2:
		x.line("O(%s:find(%s, %s))", s, x.pattern(), x.small())
	}
	return true
}
