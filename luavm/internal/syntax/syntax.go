package syntax

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	lua "github.com/yuin/gopher-lua"
	"github.com/yuin/gopher-lua/ast"
)

// Limits of a chunk. Past one of them Compile returns an error.
const (
	MaxSource    = 256 << 10 // bytes of source
	MaxNesting   = 200       // blocks, functions and brackets inside each other
	MaxTerms     = 1000      // terms of an expression, branches of an if
	MaxConstants = 4096      // different constants of a function
	MaxFunctions = 2000      // functions of a chunk
	MaxJumps     = 2000      // labels, gotos and breaks of a function
	MaxItems     = 511 * 50  // items of a table constructor

	maxLocals    = 200
	maxRegisters = 200 // of a function, of which gopher-lua's compiler makes sure
	maxUpvalues  = 255
	maxDepth     = 3000    // levels of the syntax tree
	maxWork      = 1 << 25 // steps of gopher-lua's compiler in its quadratic parts
	maxCode      = 65535   // instructions of a function: jumps and label numbers have 18 bits, unchecked
)

const tooManyRegisters = "function or expression needs too many registers"

// A Chunk is a compiled chunk.
type Chunk struct {
	// Proto is the main function. It takes the functions for Helpers as arguments.
	Proto *lua.FunctionProto
	// Helpers lists what Proto needs, in order.
	Helpers []Helper
}

// An Error is a fault in the source.
type Error struct {
	File string // as passed to Compile
	Line int
	Msg  string // "… near 'token'"
}

func (e *Error) Error() string { return e.File + ":" + strconv.Itoa(e.Line) + ": " + e.Msg }

// Compile compiles Lua 5.4 source text. name stands for the file in positions of
// messages. Errors are of type *Error.
func Compile(name, source string) (*Chunk, error) {
	if len(source) > MaxSource {
		return nil, &Error{name, 1, fmt.Sprintf("source is too long (%d bytes, limit is %d)", len(source), MaxSource)}
	}
	p, stmts, err := parse(name, source)
	if err != nil {
		return nil, err
	}
	proto, err := generate(stmts, name)
	if err != nil {
		return nil, err
	}
	if err := p.finish(proto, name); err != nil {
		return nil, err
	}
	return &Chunk{Proto: proto, Helpers: p.used}, nil
}

// parse reads and lowers a chunk.
func parse(name, source string) (p *parser, stmts []ast.Stmt, err error) {
	p = &parser{lexer: lexer{file: name, src: source}}
	p.order = strings.Contains(source, "__lt") || strings.Contains(source, "__le")
	p.equal = strings.Contains(source, "__eq")
	defer func() {
		if r := recover(); r != nil {
			e, ok := r.(*Error)
			if !ok {
				panic(r)
			}
			err = e
		}
	}()
	return p, p.chunk(), nil
}

// generate runs gopher-lua's compiler, which panics where it meets its own limits.
func generate(stmts []ast.Stmt, name string) (proto *lua.FunctionProto, err error) {
	defer func() {
		if r := recover(); r != nil {
			proto, err = nil, &Error{name, 1, fmt.Sprintf("function or expression is too complex (%v)", r)}
		}
	}()
	proto, err = lua.Compile(stmts, name)
	if e, ok := err.(*lua.CompileError); ok {
		line := e.Line
		if line >= markLine {
			line = 1
		}
		msg := e.Message
		if strings.Contains(msg, "too many local variables") || strings.Contains(msg, "register overflow") {
			msg = tooManyRegisters
		}
		return nil, &Error{name, max(line, 1), msg}
	}
	return proto, err
}

// finish checks sizes, completes jumps, and drops what the compiler's slices
// hold beyond their length.
func (p *parser) finish(f *lua.FunctionProto, name string) error {
	if len(f.Code) > maxCode {
		return &Error{name, max(f.LineDefined, 1), "function is too long"}
	}
	p.patch(f)
	f.Code = slices.Clone(f.Code)
	f.DbgSourcePositions = slices.Clone(f.DbgSourcePositions)
	f.Constants = slices.Clone(f.Constants)
	f.DbgLocals = slices.Clone(f.DbgLocals)
	f.DbgCalls = slices.Clone(f.DbgCalls)
	f.DbgUpvalues = slices.Clone(f.DbgUpvalues)
	f.FunctionPrototypes = slices.Clone(f.FunctionPrototypes)
	for _, g := range f.FunctionPrototypes {
		if err := p.finish(g, name); err != nil {
			return err
		}
	}
	return nil
}
