package stdlib

import (
	"strings"

	lua "github.com/yuin/gopher-lua"

	"clm/luavm/internal/layout"
)

// variableOf returns where the Lua code that runs below the current Go function
// has operand n of its instruction from, like " (local 'x')", as
// luaG_typeerror does; empty when the instruction does not show it. 0 stands for
// the function of a call.
func variableOf(L *lua.LState, n int) string {
	f := layout.CurrentFrame(L)
	if n == unknown || f == nil || f.Parent == nil || f.Parent.Fn == nil || f.Parent.Fn.IsG {
		return ""
	}
	caller := f.Parent
	pc := caller.Pc - 1
	if pc < 0 || pc >= len(caller.Fn.Proto.Code) {
		return ""
	}
	r, ok := operand(caller.Fn.Proto.Code[pc], n)
	if !ok {
		return ""
	}
	if kind, name := describe(caller, pc, r); kind != "" && (kind == "constant" || isName(name)) {
		return " (" + kind + " '" + quote(name) + "')"
	}
	return ""
}

// absent are the globals of Lua, this version's and earlier ones', that scripts do
// without, with what is there in their place.
var absent = map[string]string{
	"os": "", "io": "plugins use clm.read_file and clm.write_file", "coroutine": "plugins use clm.spawn", "debug": "",
	"package": "", "require": "a plugin is one file", "load": "", "loadstring": "", "loadfile": "", "dofile": "",
	"collectgarbage": "", "unpack": "it is table.unpack", "setfenv": "", "getfenv": "", "newproxy": "", "module": "",
}

// explained adds to what variableOf gave that a global is none on purpose.
func explained(variable string) string {
	name, isGlobal := strings.CutPrefix(strings.TrimSuffix(variable, "')"), " (global '")
	instead, isAbsent := absent[name]
	switch {
	case !isGlobal || !isAbsent:
		return variable
	case instead == "":
		return " (global '" + name + "', which clm's Lua does not have)"
	}
	return " (global '" + name + "', which clm's Lua does not have: " + instead + ")"
}

// constantBit marks an operand that is a constant.
const constantBit = 0x100

// operand returns the register (or constant, with the bit set) of operand n.
func operand(inst uint32, n int) (r int, ok bool) {
	switch opcode(inst) {
	case lua.OP_GETTABLE, lua.OP_GETTABLEKS, lua.OP_SELF, lua.OP_LEN, lua.OP_UNM:
		return argB(inst), true
	case lua.OP_SETTABLE, lua.OP_SETTABLEKS:
		return argA(inst), true
	case lua.OP_CALL, lua.OP_TAILCALL: // of the value itself or of a helper
		return argA(inst) + n, true
	case lua.OP_ADD, lua.OP_SUB, lua.OP_MUL, lua.OP_DIV, lua.OP_MOD, lua.OP_POW:
		if n == 1 {
			return argB(inst), true
		}
		return argC(inst), true
	}
	return 0, false
}

// describe returns what register or constant r holds before the instruction at pc.
func describe(f *layout.Frame, pc, r int) (kind, name string) {
	proto := f.Fn.Proto
	if r&constantBit != 0 {
		return constant(proto, r&^constantBit)
	}
	if name, ok := localName(proto, r, pc); ok {
		return "local", name
	}
	load, ok := loaderOf(proto, pc, r)
	if !ok {
		return "", ""
	}
	switch opcode(load) {
	case lua.OP_GETGLOBAL:
		return "global", constantName(proto, argBx(load))
	case lua.OP_GETUPVAL:
		if i := argB(load); i < len(proto.DbgUpvalues) {
			return "upvalue", proto.DbgUpvalues[i]
		}
	case lua.OP_GETTABLEKS, lua.OP_GETTABLE:
		return "field", constantName(proto, argC(load)&^constantBit)
	case lua.OP_SELF:
		return "method", constantName(proto, argC(load)&^constantBit)
	case lua.OP_LOADK:
		return constant(proto, argBx(load))
	case lua.OP_MOVE, lua.OP_MOVEN:
		if name, ok := localName(proto, argB(load), pc); ok {
			return "local", name
		}
	}
	return "", ""
}

// localName returns the local variable in register r at the instruction pc. The
// method of lua.LFunction misses the last instruction of a block.
func localName(proto *lua.FunctionProto, r, pc int) (string, bool) {
	for _, l := range proto.DbgLocals {
		if l.StartPc > pc {
			break
		}
		if pc >= l.EndPc {
			continue
		}
		if r == 0 {
			return l.Name, true
		}
		r--
	}
	return "", false
}

func constant(proto *lua.FunctionProto, i int) (kind, name string) {
	if i >= len(proto.Constants) {
		return "", ""
	}
	s, ok := proto.Constants[i].(lua.LString)
	if !ok {
		return "", ""
	}
	text, _, _ := strings.Cut(string(s), "\x00") // as C prints it
	return "constant", text
}

func constantName(proto *lua.FunctionProto, i int) string {
	if i < len(proto.Constants) {
		if s, ok := proto.Constants[i].(lua.LString); ok {
			return string(s)
		}
	}
	return ""
}
