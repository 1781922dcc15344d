package syntax

import (
	"slices"

	"github.com/yuin/gopher-lua/ast"
)

// closeRest parses the rest of a block behind "local name <close> = …" as a
// function that the helper Close runs:
//
//	local c, v = Close(name, "name", function(...) rest end, ...)
//	if c == 0 then return Spread(v) end
//	if c == 1 then goto label end
//
// Where the rest returns, it returns 0 and the values; where it jumps out, a
// number for each label.
func (p *parser) closeRest(name string, line int) []ast.Stmt {
	p.enter()
	around := p.fn
	rest := p.openFunction(line, false)
	rest.rest = true
	rest.block.until = around.block.until
	stmts := p.stmts()
	if p.tok.kind == tUntil && rest.block.until && !p.ended {
		p.next()
		cond := p.expr()
		p.ended = true
		stmts = append(stmts, ifThen(line, cond, p.jump("break", line)))
	}
	end := p.last
	p.closeBlock()
	exits := p.exits(rest)
	p.fn = around
	p.settle(stmts, 0)
	p.deeper()
	p.leave()

	rest.vararg = rest.dots
	body := p.functionNode(rest, nil, stmts, line)
	body.SetLastLine(end)
	code, values := p.temp(), p.temp()
	args := []ast.Expr{ident(name, line), p.stringNode(name, line), body}
	if rest.dots {
		args = append(args, p.dots(line))
	}
	call := p.call(Close, line, args...)
	call.AdjustRet = false
	out := []ast.Stmt{localTo(line, []string{code, values}, call)}
	is := func(n int, s ast.Stmt) {
		out = append(out, ifThen(line, relation("==", ident(code, line), integer(n, line), line), s))
	}
	if rest.returns {
		is(0, p.unpacked(values, line))
	}
	for i, g := range exits {
		is(i+1, p.jump(g.name, g.line))
	}
	out = []ast.Stmt{block_(line, out...)}
	for _, l := range rest.trailing {
		out = append(out, p.lastLabel(l.name, l.line)...)
	}
	return out
}

// unpacked returns the values of a return statement in a rest.
func (p *parser) unpacked(values string, line int) ast.Stmt {
	spread := p.call(Spread, line, ident(values, line))
	spread.AdjustRet = false
	p.fn.returns = true
	if p.fn.rest {
		return returns(line, integer(0, line), spread)
	}
	return returns(line, spread)
}

// exits turns the open jumps of a rest into returns of a number and lists what
// each number, from 1, stands for.
func (p *parser) exits(rest *function) []*jump {
	var out []*jump
	for _, g := range rest.gotos {
		n := slices.IndexFunc(out, func(o *jump) bool { return o.name == g.name })
		if n < 0 {
			n = len(out)
			out = append(out, g)
		}
		g.stmt.Stmts = []ast.Stmt{returns(g.line, integer(n+1, g.line))}
	}
	return out
}
