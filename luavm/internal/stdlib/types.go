package stdlib

import (
	lua "github.com/yuin/gopher-lua"

	"clm/luavm/internal/number"
)

// typeTables makes the metatables of the types that are neither table nor
// userdata. gopher-lua asks them wherever an operand is not what its
// instruction expects: for boxed integers and strings they do the operation, for
// everything else they raise Lua's error.
func typeTables() map[lua.LValueType]*lua.LTable {
	shared := map[string]*lua.LFunction{
		"__concat": operation("concat", metaConcat),
		"__lt": operation("lt", func(L *lua.LState) int {
			a := argsOf(L)
			return a.push(lua.LBool(less(a, a.get(1), a.get(2))))
		}),
		"__le": operation("le", func(L *lua.LState) int {
			a := argsOf(L)
			return a.push(lua.LBool(lessEqual(a, a.get(1), a.get(2))))
		}),
	}
	for _, op := range []number.Op{number.Add, number.Sub, number.Mul, number.Div, number.Mod, number.Pow, number.Unm} {
		shared[op.Event()] = operation(op.Event()[2:], func(L *lua.LState) int {
			a := argsOf(L)
			return a.push(a.arith(op, a.get(1), a.get(a.top())))
		})
	}
	refused := map[string]*lua.LFunction{
		"__index":    operation("index", metaIndex),
		"__newindex": operation("newindex", metaIndex),
		"__call":     operation("call", metaCall),
		"__len":      operation("len", metaLen),
	}
	tables := map[lua.LValueType]*lua.LTable{}
	for _, t := range []lua.LValueType{lua.LTNil, lua.LTBool, lua.LTNumber, lua.LTString, lua.LTFunction, number.Int(0).Type()} {
		mt := newTable(0, len(shared)+len(refused))
		for event, f := range shared {
			mt.RawSetString(event, f)
		}
		for event, f := range refused {
			if t != lua.LTString || event != "__index" && event != "__len" {
				mt.RawSetString(event, f)
			}
		}
		tables[t] = mt
	}
	return tables
}

// arith applies an operator to any two values: to numbers, to strings that spell
// numbers, or by the metamethod of one of them.
func (a args) arith(op number.Op, x, y lua.LValue) lua.LValue {
	n, ok1 := coerce(op, x)
	m, ok2 := coerce(op, y)
	if ok1 && ok2 {
		v, err := number.Arith(op, n, m)
		if err == number.ErrNoInteger {
			a.integerError(n, m)
		}
		if err != nil {
			a.runError("%s", err.Error())
		}
		return v
	}
	f := binaryMeta(a.L, op.Event(), x, y)
	if isNil(f) {
		a.arithError(op, x, y)
	}
	return a.call(f, x, y)
}

// coerce converts strings for arithmetic, but not for bit operators.
func coerce(op number.Op, v lua.LValue) (lua.LValue, bool) {
	if op.Bitwise() {
		return v, isNumber(v)
	}
	return number.Coerce(v)
}

func (a args) arithError(op number.Op, x, y lua.LValue) {
	what := "perform arithmetic on"
	if op.Bitwise() {
		what = "perform bitwise operation on"
	} else if x.Type() == lua.LTString || y.Type() == lua.LTString {
		a.runError("attempt to %s a '%s' with a '%s'", op.Event()[2:], number.TypeName(x), number.TypeName(y))
	}
	if isNumber(x) {
		a.operandError(what, y, 2)
	}
	a.operandError(what, x, 1)
}

// integerError raises that one of two numbers is no integer.
func (a args) integerError(x, y lua.LValue) {
	n := 2
	if _, ok := number.ToInt(x); !ok {
		n = 1
	}
	a.runError("number%s has no integer representation", variableOf(a.L, n))
}

// operandError raises that an operation cannot be done on its operand n.
func (a args) operandError(what string, v lua.LValue, n int) {
	variable := variableOf(a.L, n)
	if isNil(v) {
		variable = explained(variable)
	}
	a.runError("attempt to %s a %s value%s", what, typeName(a.L, v), variable)
}

func metaConcat(L *lua.LState) int {
	a := argsOf(L)
	return a.push(a.concat(a.get(1), a.get(2), unknown))
}

// unknown is the number of an operand that is not known.
const unknown = -1

// concat is x .. y; x is operand n of the instruction.
func (a args) concat(x, y lua.LValue, n int) lua.LValue {
	s, ok1 := number.ToString(x)
	t, ok2 := number.ToString(y)
	if ok1 && ok2 {
		a.m().Charge(a.L, int64(len(s)+len(t))+stringCost)
		a.burn(int64(len(s)+len(t)) >> 6)
		return lua.LString(s + t)
	}
	f := binaryMeta(a.L, "__concat", x, y)
	if isNil(f) {
		if ok1 {
			x = y
			if n != unknown {
				n++
			}
		}
		a.operandError("concatenate", x, n)
	}
	return a.call(f, x, y)
}

func metaIndex(L *lua.LState) int {
	a := argsOf(L)
	a.operandError("index", a.get(1), 1)
	return 0
}

func metaCall(L *lua.LState) int {
	a := argsOf(L)
	a.operandError("call", a.get(1), 0)
	return 0
}

func metaLen(L *lua.LState) int {
	a := argsOf(L)
	a.operandError("get length of", a.get(1), 1)
	return 0
}
