package gen

import (
	"fmt"
	"strings"
)

func (x *program) block(d int) {
	n := len(x.vars)
	x.indent++
	for range x.r.IntN(3) + 1 {
		x.stmt(d)
	}
	x.indent--
	x.vars = x.vars[:n]
}

// target gives a place to assign to, and what it takes.
func (x *program) target() (string, kind) {
	s, k := "", anything
	switch x.r.IntN(11) {
	case 0:
		return x.pick("G0", "G1"), anything
	case 1:
		return "GN", number
	case 2:
		s = x.with(obj, "$"+x.pick(".a", ".b", "['b']"))
	case 3:
		s, k = x.with(obj, "$"+x.pick(".n", ".sub.n", ".sub['n']")), number
	case 4:
		s, k = x.with(seq, "$[K("+x.num(1)+") % (#$ + 1) + 1]"), number
	case 5, 6:
		s, k = x.find(number, true), number
	case 7:
		s, k = x.find(str, true), str
	case 8:
		s, k = x.find(big, true), big
	}
	if s == "" {
		s, k = x.find(anything, true), anything
	}
	if s == "" {
		s = "G0"
	}
	return s, k
}

// value is an expression for a variable of a kind.
func (x *program) value(k kind, d int) string {
	switch k {
	case number:
		return x.num(d) + " % 9973"
	case str:
		return x.str(d) + ":sub(1, 12)"
	case big:
		return x.bigInt(d)
	case seq:
		var s []string
		for range x.r.IntN(5) {
			s = append(s, x.num(d-1))
		}
		return "{" + strings.Join(s, ", ") + "}"
	case obj:
		return fmt.Sprintf("OBJ(%s, %s, %s)", x.num(d-1), x.any(d-1), x.any(d-1))
	}
	return x.any(d)
}

func (x *program) local(k kind) {
	if k == obj && !x.objects {
		k = anything
	}
	n, attribute := x.name(), ""
	v := x.value(k, 2)
	fixed := k == seq || k == obj
	switch {
	case k == obj && x.one(4):
		attribute = " <close>"
	case x.one(8):
		attribute, fixed = " <const>", true
	}
	x.line("local %s%s = %s", n, attribute, v)
	x.declare(n, k, fixed)
}

// inside writes the body of a function with write.
func (x *program) inside(params []string, dots bool, write func()) {
	save := *x
	x.dots, x.loops, x.labels = dots, 0, nil
	for _, p := range params {
		x.declare(p, anything, false)
	}
	x.indent++
	x.functions++
	write()
	x.functions--
	x.indent--
	x.dots, x.loops, x.labels, x.vars = save.dots, save.loops, save.labels, x.vars[:len(save.vars)]
}

func (x *program) body(d int, params []string, dots bool) {
	x.inside(params, dots, func() {
		for range x.r.IntN(3) + 1 {
			x.stmt(d)
		}
		x.returns()
	})
}

func (x *program) returns() {
	e := ""
	switch x.r.IntN(7) {
	case 0:
		e = x.any(1)
	case 1:
		e = x.any(1) + ", " + x.any(1)
	case 2:
		e = x.call(1)
	case 3:
		e = x.any(1) + ", " + x.call(1)
	case 4:
		e = "(" + x.call(1) + ")"
		if x.dots {
			e = x.pick("...", "(...)", "1, ...", "select(2, ...)")
		}
	case 5:
		e = x.find(anything, false)
	}
	x.line("return "+strings.ReplaceAll(e, "%", "%%")+"%s", "")
}

// function writes "local function" or "local name = function".
func (x *program) function(n string) {
	params := []string{x.fresh(), x.fresh()}[:1+min(x.r.IntN(5), 1)]
	dots := x.one(3)
	list := strings.Join(params, ", ")
	if dots {
		list += ", ..."
	}
	head, value := "local function "+n, x.one(3)
	if value {
		head = "local " + n + x.pick("", "", " <const>") + " = function"
	} else {
		x.declare(n, fun, true)
	}
	x.line("%s(%s)", head, list)
	// D is never set back: it bounds the calls of a whole program
	x.line(" D = D + 1 if D > 40 then D = D - 1 return 'deep' end")
	x.body(2, params, dots)
	x.line("end")
	if value {
		x.declare(n, fun, true)
	}
}

type statement struct {
	weight int
	write  func(x *program, d int) bool // whether it wrote something
}

func (x *program) stmt(d int) {
	sum := 0
	for _, s := range statements() {
		sum += s.weight
	}
	if x.lines <= maxLines {
		n := x.r.IntN(sum)
		for _, s := range statements() {
			if n -= s.weight; n < 0 {
				if s.write(x, d) {
					return
				}
				break
			}
		}
	}
	x.line("O(%s)", x.args(2))
}

// statements is a function because the writers use it in turn.
func statements() []statement {
	return []statement{
		{6, (*program).oneLocal},
		{2, (*program).someLocals},
		{5, (*program).assign},
		{1, (*program).assignAny},
		{2, (*program).assignTwo},
		{1, (*program).swap},
		{1, (*program).step},
		{3, (*program).ifs},
		{8, (*program).loop},
		{2, (*program).calledFunction},
		{2, (*program).closure},
		{1, (*program).counter},
		{2, (*program).iterators},
		{1, (*program).callClosure},
		{2, (*program).try},
		{1, (*program).raise},
		{2, (*program).tableCall},
		{1, (*program).bigTable},
		{1, (*program).do},
		{1, (*program).backward},
		{1, (*program).jump},
		{1, (*program).early},
		{1, (*program).method},
		{1, (*program).keys},
		{2, (*program).matches},
		{4, (*program).show},
	}
}

func (x *program) show(int) bool { x.line("O(%s)", x.args(2)); return true }

func (x *program) oneLocal(int) bool {
	x.local([]kind{number, str, anything, anything, seq, obj, big}[x.r.IntN(7)])
	return true
}

func (x *program) someLocals(int) bool {
	names := []string{x.name(), x.fresh(), x.fresh()}[:2+x.r.IntN(2)]
	values := x.pick(x.any(1), x.any(1)+", "+x.any(1), x.call(1), x.any(1)+", "+x.call(1), x.any(1)+", "+x.any(1)+", "+x.call(1))
	if x.dots {
		values = x.pick(values, "...", "1, ...", "(...)")
	}
	x.line("local %s = %s", strings.Join(names, ", "), values)
	for _, n := range names {
		x.declare(n, anything, false)
	}
	return true
}

func (x *program) assign(int) bool {
	t, k := x.target()
	x.line("%s = %s", t, x.value(k, 2))
	return true
}

func (x *program) assignAny(int) bool {
	n := x.find(anything, true)
	if n == "" {
		return false
	}
	e := x.any(1)
	if x.dots {
		e = x.pick(e, "(...)", "...")
	}
	x.line("%s = %s", n, x.pick(n+" and "+e, n+" or "+e, "not "+n, e, "("+x.call(1)+")", "{"+n+"}", x.call(1)))
	return true
}

func (x *program) assignTwo(int) bool {
	t, k := x.target()
	u, l := x.target()
	if x.one(4) {
		w, m := x.target()
		x.line("%s, %s, %s = %s, %s, %s", t, u, w, x.value(k, 1), x.value(l, 1), x.value(m, 1))
		return true
	}
	x.line("%s, %s = %s, %s", t, u, x.value(k, 1), x.value(l, 1))
	return true
}

func (x *program) swap(int) bool {
	a, b := x.find(anything, true), x.find(anything, true)
	if a == "" {
		return false
	}
	x.line("%s, %s = %s", a, b, x.pick(b+", "+a, x.call(1), x.any(1)+", "+x.call(1), "K("+a+", "+b+")", b+", "+a+", "+x.call(0)))
	return true
}

func (x *program) step(int) bool {
	a, b := x.find(number, true), x.find(number, true)
	if a == "" {
		return false
	}
	x.line("%s, %s = %s, (%s + %s) %% 997", a, b, b, a, b)
	return true
}

func (x *program) ifs(d int) bool {
	if d <= 0 {
		return false
	}
	x.line("if %s then", x.cond(2))
	x.block(d - 1)
	for x.one(3) {
		x.line("elseif %s then", x.cond(1))
		x.block(d - 1)
	}
	if x.one(2) {
		x.line("else")
		x.block(d - 1)
	}
	x.line("end")
	return true
}

func (x *program) do(d int) bool {
	if d <= 0 {
		return false
	}
	x.line("do")
	x.block(d - 1)
	x.line("end")
	return true
}
