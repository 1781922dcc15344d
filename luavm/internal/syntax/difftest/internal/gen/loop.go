package gen

import "fmt"

// Loops and jumps.

func (x *program) loop(d int) bool {
	if d <= 0 {
		return false
	}
	n := len(x.vars)
	switch x.r.IntN(12) {
	case 0, 1:
		x.forNumber(d)
	case 2:
		x.forFraction(d)
	case 3, 4:
		x.while(d)
	case 5, 6:
		x.repeatLoop(d)
	case 7:
		x.forIpairs(d)
	case 8:
		x.forNext(d)
	case 9:
		x.forStateful(d)
	case 10:
		x.forStateless(d)
	case 11:
		v := x.name()
		x.line("for %s in (%s):gmatch('%%a') do", v, x.str(1))
		x.declare(v, str, true)
		x.loopBody(d-1, "D = D + 1 if D > 60 then break end")
		x.line("end")
	}
	x.vars = x.vars[:n]
	return true
}

// loopBody writes what is between the head and the end of a loop.
func (x *program) loopBody(d int, first string) {
	n, labels := len(x.vars), x.labels
	x.loops++
	label := ""
	if x.one(3) {
		label = x.fresh()
		x.labels = append(x.labels[:len(x.labels):len(x.labels)], label)
	}
	x.indent++
	if first != "" {
		x.line("%s", first)
	}
	if x.one(3) {
		// variables of the body's own block
		x.local([]kind{number, anything, obj}[x.r.IntN(3)])
	}
	inner := label != "" && x.one(2)
	if inner {
		x.line("do")
	}
	if x.one(12) {
		x.line("do break end")
	}
	for range x.r.IntN(3) + 1 {
		x.stmt(d)
	}
	if x.one(3) {
		x.line("if %s then break end", x.cond(1))
	}
	if x.one(4) {
		x.closure(0)
		if x.one(2) {
			x.line("if %s then %s end", x.cond(1), x.pick("break", "C[#C](1) break", "do break end"))
		}
	}
	if inner {
		x.line("end")
	}
	if label != "" {
		x.line("::%s::", label)
	}
	x.indent--
	x.labels = labels
	x.loops--
	x.vars = x.vars[:n]
}

func (x *program) forNumber(d int) {
	v := x.name()
	x.line("for %s = %s, %s%s do", v, x.pick(x.small(), x.num(1)), x.pick("3", "4", x.num(1)+" % 4", "2.5"), x.pick("", ", 1", ", 2", ", -1", ", 3", ", K(1)", ", -K(2)"))
	x.declare(v, number, x.one(2))
	x.loopBody(d-1, "D = D + 1 if D > 60 then break end")
	x.line("end")
}

func (x *program) forFraction(d int) {
	v := x.name()
	x.line("for %s = %s, %s, %s do", v, x.pick("0.1", "0.5", "1", "0.3"), x.pick("1", "2.5", "1.2"), x.pick("0.25", "0.3", "1", "0.5", "0.7"))
	x.declare(v, anything, false)
	x.loopBody(d-1, "D = D + 1 if D > 60 then break end")
	x.line("end")
}

func (x *program) while(d int) {
	c := x.fresh()
	x.line("do local %s = 0", c)
	x.line("while %s do", x.pick(c+" < 3", c+" < 3 and ("+x.cond(1)+")", "true", "not ("+c+" >= 2)", x.cond(1)))
	x.declare(c, number, true)
	x.loopBody(d-1, c+" = "+c+" + 1 if "+c+" > 4 then break end")
	x.line("end end")
}

func (x *program) repeatLoop(d int) {
	c, u := x.fresh(), x.fresh()
	x.line("do local %s = 0", c)
	x.line("repeat")
	x.declare(c, number, true)
	first := fmt.Sprintf("%s = %s + 1 local %s = %s", c, c, u, x.any(1))
	if x.one(3) {
		first = x.pick("if nil then O(1) end ", "while false do O(2) end ", "do end ", "") + first
	}
	x.declare(u, anything, false)
	labels := x.labels
	x.indent++
	x.loops++
	x.line("%s", first)
	if x.objects && x.one(4) {
		x.line("local %s <close> = OBJ(%s, 1, 2)", x.fresh(), x.num(1))
	}
	if x.one(3) {
		label := x.fresh()
		x.labels = append(x.labels[:len(x.labels):len(x.labels)], label)
		x.line("do")
		x.block(d - 1)
		x.line("end")
		x.line("::%s::", label)
		x.labels = labels
	}
	for range x.r.IntN(3) + 1 {
		x.stmt(d - 1)
	}
	if x.one(3) {
		x.without(func() { x.line("C[#C + 1] = function() return %s, %s end", u, x.any(0)) })
	}
	x.loops--
	x.indent--
	x.line("until %s >= 3 or (%s)", c, x.cond(1))
	x.line("end")
}

func (x *program) forIpairs(d int) {
	a, b := x.name(), x.fresh()
	list := "{" + x.num(1) + ", " + x.num(1) + ", " + x.num(1) + "}"
	if s := x.with(seq, "{$[1], $[2]}"); s != "" && x.one(2) {
		list = s
	}
	if s := x.with(seq, "PX({$[1], $[2]})"); s != "" && x.one(3) {
		list = s
	}
	x.line("for %s, %s in ipairs(%s) do", a, b, list)
	x.declare(a, number, true)
	x.declare(b, number, false)
	x.loopBody(d-1, "")
	x.line("end")
}

func (x *program) forNext(d int) {
	a, b := x.fresh(), x.name()
	head := ""
	switch x.r.IntN(4) {
	case 0:
		head = fmt.Sprintf("next, {%s}", x.num(1))
	case 1:
		head = fmt.Sprintf("next, {%s}, nil", x.num(1))
	case 2:
		head = fmt.Sprintf("K(next, {%s, %s})", x.num(1), x.num(1))
	default:
		x.line("for %s, %s in pairs({%s, k = %s}) do GN = (GN + %s) %% 997 end", a, b, x.num(1), x.num(1), b)
		return
	}
	x.line("for %s, %s in %s do", a, b, head)
	x.declare(a, anything, true)
	x.declare(b, number, false)
	x.loopBody(d-1, "")
	x.line("end")
}

func (x *program) forStateful(d int) {
	v, c := x.name(), x.fresh()
	x.line("do local %s = 0", c)
	x.line("for %s in function(s, c) %s = %s + 1 if %s < 4 then return %s end end do", v, c, c, c, x.pick("(c or 0) + "+c, c, c+" * 2, c"))
	x.declare(v, number, false)
	x.loopBody(d-1, "")
	x.line("end end")
}

func (x *program) forStateless(d int) {
	a, b, c := x.fresh(), x.fresh(), x.fresh()
	head := x.pick(
		"function(s, c) if c < s then return c + 1, s - c, c end end, 3, 0",
		"function(s, c) if c < s then return c + 1, s end end, K(2, 0)",
		"function(s, c) if c < s then return c + 1, s end end, 2, K(0)",
		"K(function(s, c) if c < s then return c + 1 end end, 2, 0)")
	x.line("for %s in %s do", x.pick(a, a+", "+b, a+", "+b+", "+c), head)
	x.declare(a, number, true)
	x.loopBody(d-1, "")
	x.line("end")
}

// iterators are loops whose head calls what a call returned.
func (x *program) iterators(d int) bool {
	v := x.fresh()
	if x.one(2) {
		x.line("for %s in (function(...) return function(s, c) return function(s, c) if c < s then return c + 1 end end, s, c end end)()(%s, K(0)) do O(%s) end", v, x.pick("2", "3", "K(2)"), v)
		return true
	}
	n := len(x.vars)
	x.line("for %s in F(function() return function(s, c) c = (c or 0) + 1 if c < 4 then return c end end end) do", v)
	x.declare(v, number, true)
	x.loopBody(d-1, "")
	x.line("end")
	x.vars = x.vars[:n]
	return true
}

// jump leaves or goes on with a loop.
func (x *program) jump(int) bool {
	if x.loops == 0 {
		return false
	}
	if x.one(2) || len(x.labels) == 0 {
		x.line("if %s then break end", x.cond(1))
	} else {
		x.line("if %s then goto %s end", x.cond(1), x.pick(x.labels...))
	}
	return true
}

// backward is a bounded goto back.
func (x *program) backward(d int) bool {
	if d <= 0 {
		return false
	}
	c, label, n := x.fresh(), x.fresh(), len(x.vars)
	x.line("do local %s = 0", c)
	x.line("::%s::", label)
	x.line("%s = %s + 1", c, c)
	x.declare(c, number, true)
	x.block(d - 1)
	x.line("if %s < %d then goto %s end", c, 1+x.r.IntN(3), label)
	x.line("end")
	x.vars = x.vars[:n]
	return true
}
