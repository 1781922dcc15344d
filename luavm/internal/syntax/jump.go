package syntax

import (
	"fmt"
	"strconv"

	lua "github.com/yuin/gopher-lua"
	"github.com/yuin/gopher-lua/ast"
)

// Jumps. gopher-lua emits CLOSE for a goto with the wrong register, mostly 0,
// which cuts all live closures of the function from their variables, and none
// for a break out of an inner block. So every break becomes a goto, the parser
// matches gotos and labels itself under names of its own, settle works out which
// register each goto has to close from, and patch writes it into the compiled
// code. A goto is known there by its line: markLine and more.
const markLine = 1 << 28

// A mark is what patch needs to know of a goto.
type mark struct {
	line     int
	register int
}

// jumpTo makes a goto to the label id.
func (p *parser) jumpTo(id string, line int) *ast.GotoStmt {
	g := &ast.GotoStmt{Label: id}
	g.SetLine(markLine + len(p.marks))
	g.SetLastLine(line)
	p.marks = append(p.marks, mark{line: line})
	return g
}

// jump parses nothing; it makes the statement for a goto or, with the name
// "break", a break.
func (p *parser) jump(name string, line int) ast.Stmt {
	p.countJump()
	if name != "break" {
		for i := len(p.fn.labels) - 1; i >= 0; i-- {
			if l := p.fn.labels[i]; l.name == name {
				return p.jumpTo(l.id, line)
			}
		}
	}
	s := block_(line)
	p.fn.gotos = append(p.fn.gotos, &jump{name: name, line: line, vars: len(p.fn.vars), stmt: s})
	return s
}

func (p *parser) countJump() {
	if p.fn.jumps++; p.fn.jumps > MaxJumps {
		p.limit("labels and jumps", MaxJumps)
	}
}

// land points the block's open jumps called name at the label id, and reports
// whether there are any. vars is the number of variables in scope at the label.
func (p *parser) land(name, id string, first, vars int) bool {
	f, some := p.fn, false
	kept := f.gotos[:first]
	for _, g := range f.gotos[first:] {
		if g.name != name {
			kept = append(kept, g)
			continue
		}
		if g.vars < vars {
			p.intoScope(g, f)
		}
		g.stmt.Stmts = []ast.Stmt{p.jumpTo(id, g.line)}
		some = true
	}
	f.gotos = kept
	return some
}

// label makes the statement for a label; last says that the block ends there.
func (p *parser) label(name string, line int, last bool) ast.Stmt {
	for f := p.fn; f != nil; f = f.up {
		for _, l := range f.labels {
			if l.name == name {
				p.errorNear(fmt.Sprintf("label '%s' already defined on line %d", name, l.line), "")
			}
		}
		if !f.rest {
			break
		}
	}
	p.intoRest(name)
	p.countJump()
	id := p.temp()
	p.fn.labels = append(p.fn.labels, label{name, id, line})
	vars := len(p.fn.vars)
	if last {
		vars = p.fn.block.vars
	}
	p.land(name, id, p.fn.block.gotos, vars)
	return labelAt(id, line)
}

// intoRest raises an error for a goto from before a <close> variable to the
// label name in its scope.
func (p *parser) intoRest(name string) {
	for f := p.fn; f.rest && f.block.up == nil; f = f.up {
		for _, g := range f.up.gotos[f.up.block.gotos:] {
			if g.name == name {
				p.intoScope(g, f.up)
			}
		}
	}
}

func (p *parser) intoScope(g *jump, f *function) {
	p.errorNear(fmt.Sprintf("<goto %s> at line %d jumps into the scope of local '%s'", g.name, g.line, f.vars[g.vars].name), "")
}

// lastLabel is label for one at the end of a block. At the end of the rest of a
// block behind a <close> variable it lies outside of the variable's scope.
func (p *parser) lastLabel(name string, line int) []ast.Stmt {
	if f := p.fn; f.rest && f.block.up == nil {
		f.trailing = append(f.trailing, label{name: name, line: line})
		return nil
	}
	return []ast.Stmt{p.label(name, line, true)}
}

// breakable puts the label that the breaks of a loop go to behind it. first is
// the number of open jumps before the loop.
func (p *parser) breakable(loop ast.Stmt, first int) ast.Stmt {
	id := p.temp()
	if !p.land("break", id, first, 0) {
		return loop
	}
	return block_(loop.Line(), loop, labelAt(id, loop.Line()))
}

// closeFunction ends a function; with a jump left open it is an error.
func (p *parser) closeFunction() {
	p.closeBlock()
	for _, g := range p.fn.gotos {
		if g.name == "break" {
			p.errorNear("break outside loop at line "+strconv.Itoa(g.line), "")
		}
		p.errorNear(fmt.Sprintf("no visible label '%s' for <goto> at line %d", g.name, g.line), "")
	}
	p.fn = p.fn.up
}

// A frame is a block of a lowered function, as gopher-lua's compiler sees it:
// the number of registers that locals have in it so far.
type frame struct {
	up     *frame
	stmts  []ast.Stmt
	locals int
	labels map[string]int // the locals at each label, -1 before it is reached
}

// settle finds the register to close from for each goto of a lowered function
// with the given number of locals at its start.
func (p *parser) settle(stmts []ast.Stmt, locals int) {
	p.settleBlock(&frame{stmts: stmts, locals: locals})
}

func (p *parser) settleBlock(f *frame) {
	inner := func(stmts []ast.Stmt, hidden int) {
		p.settleBlock(&frame{up: f, stmts: stmts, locals: f.locals + hidden})
	}
	for _, s := range f.stmts {
		switch s := s.(type) {
		case *ast.LocalAssignStmt:
			f.locals += len(s.Names)
		case *ast.DoBlockStmt:
			inner(s.Stmts, 0)
		case *ast.IfStmt:
			inner(s.Then, 0)
			inner(s.Else, 0)
		case *ast.WhileStmt:
			inner(s.Stmts, 0)
		case *ast.RepeatStmt:
			inner(s.Stmts, 0)
		case *ast.NumberForStmt:
			inner(s.Stmts, 4)
		case *ast.GenericForStmt:
			inner(s.Stmts, 3+len(s.Names))
		case *ast.LabelStmt:
			f.find(s.Name)
			f.labels[s.Name] = f.locals
		case *ast.GotoStmt:
			p.marks[s.Line()-markLine].register = f.target(s.Label)
		}
	}
}

// target returns the number of locals that live on after a jump to the label id.
func (f *frame) target(id string) int {
	for ; ; f = f.up {
		if n, ok := f.find(id); ok && n >= 0 {
			return n
		} else if ok || f.up == nil {
			return f.locals
		}
	}
}

func (f *frame) find(id string) (int, bool) {
	if f.labels == nil {
		f.labels = map[string]int{}
		for _, s := range f.stmts {
			if l, ok := s.(*ast.LabelStmt); ok {
				f.labels[l.Name] = -1
			}
		}
	}
	n, ok := f.labels[id]
	return n, ok
}

// patch writes the registers of settle into the CLOSE instructions of a
// prototype's gotos, and their real lines.
func (p *parser) patch(f *lua.FunctionProto) {
	for pc, line := range f.DbgSourcePositions {
		if line < markLine {
			continue
		}
		m := p.marks[line-markLine]
		f.DbgSourcePositions[pc] = m.line
		if f.Code[pc]>>26 == uint32(lua.OP_CLOSE) {
			f.Code[pc] = f.Code[pc]&^(0xff<<18) | uint32(m.register)<<18
		}
	}
}
