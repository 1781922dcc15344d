package syntax

import (
	"fmt"
	"strconv"

	"github.com/yuin/gopher-lua/ast"
)

// A variable is a local variable in scope.
type variable struct {
	name  string
	fixed bool // <const> or <close>
}

// A function is a function being parsed. The rest of a block behind a <close>
// variable is a function of its own too, with rest set.
type function struct {
	up        *function
	block     *block
	vars      []variable
	visible   int // len(vars) of the functions around it
	vararg    bool
	dots      bool // "..." is used
	returns   bool // there is a return statement
	rest      bool
	line      int
	upvalues  []string
	constants map[constant]int
	labels    []label
	trailing  []label // of kind rest: the labels at its end, which lie outside
	gotos     []*jump
	jumps     int
}

type constant struct {
	text   string
	number bool
}

// A block is a block of statements being parsed.
type block struct {
	up     *block
	vars   int // sizes of the function's lists at its start
	labels int
	gotos  int
	until  bool // the body of a repeat, whose condition belongs to it
}

type label struct {
	name string
	id   string // unique, for the compiler
	line int
}

// A jump is a goto or break whose label has not been met. stmt holds the
// statement for it, which changes when the jump leaves a function of kind rest.
type jump struct {
	name string // "break" for a break
	line int
	vars int
	stmt *ast.DoBlockStmt
}

func (p *parser) openFunction(line int, vararg bool) *function {
	f := &function{up: p.fn, line: line, vararg: vararg}
	if f.up != nil {
		f.visible = f.up.visible + len(f.up.vars)
	}
	if p.functions++; p.functions > MaxFunctions {
		p.fail(fmt.Sprintf("too many functions (limit is %d)", MaxFunctions))
	}
	p.fn = f
	p.openBlock(false)
	return f
}

func (p *parser) openBlock(until bool) {
	f := p.fn
	f.block = &block{up: f.block, vars: len(f.vars), labels: len(f.labels), gotos: len(f.gotos), until: until}
}

// closeBlock ends the scope of a block's variables and labels. Open gotos go on
// looking in the block around it.
func (p *parser) closeBlock() {
	f := p.fn
	b := f.block
	f.vars = f.vars[:b.vars]
	f.labels = f.labels[:b.labels]
	for _, g := range f.gotos[b.gotos:] {
		g.vars = min(g.vars, b.vars)
	}
	f.block = b.up
}

// limit raises an error about a function's limit.
func (p *parser) limit(what string, n int) {
	where := "main function"
	f := p.fn
	for f.rest {
		f = f.up
	}
	if f.up != nil {
		where = "function at line " + strconv.Itoa(f.line)
	}
	p.fail(fmt.Sprintf("too many %s (limit is %d) in %s", what, n, where))
}

func (p *parser) declare(name string, fixed bool) {
	p.checkName(name)
	f := p.fn
	if f.vars = append(f.vars, variable{name, fixed}); len(f.vars) > maxLocals {
		p.limit("local variables", maxLocals)
	}
}

// resolve finds the variable that name means here, nil for a global one, and
// notes the use.
func (p *parser) resolve(name string) *variable {
	for i := range p.watches {
		if p.watches[i].name == name {
			p.watches[i].seen = true
		}
	}
	p.spend(1 + len(p.fn.vars) + p.fn.visible)
	v, owner := p.find(name)
	if v == nil {
		p.constant(name, false)
		return nil
	}
	p.upvalue(name, owner)
	return v
}

func (p *parser) checkName(name string) {
	if name == "_ENV" {
		p.errorNear("'_ENV' is not supported", "")
	}
}

// find looks for a variable in scope, and its function.
func (p *parser) find(name string) (*variable, *function) {
	for f := p.fn; f != nil; f = f.up {
		for i := len(f.vars) - 1; i >= 0; i-- {
			if f.vars[i].name == name {
				return &f.vars[i], f
			}
		}
	}
	return nil, nil
}

// upvalue notes that this function, and those up to owner, use a variable of owner.
func (p *parser) upvalue(name string, owner *function) {
next:
	for f := p.fn; f != owner; f = f.up {
		for _, u := range f.upvalues {
			if u == name {
				continue next
			}
		}
		if f.upvalues = append(f.upvalues, name); len(f.upvalues) > maxUpvalues {
			p.limit("upvalues", maxUpvalues)
		}
	}
}

// constant counts a function's constants, and what the compiler's linear search
// for them costs.
func (p *parser) constant(text string, number bool) {
	f := p.fn
	if f.constants == nil {
		f.constants = map[constant]int{}
	}
	k := constant{text, number}
	i, ok := f.constants[k]
	if !ok {
		i = len(f.constants)
		f.constants[k] = i
		if i >= MaxConstants {
			p.limit("constants", MaxConstants)
		}
	}
	p.spend(1 + i)
}

// spend bounds the time that compiling takes, where it is not linear.
func (p *parser) spend(n int) {
	if p.work += n; p.work > maxWork {
		p.fail("chunk is too complex")
	}
}

// local reports whether e is a local variable of the current function.
func (p *parser) local(e ast.Expr) (string, bool) {
	n, ok := e.(*ast.IdentExpr)
	if !ok {
		return "", false
	}
	for i := len(p.fn.vars) - 1; i >= 0; i-- {
		if p.fn.vars[i].name == n.Value {
			return n.Value, true
		}
	}
	return "", false
}
