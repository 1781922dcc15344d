package stdlib

import (
	lua "github.com/yuin/gopher-lua"
)

// variableOf returns where the Lua code that runs below the current Go function
// has v from, like " (local 'x')", as luaG_typeerror does; empty when the
// instruction does not show it.
func variableOf(L *lua.LState, v lua.LValue) string {
	f := currentFrame(L)
	if f == nil || f.Parent == nil || f.Parent.Fn == nil || f.Parent.Fn.IsG {
		return ""
	}
	caller := f.Parent
	pc := caller.Pc - 1
	if pc < 0 || pc >= len(caller.Fn.Proto.Code) {
		return ""
	}
	for _, r := range operands(caller.Fn.Proto.Code[pc]) {
		if kind, name := describe(L, caller, pc, r, v); kind != "" && isName(name) {
			return " (" + kind + " '" + quote(name) + "')"
		}
	}
	return ""
}

// constantBit marks an operand that is a constant.
const constantBit = 0x100

// operands lists what an instruction works on: registers, or constants with the
// bit set.
func operands(inst uint32) []int {
	switch opcode(inst) {
	case lua.OP_GETTABLE, lua.OP_GETTABLEKS, lua.OP_SELF, lua.OP_LEN, lua.OP_UNM:
		return []int{argB(inst)}
	case lua.OP_SETTABLE, lua.OP_SETTABLEKS, lua.OP_CALL, lua.OP_TAILCALL:
		return []int{argA(inst)}
	case lua.OP_ADD, lua.OP_SUB, lua.OP_MUL, lua.OP_DIV, lua.OP_MOD, lua.OP_POW, lua.OP_LT, lua.OP_LE:
		return []int{argC(inst), argB(inst)}
	case lua.OP_CONCAT:
		var r []int
		for i := argC(inst); i >= argB(inst); i-- {
			r = append(r, i)
		}
		return r
	}
	return nil
}

// describe returns what register r was loaded from, if v comes from there.
func describe(L *lua.LState, f *frame, pc, r int, v lua.LValue) (kind, name string) {
	proto := f.Fn.Proto
	if r&constantBit != 0 {
		if s, ok := proto.Constants[r&^constantBit].(lua.LString); ok && lua.LValue(s) == v {
			return "constant", string(s)
		}
		return "", ""
	}
	if name, ok := f.Fn.LocalName(r+1, pc); ok {
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
	case lua.OP_MOVE:
		if name, ok := f.Fn.LocalName(argB(load)+1, pc); ok {
			return "local", name
		}
	}
	return "", ""
}

func constantName(proto *lua.FunctionProto, i int) string {
	if i < len(proto.Constants) {
		if s, ok := proto.Constants[i].(lua.LString); ok {
			return string(s)
		}
	}
	return ""
}
