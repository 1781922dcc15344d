package syntax

import (
	"strconv"

	"github.com/yuin/gopher-lua/ast"
)

// Lowering of statements. Each rule names the fault in gopher-lua's compile.go
// that it avoids.

// prologue declares what the chunk uses in hidden locals.
func (p *parser) prologue() []ast.Stmt {
	var out []ast.Stmt
	if p.needs[Int] {
		p.used = append(p.used, Int)
	}
	if len(p.used) > 0 {
		var names []string
		for _, h := range p.used {
			names = append(names, helperName(h))
		}
		out = append(out, localTo(1, names, at(&ast.Comma3Expr{}, 1)))
	}
	if len(p.ints) > 0 {
		t := at(&ast.TableExpr{}, 1)
		for _, v := range p.ints {
			text := at(&ast.StringExpr{Value: strconv.FormatInt(v, 10)}, 1)
			c := at(&ast.FuncCallExpr{Func: ident(helperName(Int), 1), Args: []ast.Expr{text}, AdjustRet: true}, 1)
			t.Fields = append(t.Fields, &ast.Field{Value: c})
		}
		out = append(out, localTo(1, []string{boxesName}, t))
	}
	if p.zero {
		out = append(out, localTo(1, []string{zeroName}, integer(0, 1)))
	}
	if p.noDots {
		none := at(&ast.FunctionExpr{ParList: &ast.ParList{}}, 1)
		out = append(out, localTo(1, []string{noDotsName}, none))
	}
	return out
}

// padded makes sure that the body of a loop without a condition has an
// instruction. patchCode follows jumps to jumps, but takes the operand of a JMP
// that it patched before for a label's number: what a backward jump leads to must
// not be a JMP. Nothing else starts with one, as constants in conditions are
// folded and breaks are gotos, which start with CLOSE.
func (p *parser) padded(body []ast.Stmt, cond ast.Expr, line int) []ast.Stmt {
	if truth(cond) < 0 || !empty(body) {
		return body
	}
	return append([]ast.Stmt{localTo(line, []string{p.temp()})}, body...)
}

// empty reports whether statements make no instructions.
func empty(in []ast.Stmt) bool {
	for _, s := range in {
		switch s := s.(type) {
		case *ast.LabelStmt:
		case *ast.DoBlockStmt:
			if !empty(s.Stmts) {
				return false
			}
		default:
			return false
		}
	}
	return true
}

// assign lowers an assignment.
func (p *parser) assign(targets, values []ast.Expr, line int) ast.Stmt {
	for i := range values[:len(values)-1] {
		single(values[i])
	}
	for _, t := range targets {
		t.SetLine(p.last) // where Lua stores
	}
	if len(targets) > 1 || len(values) > 1 {
		return p.assignMany(targets, values, line)
	}
	target, value := targets[0], values[0]
	s := set(line, target, value)
	switch t := target.(type) {
	case *ast.IdentExpr:
		if _, ok := p.local(t); !ok {
			return s
		}
		if _, ok := value.(*ast.LogicalOpExpr); ok {
			// a false operand is left in the temporary, not in the local
			name := p.temp()
			return block_(line, localTo(line, []string{name}, value), set(line, t, ident(name, line)))
		}
		// (f()) is compiled over the last parameter; (...) cuts the registers
		// above the local
		adjust(value, false)
	case *ast.AttrGetExpr:
		if truth(t.Object) >= 0 {
			// a constant as the object is not understood
			name := p.temp()
			o := t.Object
			t.Object = ident(name, line)
			return block_(line, localTo(line, []string{name}, o), s)
		}
	}
	return s
}

// assignMany: with several targets or values, targets are written while values
// are still being computed, and the register count goes wrong.
func (p *parser) assignMany(targets, values []ast.Expr, line int) ast.Stmt {
	written := map[string]bool{}
	for _, t := range targets {
		if v, ok := t.(*ast.IdentExpr); ok {
			written[v.Value] = true
		}
	}
	var out []ast.Stmt
	hold := func(e ast.Expr) ast.Expr {
		if name, ok := p.local(e); ok && !written[name] {
			return e
		}
		name := p.temp()
		out = append(out, localTo(line, []string{name}, e))
		return ident(name, line)
	}
	for _, t := range targets {
		if a, ok := t.(*ast.AttrGetExpr); ok {
			a.Object = hold(a.Object)
			if truth(a.Key) < 0 {
				a.Key = hold(a.Key)
			}
		}
	}
	names := make([]string, len(targets))
	for i := range names {
		names[i] = p.temp()
	}
	out = append(out, localTo(line, names, values...))
	for i := len(targets) - 1; i >= 0; i-- {
		out = append(out, set(line, targets[i], ident(names[i], line)))
	}
	return block_(line, out...)
}

// genericFor parses "for names in expressions do body end".
func (p *parser) genericFor(name string, line int) ast.Stmt {
	names := []string{name}
	for p.accept(',') {
		if names = append(names, p.name()); len(names) > maxLocals {
			p.limit("local variables", maxLocals)
		}
	}
	p.expect(tIn)
	s := &ast.GenericForStmt{Names: names, Exprs: p.exprs()}
	s.SetLine(line)
	before := p.forHead(s, line)
	first := len(p.fn.gotos)
	p.openBlock(false)
	for range 3 { // as many as Lua 5.4 counts
		p.declare("(for state)", false)
	}
	for _, n := range names {
		p.declare(n, false)
	}
	s.Stmts = p.body(tFor, line)
	s.SetLastLine(p.last)
	p.closeBlock()
	loop := p.breakable(s, first)
	if before != nil {
		return block_(line, before, loop)
	}
	return loop
}

// forHead: compileRegAssignment is given the number of loop variables where it
// needs the three hidden ones, so missing expressions leave stale registers and a
// call in the last place is asked for no results. The hidden registers are
// declared before the expressions are compiled: a call in the first of them is
// taken to use no register, and what follows is compiled over its result.
func (p *parser) forHead(s *ast.GenericForStmt, line int) ast.Stmt {
	if len(s.Exprs) == 1 && multi(s.Exprs[0]) && plainHead(s.Exprs[0]) {
		return nil
	}
	simple := len(s.Exprs) <= 3
	switch s.Exprs[0].(type) {
	case *ast.IdentExpr, *ast.FunctionExpr:
	default:
		simple = false
	}
	for _, e := range s.Exprs[1:] {
		if _, ok := e.(*ast.IdentExpr); !ok && truth(e) < 0 {
			simple = false
		}
	}
	if simple {
		for len(s.Exprs) < 3 {
			s.Exprs = append(s.Exprs, at(&ast.NilExpr{}, line))
		}
		return nil
	}
	names := []string{p.temp(), p.temp(), p.temp()}
	before := localTo(line, names, s.Exprs...)
	s.Exprs = []ast.Expr{ident(names[0], line), ident(names[1], line), ident(names[2], line)}
	return before
}

// plainHead reports whether the first value e computes is a name or a constant.
func plainHead(e ast.Expr) bool {
	switch x := e.(type) {
	case *ast.Comma3Expr:
		return true
	case *ast.FuncCallExpr:
		if e = x.Func; e == nil {
			e = x.Receiver
		}
	}
	for {
		switch x := e.(type) {
		case *ast.IdentExpr, *ast.StringExpr:
			return true
		case *ast.AttrGetExpr:
			e = x.Object
		default:
			return false
		}
	}
}

// numberFor parses "for name = init, limit, step do body end".
func (p *parser) numberFor(name string, line int) ast.Stmt {
	p.next()
	h := forValues{init: single(p.expr()), step: integer(1, line)}
	p.expect(',')
	h.limit = single(p.expr())
	if p.accept(',') {
		h.step = single(p.expr())
	}
	before := p.checkFor(&h, line)
	first := len(p.fn.gotos)
	p.openBlock(false)
	for range 3 {
		p.declare("(for state)", false)
	}
	p.declare(name, false)
	var loop ast.Stmt
	if h.exact() {
		body := p.body(tFor, line)
		if h.later != "" {
			body = append([]ast.Stmt{set(line, ident("(for step)", line), ident(h.later, line))}, body...)
		}
		s := &ast.NumberForStmt{Name: name, Init: h.init, Limit: h.limit, Step: h.step, Stmts: body}
		s.SetLine(line)
		s.SetLastLine(p.last)
		loop = s
	} else {
		loop = h.while(name, p.body(tFor, line), line)
		loop.SetLastLine(p.last)
	}
	p.closeBlock()
	loop = p.breakable(loop, first)
	if before != nil {
		return block_(line, before, loop)
	}
	return loop
}

// checkFor has values checked that the instructions would take for something
// else: a step of zero, fractions.
func (p *parser) checkFor(h *forValues, line int) ast.Stmt {
	n, ok := literal(h.step)
	if ok && n.value() != 0 && h.exact() {
		return nil
	}
	names := []string{p.temp(), p.temp(), p.temp(), p.temp()}
	check := p.call(For, line, h.init, h.limit, h.step)
	check.AdjustRet = false
	switch {
	case !h.exact():
		h.index = names[0]
	case ok:
		h.init = ident(names[0], line)
	default:
		// the first step is too small to round, and the body sets the real one
		h.init, h.step, h.later = ident(names[0], line), ident(names[3], line), names[2]
	}
	h.limit = ident(names[1], line)
	return localTo(line, names, check)
}

// forValues are the three expressions of a numeric for.
type forValues struct {
	init, limit, step ast.Expr
	index             string // the local that counts, in while
	later             string // the local with the step of all rounds but the first
}

// exact reports whether the loop can use the instructions, which subtract the
// step from the first value and add it again. Fractions that can be seen cannot.
func (h *forValues) exact() bool {
	if h.index != "" {
		return false
	}
	init, ok := literal(h.init)
	step, ok2 := literal(h.step)
	switch {
	case ok && ok2:
		return init.value()-step.value()+step.value() == init.value()
	case ok:
		return integral(init.value())
	case ok2:
		return integral(step.value())
	}
	return true
}

// while counts in a hidden local instead.
func (h *forValues) while(name string, body []ast.Stmt, line int) ast.Stmt {
	i := func() ast.Expr { return ident(h.index, line) }
	op := "<="
	step, _ := literal(h.step)
	if step.value() < 0 {
		op = ">="
	}
	add := at(&ast.ArithmeticOpExpr{Operator: "+", Lhs: i(), Rhs: h.step}, line)
	inner := block_(line, append([]ast.Stmt{localTo(line, []string{name}, i())}, body...)...)
	w := &ast.WhileStmt{Condition: relation(op, i(), h.limit, line)}
	w.Stmts = []ast.Stmt{inner, set(line, i(), add)}
	w.SetLine(line)
	return w
}
