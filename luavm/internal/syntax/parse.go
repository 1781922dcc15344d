package syntax

import (
	"fmt"
	"strconv"

	"github.com/yuin/gopher-lua/ast"
)

// A parser reads statements and makes the lowered tree in one go. Errors are
// raised as panics of type *Error.
type parser struct {
	lexer
	fn        *function
	functions int
	nesting   int
	depth     int // of the tree that the current construct has so far
	nodes     int // binary operations so far
	work      int
	temps     int
	paren     bool // the last expression was in parentheses
	ended     bool // the rest of a block behind <close> took its "until", too
	watches   []watch
	marks     []mark

	order bool // compare by helpers: see Lt
	equal bool // compare by helpers: see Eq

	used   []Helper
	needs  [NumHelpers]bool
	ints   []int64            // the boxed literals
	index  map[int64]int      // and where they are in ints
	zero   bool               // -0.0 occurs
	noDots bool               // "..." occurs in the main function
	boxes  map[ast.Expr]int64 // boxed literals
}

// A watch notes whether a name occurs in a function that is being parsed.
type watch struct {
	name string
	seen bool
}

// chunk parses the whole source.
func (p *parser) chunk() []ast.Stmt {
	p.openFunction(0, true)
	p.start()
	stmts := p.stmts()
	if p.tok.kind != tEOF {
		p.fail("<eof> expected")
	}
	p.closeFunction()
	stmts = append(p.prologue(), stmts...)
	p.settle(stmts, 0)
	return stmts
}

func (p *parser) temp() string {
	p.temps++
	return "\x00" + strconv.Itoa(p.temps)
}

// enter and leave bound the nesting.
func (p *parser) enter() {
	if p.nesting++; p.nesting > MaxNesting {
		p.fail(fmt.Sprintf("too many nested blocks or expressions (limit is %d)", MaxNesting))
	}
}

func (p *parser) leave() { p.nesting-- }

// deeper adds a level to the tree of the current construct.
func (p *parser) deeper() {
	if p.depth++; p.depth > maxDepth {
		p.fail("expression or block is too complex")
	}
}

func (p *parser) accept(k kind) bool {
	if p.tok.kind != k {
		return false
	}
	p.next()
	return true
}

func (p *parser) expect(k kind) {
	if !p.accept(k) {
		p.fail(k.text() + " expected")
	}
}

// closing expects the token that ends what opened at line.
func (p *parser) closing(what, opener kind, line int) {
	if p.accept(what) {
		return
	}
	if line == p.line {
		p.fail(what.text() + " expected")
	}
	p.fail(fmt.Sprintf("%s expected (to close %s at line %d)", what.text(), opener.text(), line))
}

func (p *parser) name() string {
	if p.tok.kind != tName {
		p.fail("<name> expected")
	}
	s := p.tok.text
	p.next()
	return s
}

// blockEnds reports whether the current token ends a block.
func (p *parser) blockEnds(until bool) bool {
	switch p.tok.kind {
	case tElse, tElseif, tEnd, tEOF:
		return true
	case tUntil:
		return until
	}
	return false
}

// stmts parses statements up to the end of the block.
func (p *parser) stmts() []ast.Stmt {
	var out []ast.Stmt
	for !p.blockEnds(true) && !p.ended {
		if p.tok.kind == tReturn {
			out = append(out, p.returnStmt())
			break
		}
		p.enter()
		around := p.depth
		p.depth = 0
		out = p.stmt(out)
		p.depth = max(p.depth, around)
		p.leave()
	}
	return out
}

// block parses a block with a scope of its own.
func (p *parser) block() []ast.Stmt {
	around := p.depth
	p.depth = 0
	p.openBlock(false)
	out := p.stmts()
	p.closeBlock()
	p.deeper()
	p.depth = max(p.depth, around)
	return out
}

// body parses "do … end" of a loop that began at line; what is its keyword.
func (p *parser) body(what kind, line int) []ast.Stmt {
	p.expect(tDo)
	out := p.block()
	p.closing(tEnd, what, line)
	return out
}

// stmt parses one statement and appends what it lowers to.
func (p *parser) stmt(out []ast.Stmt) []ast.Stmt {
	line := p.tok.line
	switch p.tok.kind {
	case ';':
		p.next()
		return out
	case tIf:
		return append(out, p.ifStmt(line)...)
	case tWhile:
		return append(out, p.whileStmt(line)...)
	case tDo:
		p.next()
		b := block_(line, p.block()...)
		b.SetLastLine(p.tok.line)
		p.closing(tEnd, tDo, line)
		return append(out, b)
	case tFor:
		return append(out, p.forStmt(line))
	case tRepeat:
		return append(out, p.repeatStmt(line))
	case tFunction:
		return append(out, p.functionStmt(line))
	case tLocal:
		p.next()
		if p.accept(tFunction) {
			return append(out, p.localFunction(line))
		}
		return append(out, p.localStmt(line)...)
	case tColons:
		p.next()
		return p.labelStmt(out, line)
	case tBreak:
		p.next()
		return append(out, p.jump("break", line))
	case tGoto:
		p.next()
		return append(out, p.jump(p.name(), line))
	}
	return append(out, p.exprStmt(line))
}

func (p *parser) labelStmt(out []ast.Stmt, line int) []ast.Stmt {
	name := p.name()
	p.expect(tColons)
	for p.tok.kind == ';' || p.tok.kind == tColons {
		p.enter()
		out = p.stmt(out)
		p.leave()
	}
	if p.blockEnds(false) {
		return append(out, p.lastLabel(name, line)...)
	}
	return append(out, p.label(name, line, false))
}

func (p *parser) ifStmt(line int) []ast.Stmt {
	type branch struct {
		line int
		cond ast.Expr
		then []ast.Stmt
	}
	var branches []branch
	for {
		b := branch{line: p.tok.line}
		p.next()
		b.cond = p.expr()
		p.expect(tThen)
		b.then = p.block()
		branches = append(branches, b)
		if p.tok.kind != tElseif {
			break
		}
		if len(branches) >= MaxTerms {
			p.fail(fmt.Sprintf("too many branches (limit is %d)", MaxTerms))
		}
	}
	var out []ast.Stmt
	if p.accept(tElse) {
		out = p.block()
	}
	end := p.tok.line
	p.closing(tEnd, tIf, line)
	for i := len(branches) - 1; i >= 0; i-- {
		b := branches[i]
		p.deeper()
		switch truth(b.cond) {
		case 1:
			out = []ast.Stmt{block_(b.line, b.then...)}
		case 0:
			out = []ast.Stmt{block_(b.line, out...)}
		default:
			s := ifThen(b.line, b.cond, b.then...)
			s.Else = out
			s.SetLastLine(end)
			out = []ast.Stmt{s}
		}
	}
	return out
}

func (p *parser) whileStmt(line int) []ast.Stmt {
	p.next()
	first := len(p.fn.gotos)
	cond := p.expr()
	s := &ast.WhileStmt{Condition: cond, Stmts: p.padded(p.body(tWhile, line), cond, line)}
	s.SetLine(line)
	s.SetLastLine(p.last)
	out := p.breakable(s, first)
	if truth(cond) == 0 {
		return nil
	}
	return []ast.Stmt{out}
}

func (p *parser) repeatStmt(line int) ast.Stmt {
	p.next()
	first := len(p.fn.gotos)
	p.openBlock(true)
	body := p.stmts()
	if p.ended {
		// the condition is part of the body, which leaves by a break
		p.ended = false
		p.closeBlock()
		s := &ast.WhileStmt{Condition: at(&ast.TrueExpr{}, line), Stmts: body}
		s.SetLine(line)
		s.SetLastLine(p.last)
		return p.breakable(s, first)
	}
	p.closing(tUntil, tRepeat, line)
	cond := p.expr()
	s := &ast.RepeatStmt{Condition: cond, Stmts: p.padded(body, cond, line)}
	s.SetLine(line)
	s.SetLastLine(p.last)
	p.closeBlock()
	p.deeper()
	return p.breakable(s, first)
}

func (p *parser) forStmt(line int) ast.Stmt {
	p.next()
	name := p.name()
	switch p.tok.kind {
	case '=':
		return p.numberFor(name, line)
	case ',', tIn:
		return p.genericFor(name, line)
	}
	p.fail("'=' or 'in' expected")
	return nil
}

func (p *parser) returnStmt() ast.Stmt {
	line := p.tok.line
	p.next()
	var e []ast.Expr
	if !p.blockEnds(true) && p.tok.kind != ';' {
		e = p.exprs()
	}
	p.accept(';')
	p.fn.returns = true
	if p.fn.rest {
		e = append([]ast.Expr{integer(0, line)}, e...)
	}
	return returns(line, e...)
}

func (p *parser) functionStmt(line int) ast.Stmt {
	p.next()
	name := p.name()
	var target ast.Expr = p.variable(name, line)
	for n := 0; p.tok.kind == '.'; n++ {
		p.next()
		if n >= MaxTerms {
			p.tooLong()
		}
		p.deeper()
		target = at(&ast.AttrGetExpr{Object: target, Key: p.stringNode(p.name(), line)}, line)
	}
	if !p.accept(':') {
		f := p.functionBody(line, false)
		p.paren = false
		p.checkTarget(target)
		s := set(line, target, f)
		s.SetLastLine(f.LastLine())
		return s
	}
	method := p.name()
	p.constant(method, false)
	f := p.functionBody(line, true)
	s := &ast.FuncDefStmt{Name: &ast.FuncName{Receiver: target, Method: method}, Func: f}
	s.SetLine(line)
	s.SetLastLine(f.LastLine())
	return s
}

func (p *parser) localFunction(line int) ast.Stmt {
	name := p.name()
	p.declare(name, false)
	return localTo(line, []string{name}, p.functionBody(line, false))
}

// localStmt parses "local names = values" and, if one is to be closed, the rest
// of the block.
func (p *parser) localStmt(line int) []ast.Stmt {
	var names []string
	var fixed []bool
	closes := -1
	for {
		names = append(names, p.name())
		attribute := ""
		if p.accept('<') {
			attribute = p.name()
			p.expect('>')
		}
		switch attribute {
		case "", "const":
		case "close":
			if closes >= 0 {
				p.errorNear("multiple to-be-closed variables in local list", "")
			}
			closes = len(names) - 1
		default:
			p.errorNear("unknown attribute '"+clipText(attribute)+"'", "")
		}
		fixed = append(fixed, attribute != "")
		if len(p.fn.vars)+len(names) > maxLocals {
			p.limit("local variables", maxLocals)
		}
		if !p.accept(',') {
			break
		}
	}
	var values []ast.Expr
	mark := len(p.watches)
	if p.accept('=') {
		if len(names) == 1 && p.tok.kind == tFunction {
			p.watches = append(p.watches, watch{name: names[0]})
		}
		values = p.exprs()
	}
	for i, n := range names {
		p.declare(n, fixed[i])
	}
	s := p.localValues(line, names, values, mark)
	if closes < 0 {
		return []ast.Stmt{s}
	}
	return append([]ast.Stmt{s}, p.closeRest(names[closes], p.last)...)
}

// localValues: compileLocalAssignStmt declares the name before a single function
// value: right for "local function f", wrong for "local f = function".
func (p *parser) localValues(line int, names []string, values []ast.Expr, mark int) ast.Stmt {
	if len(p.watches) > mark {
		_, isFunction := values[0].(*ast.FunctionExpr)
		if isFunction && len(values) == 1 && p.watches[mark].seen {
			names = append(names, p.temp())
		}
		p.watches = p.watches[:mark]
	}
	return localTo(line, names, values...)
}

func (p *parser) exprStmt(line int) ast.Stmt {
	e := p.suffixed()
	if p.tok.kind == '=' || p.tok.kind == ',' {
		return p.assignment(e, line)
	}
	c, ok := e.(*ast.FuncCallExpr)
	if !ok || p.paren {
		p.fail("syntax error")
	}
	s := &ast.FuncCallStmt{Expr: c}
	s.SetLine(line)
	return s
}

func (p *parser) assignment(e ast.Expr, line int) ast.Stmt {
	targets := []ast.Expr{e}
	p.checkTarget(e)
	for p.accept(',') {
		e = p.suffixed()
		p.checkTarget(e)
		if targets = append(targets, e); len(targets) > maxLocals {
			p.limit("variables in an assignment", maxLocals)
		}
	}
	p.expect('=')
	return p.assign(targets, p.exprs(), line)
}

// checkTarget raises an error unless e, just parsed, can be assigned to.
func (p *parser) checkTarget(e ast.Expr) {
	switch e := e.(type) {
	case *ast.AttrGetExpr:
		if !p.paren {
			return
		}
	case *ast.IdentExpr:
		if p.paren {
			break
		}
		if v := p.resolve(e.Value); v != nil && v.fixed {
			p.errorNear("attempt to assign to const variable '"+e.Value+"'", "")
		}
		return
	}
	p.fail("syntax error")
}
