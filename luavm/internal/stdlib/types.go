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
		"__concat": function("concat", metaConcat),
		"__lt":     function("lt", func(a args) int { return a.push(lua.LBool(less(a, a.get(1), a.get(2)))) }),
		"__le":     function("le", func(a args) int { return a.push(lua.LBool(lessEqual(a, a.get(1), a.get(2)))) }),
	}
	for _, op := range []number.Op{number.Add, number.Sub, number.Mul, number.Div, number.Mod, number.Pow, number.Unm} {
		shared[op.Event()] = function(op.Event()[2:], func(a args) int {
			return a.push(a.arith(op, a.get(1), a.get(a.top())))
		})
	}
	refused := map[string]*lua.LFunction{
		"__index":    function("index", metaIndex),
		"__newindex": function("newindex", metaIndex),
		"__call":     function("call", metaCall),
		"__len":      function("len", metaLen),
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
	n, ok1 := number.Coerce(x)
	m, ok2 := number.Coerce(y)
	if ok1 && ok2 {
		v, err := number.Arith(op, n, m)
		if err == nil {
			return v
		}
		if err != number.ErrNoInteger || isNumber(x) && isNumber(y) {
			a.errorf("%s", err.Error())
		}
	}
	f := objectMeta(a.L, x, op.Event())
	if f == lua.LNil {
		f = objectMeta(a.L, y, op.Event())
	}
	if f == lua.LNil {
		a.arithError(op, x, y)
	}
	return a.call(f, x, y)
}

func (a args) arithError(op number.Op, x, y lua.LValue) {
	what := "perform arithmetic on"
	if op.Bitwise() {
		what = "perform bitwise operation on"
	} else if x.Type() == lua.LTString || y.Type() == lua.LTString {
		a.errorf("attempt to %s a '%s' with a '%s'", op.Event()[2:], number.TypeName(x), number.TypeName(y))
	}
	if isNumber(x) {
		x = y
	}
	a.operandError(what, x)
}

// operandError raises that an operation cannot be done on v.
func (a args) operandError(what string, v lua.LValue) {
	a.errorf("attempt to %s a %s value%s", what, typeName(a.L, v), variableOf(a.L, v))
}

func metaConcat(a args) int {
	return a.push(a.concat(a.get(1), a.get(2)))
}

// concat is x .. y.
func (a args) concat(x, y lua.LValue) lua.LValue {
	s, ok1 := number.ToString(x)
	t, ok2 := number.ToString(y)
	if ok1 && ok2 {
		a.m.Charge(a.L, int64(len(s)+len(t))+stringCost)
		a.m.Burn(a.L, int64(len(s)+len(t))>>6)
		return lua.LString(s + t)
	}
	f := objectMeta(a.L, x, "__concat")
	if f == lua.LNil {
		f = objectMeta(a.L, y, "__concat")
	}
	if f == lua.LNil {
		if ok1 {
			x = y
		}
		a.operandError("concatenate", x)
	}
	return a.call(f, x, y)
}

func metaIndex(a args) int {
	a.operandError("index", a.get(1))
	return 0
}

func metaCall(a args) int {
	a.operandError("call", a.get(1))
	return 0
}

func metaLen(a args) int {
	a.operandError("get length of", a.get(1))
	return 0
}
