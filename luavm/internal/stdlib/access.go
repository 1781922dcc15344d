package stdlib

import (
	"math"
	"strings"

	lua "github.com/yuin/gopher-lua"

	"clm/luavm/internal/layout"
	"clm/luavm/internal/number"
)

// maxChain bounds a chain of __index or __newindex tables, as gopher-lua does.
const maxChain = 100

// rawIndex returns t[i] without metamethods.
func rawIndex(t *lua.LTable, i int64) lua.LValue {
	array := layout.Array(t)
	if i >= 1 && i <= int64(len(array)) {
		return array[i-1]
	}
	if i >= 1 && i < int64(lua.MaxArrayIndex) {
		return lua.LNil // gopher-lua keeps these in the array part only
	}
	return t.RawGetH(number.FromInt(i))
}

// index returns v[i] with metamethods.
func index(a args, v lua.LValue, i int64) lua.LValue {
	if t, ok := v.(*lua.LTable); ok {
		if x := rawIndex(t, i); !isNil(x) || isNil(t.Metatable) {
			return x
		}
	}
	return a.L.GetTable(v, number.FromInt(i))
}

// setRaw does t[key] = v without metamethods.
func setRaw(a args, t *lua.LTable, key, v lua.LValue) {
	if isNil(key) {
		a.runError("table index is nil")
	}
	if n, ok := key.(lua.LNumber); ok && math.IsNaN(float64(n)) {
		a.runError("table index is NaN")
	}
	if !isNil(v) {
		a.m().Store(a.L, t, key)
	} else if isNil(t.RawGet(key)) {
		return // gopher-lua would fill the array up to key
	}
	t.RawSet(key, v)
}

// setIndex does obj[i] = v with metamethods.
func setIndex(a args, obj lua.LValue, i int64, v lua.LValue) {
	key := number.FromInt(i)
	for range maxChain {
		t, isTable := obj.(*lua.LTable)
		if isTable && (isNil(t.Metatable) || !isNil(t.RawGet(key))) {
			setRaw(a, t, key, v)
			return
		}
		handler := a.L.GetMetaField(obj, "__newindex")
		switch {
		case isNil(handler) && isTable:
			setRaw(a, t, key, v)
			return
		case isNil(handler):
			a.runError("attempt to index a %s value", typeName(a.L, obj))
		case handler.Type() == lua.LTFunction:
			a.L.Push(handler)
			a.L.Push(obj)
			a.L.Push(key)
			a.L.Push(v)
			a.L.Call(3, 0)
			return
		}
		obj = handler
	}
	a.runError("'__newindex' chain too long; possible loop")
}

// length is #t without metamethods. gopher-lua's border is the last element of
// the array part that is not nil.
func length(a args, t *lua.LTable) int64 {
	array := layout.Array(t)
	n := len(array)
	for n > 0 && isNil(array[n-1]) {
		n--
		if n&0xfff == 0 {
			a.m().Burn(a.L, 2048)
		}
	}
	return int64(n)
}

// lengthOf is #v with metamethods, as luaL_len.
func lengthOf(a args, v lua.LValue) int64 {
	if t, ok := v.(*lua.LTable); ok && isNil(t.Metatable) {
		return length(a, t)
	}
	if f := a.L.GetMetaField(v, "__len"); !isNil(f) {
		n, ok := number.ToInt(a.call(f, v))
		if !ok {
			a.errorf("object length is not an integer")
		}
		return n
	}
	switch x := v.(type) {
	case *lua.LTable:
		return length(a, x)
	case lua.LString:
		return int64(len(x))
	}
	a.runError("attempt to get length of a %s value", typeName(a.L, v))
	return 0
}

// isNumber tells whether v is a number, boxed or not.
func isNumber(v lua.LValue) bool {
	_, ok := number.ToFloat(v)
	return ok
}

// less is x < y with metamethods, also between boxed and other numbers.
func less(a args, x, y lua.LValue) bool {
	if f, ok := x.(lua.LNumber); ok {
		if g, ok := y.(lua.LNumber); ok {
			return f < g
		}
	}
	if s, ok := x.(lua.LString); ok {
		if t, ok := y.(lua.LString); ok {
			return compareStrings(a, string(s), string(t)) < 0
		}
	}
	if isNumber(x) && isNumber(y) {
		order, ok := number.Compare(x, y)
		return ok && order < 0
	}
	f := binaryMeta(a.L, "__lt", x, y)
	if isNil(f) {
		compareError(a, x, y)
	}
	return lua.LVAsBool(a.call(f, x, y))
}

func lessEqual(a args, x, y lua.LValue) bool {
	if s, ok := x.(lua.LString); ok {
		if t, ok := y.(lua.LString); ok {
			return compareStrings(a, string(s), string(t)) <= 0
		}
	}
	if isNumber(x) && isNumber(y) {
		order, ok := number.Compare(x, y)
		return ok && order <= 0
	}
	f := binaryMeta(a.L, "__le", x, y)
	if !isNil(f) {
		return lua.LVAsBool(a.call(f, x, y))
	}
	f = binaryMeta(a.L, "__lt", y, x) // as builds with the usual compatibility do
	if isNil(f) {
		compareError(a, x, y)
	}
	return !lua.LVAsBool(a.call(f, y, x))
}

func compareStrings(a args, s, t string) int {
	a.burn(int64(min(len(s), len(t))) >> 8)
	return strings.Compare(s, t)
}

// objectMeta returns the metamethod of a table or userdata, else nil: the types
// that have one of ours call here themselves.
func objectMeta(L *lua.LState, v lua.LValue, event string) lua.LValue {
	switch v.(type) {
	case *lua.LTable, *lua.LUserData:
		return L.GetMetaField(v, event)
	}
	return lua.LNil
}

// binaryMeta returns the metamethod of x, else of y.
func binaryMeta(L *lua.LState, event string, x, y lua.LValue) lua.LValue {
	if f := objectMeta(L, x, event); !isNil(f) {
		return f
	}
	return objectMeta(L, y, event)
}

func compareError(a args, x, y lua.LValue) {
	t, u := typeName(a.L, x), typeName(a.L, y)
	if t == u {
		a.runError("attempt to compare two %s values", t)
	}
	a.runError("attempt to compare %s with %s", t, u)
}
