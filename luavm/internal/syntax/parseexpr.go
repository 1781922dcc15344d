package syntax

import (
	"fmt"

	"github.com/yuin/gopher-lua/ast"
)

// priorities of a binary operator to its left and right.
type priority struct{ left, right int }

const unaryPriority = 12

func binary(k kind) (priority, bool) {
	switch k {
	case tOr:
		return priority{1, 1}, true
	case tAnd:
		return priority{2, 2}, true
	case '<', '>', tLe, tGe, tNe, tEq:
		return priority{3, 3}, true
	case '|':
		return priority{4, 4}, true
	case '~':
		return priority{5, 5}, true
	case '&':
		return priority{6, 6}, true
	case tShl, tShr:
		return priority{7, 7}, true
	case tConcat:
		return priority{9, 8}, true
	case '+', '-':
		return priority{10, 10}, true
	case '*', '/', tIDiv, '%':
		return priority{11, 11}, true
	case '^':
		return priority{14, 13}, true
	}
	return priority{}, false
}

func (p *parser) tooLong() {
	p.fail(fmt.Sprintf("expression is too long (limit is %d terms)", MaxTerms))
}

func (p *parser) expr() ast.Expr { return p.subexpr(0) }

// exprs parses expressions with commas between them.
func (p *parser) exprs() []ast.Expr {
	out := []ast.Expr{p.expr()}
	for p.accept(',') {
		if out = append(out, p.expr()); len(out) > maxRegisters {
			p.fail(tooManyRegisters)
		}
	}
	return out
}

// subexpr parses operators that bind tighter than limit.
func (p *parser) subexpr(limit int) ast.Expr {
	p.enter()
	around := p.depth
	p.depth = 0
	first := p.nodes
	var e ast.Expr
	line := p.tok.line
	switch p.tok.kind {
	case tNot:
		p.next()
		e = p.not(p.subexpr(unaryPriority), line)
		p.deeper()
	case '-':
		p.next()
		e = p.minus(p.subexpr(unaryPriority), line)
		p.deeper()
	case '~':
		p.next()
		e = p.call(BNot, line, single(p.subexpr(unaryPriority)))
		p.deeper()
	case '#':
		p.next()
		e = at(&ast.UnaryLenOpExpr{Expr: p.subexpr(unaryPriority)}, line)
		p.deeper()
	default:
		e = p.simple()
	}
	for terms := 1; ; terms++ {
		op, line := p.tok.kind, p.tok.line
		pr, ok := binary(op)
		if !ok || pr.left <= limit {
			break
		}
		if terms >= MaxTerms {
			p.tooLong()
		}
		if op == tConcat {
			e = p.concat(e, terms)
			continue
		}
		p.next()
		e = p.operation(op, e, p.subexpr(pr.right), line)
		p.deeper()
		p.nodes++
		p.spend(4 * (p.nodes - first)) // constFold starts again at each operation
	}
	p.depth = max(p.depth, around)
	p.leave()
	return e
}

// simple parses an operand.
func (p *parser) simple() ast.Expr {
	line := p.tok.line
	var e ast.Expr
	switch p.tok.kind {
	case tNumber:
		e = p.numberNode(p.tok.num, line)
	case tString:
		e = p.stringNode(p.tok.text, line)
	case tNil:
		e = at(&ast.NilExpr{}, line)
	case tTrue:
		e = at(&ast.TrueExpr{}, line)
	case tFalse:
		e = at(&ast.FalseExpr{}, line)
	case tDots:
		e = p.dots(line)
	case '{':
		return p.table()
	case tFunction:
		p.next()
		return p.functionBody(line, false)
	default:
		return p.suffixed()
	}
	p.next()
	return e
}

func (p *parser) stringNode(s string, line int) *ast.StringExpr {
	p.constant(s, false)
	return at(&ast.StringExpr{Value: s}, line)
}

// variable makes the node for a name.
func (p *parser) variable(name string, line int) *ast.IdentExpr {
	p.checkName(name)
	p.resolve(name)
	return ident(name, line)
}

func (p *parser) dots(line int) ast.Expr {
	f := p.fn
	for ; f.rest; f = f.up {
		f.dots = true
	}
	if !f.vararg {
		p.fail("cannot use '...' outside a vararg function")
	}
	if f.up == nil && p.fn == f {
		// a chunk has no arguments of its own
		p.noDots = true
		return at(&ast.FuncCallExpr{Func: ident(noDotsName, line)}, line)
	}
	return at(&ast.Comma3Expr{}, line)
}

// suffixed parses a name or an expression in parentheses, with what follows:
// fields, calls, methods.
func (p *parser) suffixed() ast.Expr {
	around := p.depth
	p.depth = 0
	line := p.tok.line
	e, paren := p.primary()
	for n := 0; ; n++ {
		if n >= MaxTerms {
			p.tooLong()
		}
		next := p.suffix(e, line)
		if next == nil {
			break
		}
		e, paren = next, false
		p.deeper()
	}
	p.paren = paren
	p.depth = max(p.depth, around)
	return e
}

func (p *parser) primary() (e ast.Expr, paren bool) {
	line := p.tok.line
	switch p.tok.kind {
	case tName:
		return p.variable(p.name(), line), false
	case '(':
		p.next()
		e := p.expr()
		p.closing(')', '(', line)
		return single(e), true
	}
	p.fail("unexpected symbol")
	return nil, false
}

// suffix parses what may follow the operand e that began at line; nil is nothing.
func (p *parser) suffix(e ast.Expr, line int) ast.Expr {
	switch p.tok.kind {
	case '.':
		p.next()
		at_ := p.tok.line
		return at(&ast.AttrGetExpr{Object: e, Key: p.stringNode(p.name(), at_)}, at_)
	case '[':
		open := p.tok.line
		p.next()
		key := p.expr()
		p.closing(']', '[', open)
		return at(&ast.AttrGetExpr{Object: e, Key: key}, p.last)
	case ':':
		p.next()
		method := p.name()
		p.constant(method, false)
		return at(&ast.FuncCallExpr{Receiver: e, Method: method, Args: p.arguments()}, line)
	case '(', '{', tString:
		return at(&ast.FuncCallExpr{Func: e, Args: p.arguments()}, line)
	}
	return nil
}

func (p *parser) arguments() []ast.Expr {
	line := p.tok.line
	switch p.tok.kind {
	case tString:
		s := p.stringNode(p.tok.text, line)
		p.next()
		return []ast.Expr{s}
	case '{':
		return []ast.Expr{p.table()}
	case '(':
		p.next()
		if p.accept(')') {
			return nil
		}
		args := p.exprs()
		p.closing(')', '(', line)
		return args
	}
	p.fail("function arguments expected")
	return nil
}

// functionBody parses parameters and body of a function that began at line.
func (p *parser) functionBody(line int, method bool) *ast.FunctionExpr {
	around := p.depth
	p.depth = 0
	f := p.openFunction(line, false)
	if method {
		p.declare("self", false)
	}
	params := p.parameters()
	locals := len(f.vars)
	stmts := p.stmts()
	end := p.tok.line
	p.closing(tEnd, tFunction, line)
	p.closeFunction()
	e := p.functionNode(f, params, stmts, line)
	e.SetLastLine(end)
	p.settle(stmts, locals)
	p.deeper()
	p.depth = max(p.depth, around)
	return e
}

func (p *parser) functionNode(f *function, params []string, stmts []ast.Stmt, line int) *ast.FunctionExpr {
	list := &ast.ParList{HasVargs: f.vararg, Names: params}
	return at(&ast.FunctionExpr{ParList: list, Stmts: stmts}, line)
}

func (p *parser) parameters() []string {
	var names []string
	p.expect('(')
	for p.tok.kind != ')' || names != nil {
		if p.accept(tDots) {
			p.fn.vararg = true
			break
		}
		if p.tok.kind != tName {
			p.fail("<name> or '...' expected")
		}
		name := p.name()
		names = append(names, name)
		p.declare(name, false)
		if !p.accept(',') {
			break
		}
	}
	p.expect(')')
	return names
}

// table parses a constructor.
func (p *parser) table() ast.Expr {
	around := p.depth
	p.depth = 0
	line := p.tok.line
	p.next()
	var fields []*ast.Field
	for p.tok.kind != '}' {
		fields = append(fields, p.field())
		if !p.accept(',') && !p.accept(';') {
			break
		}
	}
	p.closing('}', '{', line)
	p.deeper()
	p.depth = max(p.depth, around)
	return p.constructor(fields, line)
}

func (p *parser) field() *ast.Field {
	switch {
	case p.tok.kind == tName && p.lookahead() == '=':
		key := p.stringNode(p.name(), p.tok.line)
		p.next()
		return &ast.Field{Key: key, Value: p.expr()}
	case p.tok.kind == '[':
		line := p.tok.line
		p.next()
		key := p.expr()
		p.closing(']', '[', line)
		p.expect('=')
		return &ast.Field{Key: key, Value: p.expr()}
	}
	return &ast.Field{Value: p.expr()}
}
