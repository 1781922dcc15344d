package gen

import (
	"fmt"
	"strings"
)

func (x *program) num(d int) string {
	leaf := func() string {
		if n := x.find(number, false); n != "" && !x.one(3) {
			return n
		}
		return x.small()
	}
	if d <= 0 || x.one(5) {
		return leaf()
	}
	return x.choose(numbers(), d-1, leaf)
}

func numbers() []production {
	return []production{
		{3, func(x *program, d int) string { return "(" + x.num(d) + x.pick(" + ", " - ") + x.num(d) + ")" }},
		{1, func(x *program, d int) string { return "(" + x.num(d) + " * " + x.small() + ")" }},
		{1, func(x *program, d int) string { return fmt.Sprintf("(%s %% %d)", x.num(d), x.r.IntN(7)+2) }},
		{1, func(x *program, d int) string { return fmt.Sprintf("(%s // %d)", x.num(d), x.r.IntN(7)+2) }},
		{1, func(x *program, d int) string {
			return "(" + x.num(d) + x.pick(" // ", " % ") + "(#K(" + x.str(d) + ") + 1))"
		}},
		{1, func(x *program, d int) string { return "(" + x.num(d) + x.pick(" & ", " | ", " ~ ") + x.num(d) + ")" }},
		{1, func(x *program, d int) string { return "((" + x.num(d) + " & 255) << " + fmt.Sprint(x.r.IntN(5)) + ")" }},
		{1, func(x *program, d int) string {
			return "((" + x.num(d) + " & 4095) >> " + fmt.Sprint(x.r.IntN(5)) + ")"
		}},
		{1, func(x *program, d int) string { return "(" + x.pick("- ", "~ ") + x.num(d) + ")" }},
		{1, func(x *program, d int) string { return x.with(seq, "#$") }},
		{1, func(x *program, d int) string { return x.with(seq, "($["+x.num(d)+"] or "+x.num(d)+")") }},
		{1, func(x *program, d int) string { return "#" + x.str(d) }},
		{1, func(x *program, d int) string { return "N(" + x.any(d) + ")" }},
		{1, func(x *program, d int) string {
			return fmt.Sprintf("N(%s and %s or %s)", x.cond(d), x.num(d), x.num(d))
		}},
		{2, func(x *program, d int) string {
			return x.with(obj, x.pick("N($.n)", "N($.sub.n)", "($ + "+x.num(d)+")", "($ + $)", "(-$)", "N($.a)", "($ // "+x.num(d)+")", "("+x.num(d)+" % $)", "($ & $)", "(~$)"))
		}},
		{1, func(x *program, d int) string { return "#{" + x.num(d) + ", " + x.num(d) + ", k = " + x.any(d) + "}" }},
		{1, func(x *program, d int) string { return "select('#', " + x.args(d) + ")" }},
		{3, func(x *program, d int) string { return x.choose(numberCalls(), d, func() string { return "" }) }},
	}
}

func (x *program) text() string {
	return fmt.Sprintf("%q", x.pick("a", "b", "xy", "q7", "long one", "10", "", "a,b,,c", "k=v; w=x", "(a(b)c)", "0x1F", " 12 "))
}

func (x *program) str(d int) string {
	leaf := func() string {
		if n := x.find(str, false); n != "" && !x.one(3) {
			return "(" + n + ")"
		}
		return "(" + x.text() + ")"
	}
	if d <= 0 || x.one(4) {
		return leaf()
	}
	return x.choose(strs(), d-1, leaf)
}

func strs() []production {
	return []production{
		{1, func(x *program, d int) string { return "S(" + x.any(d) + ")" }},
		{2, func(x *program, d int) string { return "(" + x.str(d) + " .. " + x.str(d) + ")" }},
		{1, func(x *program, d int) string {
			return "(S(" + x.any(d) + ") .. " + x.str(d) + " .. S(" + x.num(d) + "))"
		}},
		{1, func(x *program, d int) string { return "(" + x.str(d) + " .. N(" + x.num(d) + "))" }},
		{1, func(x *program, d int) string { return x.with(obj, "($ .. "+x.str(d)+")") }},
		{1, func(x *program, d int) string {
			return fmt.Sprintf("((%s) and %s or %s)", x.cond(d), x.str(d), x.str(d))
		}},
		{8, func(x *program, d int) string { return x.choose(stringCalls(), d, func() string { return "" }) }},
	}
}

func (x *program) any(d int) string {
	leaf := func() string {
		if n := x.find(anything, false); n != "" && !x.one(3) {
			return n
		}
		if x.one(8) {
			return x.text()
		}
		return x.pick("nil", "nil", "true", "false", "K(nil)", "K(false)", "G0", "G1", "G2", x.small())
	}
	if d <= 0 {
		return leaf()
	}
	return x.choose(anythings(), d-1, leaf)
}

func anythings() []production {
	return []production{
		{2, func(x *program, d int) string { return x.num(d + 1) }},
		{1, func(x *program, d int) string { return x.str(d + 1) }},
		{1, func(x *program, d int) string { return x.bigInt(d + 1) }},
		{2, func(x *program, d int) string { return "(" + x.any(d) + " and " + x.any(d) + ")" }},
		{2, func(x *program, d int) string { return "(" + x.any(d) + " or " + x.any(d) + ")" }},
		{1, func(x *program, d int) string { return "not " + x.any(d) }},
		{1, func(x *program, d int) string { return "(" + x.cond(d) + ")" }},
		{1, func(x *program, d int) string {
			return fmt.Sprintf("(%s and %s or %s)", x.cond(d), x.any(d), x.any(d))
		}},
		{1, func(x *program, d int) string { return "(" + x.call(d) + ")" }},
		{1, func(x *program, d int) string { return x.call(d) }},
		{1, func(x *program, d int) string {
			if !x.dots {
				return ""
			}
			return x.pick("(...)", "(select(2, ...))", "select('#', ...)", "(select(-1, ...))", "({...})[3]", "table.pack(...).n")
		}},
		{1, func(x *program, d int) string {
			return x.with(obj, "$"+x.pick(".a", ".b", ".n", ".sub.n", "['a']", ".zz"))
		}},
		{1, func(x *program, d int) string { return x.with(seq, "$["+x.num(d)+"]") }},
		{1, func(x *program, d int) string { return x.table(d, false) }},
		{1, func(x *program, d int) string { return fmt.Sprintf("(%s)[%d]", x.table(d, true), x.r.IntN(5)+1) }},
		{1, func(x *program, d int) string { return fmt.Sprintf("({%s, k = %s}).k", x.any(d), x.any(d)) }},
		{1, func(x *program, d int) string {
			return fmt.Sprintf("F(function(...) local q, w = ... return w, q, ... end, %s)", x.args(d))
		}},
		{1, func(x *program, d int) string { return x.find(fun, false) }},
		{1, func(x *program, d int) string {
			return fmt.Sprintf("(function(...) %s return %s end)(%s)", x.pick("", "local z = ... ", "local z, y, w = 1, ... "), x.pick("...", "(...)", "1, ...", "..., 1", "select('#', ...)"), x.args(d))
		}},
		{2, func(x *program, d int) string { return x.protected(d) }},
		{1, func(x *program, d int) string {
			return fmt.Sprintf("(%s %s %s)", x.num(d), x.pick("==", "~=", "<", ">="), x.num(d))
		}},
		{1, func(x *program, d int) string { return "{" + x.any(d) + ", " + x.any(d) + "}" }},
		{2, func(x *program, d int) string { return x.choose(anyCalls(), d, func() string { return "" }) }},
	}
}

func (x *program) protected(d int) string {
	switch x.r.IntN(5) {
	case 0:
		return fmt.Sprintf("select(2, pcall(error, {code = %s}))", x.num(d))
	case 1:
		return fmt.Sprintf("(xpcall(%s, E, %s))", x.pick("error", "K", "F"), x.args(d))
	case 2:
		return fmt.Sprintf("select(2, xpcall(%s, function(e) return E(e), 1 end, %s))", x.pick("error", "K", "F"), x.args(d))
	case 3:
		dots := x.dots
		x.dots = false
		defer func() { x.dots = dots }()
		return fmt.Sprintf("(pcall(function() return %s %s %s end))", x.any(d), x.pick("+", "..", "<", "//", "&", "<=", "%"), x.any(d))
	}
	return fmt.Sprintf("(pcall(%s, %s))", x.pick("error", "K", "F"), x.args(d))
}

func (x *program) args(d int) string {
	var a []string
	for range x.r.IntN(4) {
		a = append(a, x.any(d-1))
	}
	switch x.r.IntN(6) {
	case 0:
		if x.dots {
			a = append(a, "...")
		}
	case 1:
		a = append(a, x.call(d-1))
	case 2:
		a = append(a, "("+x.call(d-1)+")")
	}
	if len(a) == 0 {
		a = append(a, x.any(d-1))
	}
	return strings.Join(a, ", ")
}

// call is an expression that may give any number of values.
func (x *program) call(d int) string {
	s := ""
	switch x.r.IntN(9) {
	case 0:
		s = "K(" + x.args(d) + ")"
	case 1, 2:
		s = x.with(fun, "$("+x.args(d)+")")
	case 3, 4:
		s = x.with(obj, "$"+x.pick(":m(", ":m(", ".s(", "(")+x.args(d)+")")
	case 5:
		s = "F(" + x.args(d) + ")"
	case 6:
		s = "pcall(K, " + x.args(d) + ")"
	case 7:
		s = fmt.Sprintf("table.unpack({%s, %s}, 1, %d)", x.any(d-1), x.any(d-1), x.r.IntN(4))
	}
	if s == "" {
		return "K(" + x.any(d-1) + ")"
	}
	return s
}

// table is a constructor of positional and, if wanted, keyed fields.
func (x *program) table(d int, keyed bool) string {
	n := x.r.IntN(4)
	switch {
	case x.one(40):
		n = 48 + x.r.IntN(5)
	case x.one(60):
		n = 97 + x.r.IntN(6)
	}
	var f []string
	for range n {
		if n > 10 && !x.one(9) {
			f = append(f, x.small())
		} else {
			f = append(f, x.any(d-1))
		}
		for keyed && x.one(4) {
			f = append(f, x.pick("k", "j", "[0]", "['k']", "['s'..'t']")+" = "+x.any(d-1))
			if n > 10 {
				break
			}
		}
	}
	if keyed && x.one(2) {
		f = append(f, x.pick("k", "j", "h")+" = "+x.any(d-1))
		if x.one(3) {
			f = append(f, "k = "+x.call(d-1))
		}
	}
	switch x.r.IntN(5) {
	case 0:
		f = append(f, x.call(d-1))
	case 1:
		if x.dots {
			f = append(f, "...")
		}
	}
	return "{" + strings.Join(f, x.pick(", ", ", ", "; ")) + "}"
}

func (x *program) cond(d int) string {
	return x.choose(conditions(), d, func() string {
		return x.pick("true", "false", "nil", "1", "not nil", "not true", "false and "+x.any(0), "true or "+x.any(0), "nil or "+x.any(0), "1 and "+x.any(0))
	})
}

func conditions() []production {
	return []production{
		{2, func(x *program, d int) string { return x.any(d) }},
		{3, func(x *program, d int) string {
			return x.num(d) + x.pick(" < ", " > ", " <= ", " >= ", " == ", " ~= ") + x.num(d)
		}},
		{1, func(x *program, d int) string { return fmt.Sprintf("not (%s and %s)", x.any(d), x.any(d)) }},
		{1, func(x *program, d int) string {
			return fmt.Sprintf("%s or %s == %s", x.any(d), x.num(d-1), x.num(d-1))
		}},
		{1, func(x *program, d int) string {
			return fmt.Sprintf("(%s and not %s) or %s", x.any(d), x.any(d-1), x.any(d-1))
		}},
		{1, func(x *program, d int) string {
			return x.str(d-1) + x.pick(" < ", " > ", " <= ", " >= ", " == ", " ~= ") + x.str(d-1)
		}},
		{1, func(x *program, d int) string {
			return x.bigInt(d-1) + x.pick(" < ", " > ", " <= ", " >= ", " == ", " ~= ") + x.pick(x.bigInt(d-1), x.num(d-1))
		}},
		{1, func(x *program, d int) string {
			n, m := x.find(obj, false), x.find(obj, false)
			if n == "" {
				return ""
			}
			return x.pick(n, n, x.num(0)) + x.pick(" < ", " <= ", " == ", " ~= ", " > ", " >= ") + m
		}},
		{1, func(x *program, d int) string { return "" }},
	}
}

// bigInt is an integer of any size. One operand of arithmetic is always a
// literal beyond 2^53: what crosses that bound by ordinary numbers alone is a
// float for us.
func (x *program) bigInt(d int) string {
	if !x.bigs {
		return x.num(d)
	}
	literal := x.pick("9007199254740993", "0x7fffffffffffffff", "math.maxinteger", "math.mininteger", "0x8000000000000001", "1234567890123456789", "-9007199254740995", "0xdeadbeefcafebabe", "(1 << 62)", "(~0 >> 1)")
	if d <= 0 || x.one(3) {
		if n := x.find(big, false); n != "" && x.one(2) {
			return n
		}
		return literal
	}
	other := x.bigInt(d - 1)
	if x.one(2) {
		other = x.num(d - 1)
	}
	switch x.r.IntN(6) {
	case 0, 1:
		return "(" + literal + x.pick(" + ", " - ", " * ") + other + ")"
	case 2:
		return "(" + other + x.pick(" + ", " - ", " * ") + literal + ")"
	case 3:
		return "(" + other + x.pick(" & ", " | ", " ~ ") + literal + ")"
	case 4:
		return fmt.Sprintf("(%s %s %d)", literal, x.pick("<<", ">>", "//", "%"), x.r.IntN(70)+1)
	}
	return "(" + x.pick("- ", "~ ") + literal + ")"
}
