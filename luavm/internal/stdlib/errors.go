package stdlib

import (
	"fmt"
	"slices"
	"strconv"

	lua "github.com/yuin/gopher-lua"

	"clm/luavm/internal/layout"
	"clm/luavm/internal/number"
	"clm/luavm/internal/syntax"
)

// maxQuote bounds a name or value that an error message quotes, in bytes.
const maxQuote = 60

// Where returns "source:line: " of the function at a level of the stack, as
// luaL_where: 0 is the running function, 1 the one that called it. It is empty
// for a Go function and beyond the stack.
func Where(L *lua.LState, level int) string {
	f := layout.CurrentFrame(L)
	for ; f != nil && level > 0; level-- {
		if f.Parent == nil {
			f, L = below(L)
		} else {
			f = f.Parent
		}
	}
	if f == nil || f.Fn == nil || f.Fn.IsG || f.Pc < 1 || f.Pc > len(f.Fn.Proto.DbgSourcePositions) {
		return ""
	}
	return f.Fn.Proto.SourceName + ":" + strconv.Itoa(f.Fn.Proto.DbgSourcePositions[f.Pc-1]) + ": "
}

// below returns the frame under the bottom of L, a protected call's thread, and
// the thread that it is on. The rest of a block with a variable to close is the
// function that has the block.
func below(L *lua.LState) (*layout.Frame, *lua.LState) {
	for {
		c, ok := L.Context().(interface{ Below() *lua.LState })
		if !ok || c.Below() == nil {
			return nil, L
		}
		L = c.Below()
		f := layout.CurrentFrame(L)
		if f == nil || calledAs(f) != "\x00"+syntax.Close.String() {
			return f, L
		}
		if f.Parent.Parent != nil {
			return f.Parent.Parent, L
		}
	}
}

// calledAs is the name by which Lua code called the function of f, hidden ones
// included; empty if none did.
func calledAs(f *layout.Frame) string {
	if f.Parent == nil || f.Parent.Fn == nil || f.Parent.Fn.IsG {
		return ""
	}
	calls := f.Parent.Fn.Proto.DbgCalls // in the order of the code
	i, ok := slices.BinarySearchFunc(calls, f.Parent.Pc-1, func(c lua.DbgCall, pc int) int { return c.Pc - pc })
	if !ok {
		return ""
	}
	return calls[i].Name
}

// Raise raises v as it is; it does not return. L.Error and L.RaiseError are what
// the interpreter raises its own errors with, whose texts are reworded.
func Raise(_ *lua.LState, v lua.LValue) {
	panic(&lua.ApiError{Type: lua.ApiErrorRun, Object: v})
}

func raise(L *lua.LState, text string) { Raise(L, lua.LString(text)) }

// errorf raises a text with the position of the caller, as luaL_error.
func errorf(L *lua.LState, format string, a ...any) {
	raise(L, Where(L, 1)+fmt.Sprintf(format, a...))
}

// runError raises what the interpreter itself raises: with the position of the
// code that has the operator, and without one inside a library function.
func (a args) runError(format string, v ...any) {
	if a.identity().op {
		errorf(a.L, format, v...)
	}
	raise(a.L, fmt.Sprintf(format, v...))
}

func quote(s string) string {
	if len(s) > maxQuote {
		return s[:maxQuote] + "..."
	}
	return s
}

// typeName is what an error message calls the type of v: its metatable's __name
// when that is a string.
func typeName(L *lua.LState, v lua.LValue) string {
	switch v.(type) {
	case *lua.LTable, *lua.LUserData:
		if s, ok := L.GetMetaField(v, "__name").(lua.LString); ok {
			return quote(string(s))
		}
	}
	return number.TypeName(v)
}

// argError raises "bad argument #n to 'name' (text)", as luaL_argerror: the name
// is the one that the call used, and a method's self does not count.
func (a args) argError(n int, text string) {
	L := a.L
	name, method := callName(layout.CurrentFrame(L))
	if method {
		n--
		if n == 0 {
			errorf(L, "calling '%s' on bad self (%s)", quote(name), text)
		}
	}
	switch name {
	case "":
		name = a.identity().name
	case unnamed:
		name = shortName(a.identity().name)
	}
	errorf(L, "bad argument #%d to '%s' (%s)", n, quote(name), text)
}

// typeError raises that argument n has the wrong type.
func (a args) typeError(n int, want string) {
	got := "no value"
	if n <= len(a.v) {
		got = typeName(a.L, a.v[n-1])
	}
	a.argError(n, want+" expected, got "+got)
}

func shortName(qualified string) string {
	for i := len(qualified) - 1; i >= 0; i-- {
		if qualified[i] == '.' {
			return qualified[i+1:]
		}
	}
	return qualified
}

// isName tells whether a name of gopher-lua's call table was in the source; the
// compiler's hidden locals and its "?" were not.
func isName(s string) bool {
	for i := 0; i < len(s); i++ {
		if c := s[i]; !isAlpha(c) && c != '_' && !isDigit(c) {
			return false
		}
	}
	return s != ""
}

// An instruction is op (6 bits), A (8), C (9), B (9), from the top; Bx is C and B.
func opcode(inst uint32) int { return int(inst >> 26) }
func argA(inst uint32) int   { return int(inst>>18) & 0xff }
func argB(inst uint32) int   { return int(inst & 0x1ff) }
func argC(inst uint32) int   { return int(inst>>9) & 0x1ff }
func argBx(inst uint32) int  { return int(inst & 0x3ffff) }

// unnamed is the name of a call that has none in the source.
const unnamed = "?"

// callName returns the name by which the function of f was called, and whether
// as a method. It is empty when no Lua code called it.
func callName(f *layout.Frame) (name string, method bool) {
	if f == nil || f.Parent == nil || f.Parent.Fn == nil || f.Parent.Fn.IsG {
		return "", false
	}
	proto, pc := f.Parent.Fn.Proto, f.Parent.Pc-1
	if pc < 0 || pc >= len(proto.Code) {
		return "", false
	}
	inst := proto.Code[pc]
	switch opcode(inst) {
	case lua.OP_CALL, lua.OP_TAILCALL:
	case lua.OP_TFORLOOP:
		return "for iterator", false
	default:
		return unnamed, false
	}
	for _, c := range proto.DbgCalls {
		if c.Pc == pc {
			name = c.Name
			break
		}
	}
	if !isName(name) {
		return unnamed, false
	}
	load, ok := loaderOf(proto, pc, argA(inst))
	return name, ok && opcode(load) == lua.OP_SELF
}

// loaderOf returns the last instruction before pc that put a value into
// register r, in straight-line code.
func loaderOf(proto *lua.FunctionProto, pc, r int) (uint32, bool) {
	for pc--; pc >= 0; pc-- {
		inst := proto.Code[pc]
		if argA(inst) != r {
			continue
		}
		switch opcode(inst) {
		case lua.OP_MOVE, lua.OP_MOVEN, lua.OP_LOADK, lua.OP_GETUPVAL, lua.OP_GETGLOBAL, lua.OP_GETTABLE, lua.OP_GETTABLEKS,
			lua.OP_SELF, lua.OP_CALL, lua.OP_CLOSURE, lua.OP_TESTSET, lua.OP_NEWTABLE, lua.OP_LOADNIL, lua.OP_LOADBOOL:
			return inst, true
		}
	}
	return 0, false
}
