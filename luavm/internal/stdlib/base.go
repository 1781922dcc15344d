package stdlib

import (
	"fmt"

	lua "github.com/yuin/gopher-lua"

	"clm/luavm/internal/layout"
	"clm/luavm/internal/number"
)

func baseTable() *lua.LTable {
	t := library("", []entry{
		{"assert", baseAssert},
		{"error", baseError},
		{"getmetatable", baseGetMetatable},
		{"ipairs", baseIpairs},
		{"pairs", basePairs},
		{"pcall", basePcall},
		{"print", basePrint},
		{"rawequal", baseRawEqual},
		{"rawget", baseRawGet},
		{"rawlen", baseRawLen},
		{"rawset", baseRawSet},
		{"select", baseSelect},
		{"setmetatable", baseSetMetatable},
		{"tonumber", baseToNumber},
		{"tostring", baseToString},
		{"type", baseType},
		{"xpcall", baseXpcall},
	})
	t.RawSetString("next", nextFunction) // what pairs returns
	t.RawSetString("_VERSION", lua.LString("Lua 5.4"))
	return t
}

func baseAssert(L *lua.LState) int {
	a := argsOf(L)
	if lua.LVAsBool(a.any(1)) {
		return a.top()
	}
	if a.top() < 2 {
		a.errorf("assertion failed!")
	}
	return raiseValue(a, a.get(2), 1)
}

func baseError(L *lua.LState) int {
	a := argsOf(L)
	return raiseValue(a, a.get(1), a.optInt(2, 1))
}

// raiseValue raises v, a string with the position of a level of the stack.
func raiseValue(a args, v lua.LValue, level int64) int {
	if s, ok := v.(lua.LString); ok && level > 0 {
		where := Where(a.L, clampInt(level))
		a.m().Charge(a.L, int64(len(where)+len(s))+stringCost)
		v = lua.LString(where) + s
	}
	Raise(a.L, v)
	return 0
}

// metatable returns the metatable of v that scripts may see. The shared ones of
// nil, numbers and so on are not for them.
func metatable(L *lua.LState, v lua.LValue) lua.LValue {
	switch v.(type) {
	case *lua.LTable, *lua.LUserData, lua.LString:
		return L.GetMetatable(v)
	}
	return lua.LNil
}

func baseGetMetatable(L *lua.LState) int {
	a := argsOf(L)
	return a.push(metatable(a.L, a.any(1)))
}

func baseSetMetatable(L *lua.LState) int {
	a := argsOf(L)
	t, mt := a.table(1), a.get(2)
	if _, ok := mt.(*lua.LTable); !ok && (!isNil(mt) || a.top() < 2) {
		a.typeError(2, "nil or table")
	}
	if !isNil(a.L.GetMetaField(t, "__metatable")) {
		a.errorf("cannot change a protected metatable")
	}
	t.Metatable = mt
	return a.push(t)
}

func baseIpairs(L *lua.LState) int {
	a := argsOf(L)
	v := a.any(1)
	a.L.Push(ipairsStep)
	a.L.Push(v)
	a.L.Push(lua.LNumber(0))
	return 3
}

var ipairsStep = function("ipairs", func(L *lua.LState) int {
	a := argsOf(L)
	i := a.int(2) + 1
	v := index(a, a.get(1), i)
	if isNil(v) {
		return a.push(lua.LNil)
	}
	a.L.Push(number.FromInt(i))
	a.L.Push(v)
	return 2
})

var nextFunction = function("next", baseNext)

func baseNext(L *lua.LState) int {
	a := argsOf(L)
	t, key := a.table(1), a.get(2)
	array, at := layout.Array(t), 0
	n, isNumber := key.(lua.LNumber)
	switch {
	case isNil(key):
	case isNumber && n >= 1 && n <= lua.LNumber(len(array)) && n == lua.LNumber(int(n)):
		at = int(n)
	default:
		return nextHash(a, t, afterKey(a, t, key))
	}
	for ; at < len(array); at++ {
		if !isNil(array[at]) {
			a.L.Push(lua.LNumber(at + 1))
			a.L.Push(array[at])
			return 2
		}
		if at&0x3ff == 0x3ff {
			a.m().Burn(a.L, 256)
		}
	}
	return nextHash(a, t, 0)
}

// afterKey returns the place in layout.Keys where next goes on behind key.
func afterKey(a args, t *lua.LTable, key lua.LValue) int {
	if i, ok := layout.Index(t)[key]; ok {
		return i + 1
	}
	n, ok := key.(lua.LNumber)
	if !ok || n < 1 || n > lua.LNumber(cap(layout.Array(t))) || !number.IsInteger(n) {
		a.runError("invalid key to 'next'")
	}
	return 0 // table.remove has cut it off the array part
}

// nextHash returns the first key from place at on that still has a value.
func nextHash(a args, t *lua.LTable, at int) int {
	keys := layout.Keys(t)
	for ; at < len(keys); at++ {
		if v := t.RawGetH(keys[at]); !isNil(v) {
			a.L.Push(keys[at])
			a.L.Push(v)
			return 2
		}
		if at&0xff == 0xff {
			a.m().Burn(a.L, 1024)
		}
	}
	return a.push(lua.LNil)
}

func basePairs(L *lua.LState) int {
	a := argsOf(L)
	v := a.any(1)
	if f := a.L.GetMetaField(v, "__pairs"); !isNil(f) {
		a.L.Push(f)
		a.L.Push(v)
		a.L.Call(1, 3)
		return 3
	}
	a.L.Push(nextFunction)
	a.L.Push(v)
	a.L.Push(lua.LNil)
	return 3
}

func basePcall(L *lua.LState) int {
	a := argsOf(L)
	return a.protected(a.any(1), 2, lua.LNil)
}

func baseXpcall(L *lua.LState) int {
	a := argsOf(L)
	return a.protected(a.get(1), 3, a.function(2))
}

// protected calls f with the arguments from the first one on.
func (a args) protected(f lua.LValue, first int, handler lua.LValue) int {
	n := max(a.top()-first+1, 0)
	a.m().Burn(a.L, 20)
	a.m().Charge(a.L, int64(n)*32)
	v := make([]lua.LValue, n)
	for i := range v {
		v[i] = a.get(first + i)
	}
	results, err, ok := a.m().Protected(a.L, f, v, handler)
	if !ok {
		a.L.Push(lua.LFalse)
		a.L.Push(err)
		return 2
	}
	at := a.results(int64(len(results)) + 1)
	if at < 0 {
		a.errorf("stack overflow")
	}
	a.L.Replace(at, lua.LTrue)
	for i, r := range results {
		a.L.Replace(at+1+i, r)
	}
	return len(results) + 1
}

func basePrint(L *lua.LState) int {
	a := argsOf(L)
	b := buffer{a: a}
	for i := 1; i <= a.top(); i++ {
		if i > 1 {
			b.addByte('\t')
		}
		b.add(a.toString(a.get(i)))
	}
	s, _ := b.value().(lua.LString)
	a.m().Print(a.L, string(s))
	return 0
}

func baseRawEqual(L *lua.LState) int {
	a := argsOf(L)
	x, y := a.any(1), a.any(2)
	equal := a.L.RawEqual(x, y)
	if !equal && isNumber(x) && isNumber(y) {
		order, ok := number.Compare(x, y)
		equal = ok && order == 0
	}
	return a.push(lua.LBool(equal))
}

func baseRawGet(L *lua.LState) int {
	a := argsOf(L)
	return a.push(a.table(1).RawGet(a.any(2)))
}

func baseRawLen(L *lua.LState) int {
	a := argsOf(L)
	switch v := a.get(1).(type) {
	case *lua.LTable:
		return a.push(lua.LNumber(length(a, v)))
	case lua.LString:
		return a.push(lua.LNumber(len(v)))
	}
	a.typeError(1, "table or string")
	return 0
}

func baseRawSet(L *lua.LState) int {
	a := argsOf(L)
	t := a.table(1)
	setRaw(a, t, a.any(2), a.any(3))
	return a.push(t)
}

func baseSelect(L *lua.LState) int {
	a := argsOf(L)
	top := a.top()
	if s, ok := a.get(1).(lua.LString); ok && s == "#" {
		return a.push(lua.LNumber(top - 1))
	}
	n := a.int(1)
	switch {
	case n < 0:
		n += int64(top)
	case n > int64(top):
		n = int64(top)
	}
	if n < 1 {
		a.argError(1, "index out of range")
	}
	return top - int(n)
}

func baseToNumber(L *lua.LState) int {
	a := argsOf(L)
	v := a.any(1)
	if a.none(2) {
		if s, ok := v.(lua.LString); ok {
			a.burn(int64(len(s)) >> 4)
		}
		n, ok := number.Coerce(v)
		if !ok {
			n = lua.LNil
		}
		return a.push(n)
	}
	base := a.int(2)
	s, ok := v.(lua.LString)
	if !ok {
		a.typeError(1, "string")
	}
	if base < 2 || base > 36 {
		a.argError(2, "base out of range")
	}
	a.burn(int64(len(s)) >> 4)
	n, ok := number.ParseBase(string(s), int(base))
	if !ok {
		n = lua.LNil
	}
	return a.push(n)
}

func baseToString(L *lua.LState) int {
	a := argsOf(L)
	v := a.any(1)
	if v.Type() == lua.LTString {
		return a.push(v)
	}
	s := a.toString(v)
	a.m().Charge(a.L, int64(len(s))+stringCost)
	return a.push(lua.LString(s))
}

// toString is luaL_tolstring: the text of any value, by __tostring or __name if
// its metatable has them.
func (a args) toString(v lua.LValue) string {
	switch x := v.(type) {
	case lua.LString:
		return string(x)
	case lua.LNumber:
		return number.Format(x)
	case *lua.LTable, *lua.LUserData:
		return a.objectText(v)
	default:
		return v.String()
	}
}

func (a args) objectText(v lua.LValue) string {
	if f := a.L.GetMetaField(v, "__tostring"); !isNil(f) {
		s, ok := number.ToString(a.call(f, v))
		if !ok {
			a.errorf("'__tostring' must return a string")
		}
		return s
	}
	if name, ok := a.L.GetMetaField(v, "__name").(lua.LString); ok {
		return fmt.Sprintf("%s: %p", quote(string(name)), v)
	}
	return v.String()
}

func baseType(L *lua.LState) int {
	a := argsOf(L)
	return a.push(typeNames[number.TypeName(a.any(1))])
}

// typeNames are the results of type, made once.
var typeNames = func() map[string]lua.LValue {
	m := map[string]lua.LValue{}
	for _, t := range []lua.LValueType{lua.LTNil, lua.LTBool, lua.LTNumber, lua.LTString, lua.LTFunction, lua.LTUserData, lua.LTThread, lua.LTTable} {
		m[t.String()] = lua.LString(t.String())
	}
	return m
}()
