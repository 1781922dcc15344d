package luavm

import (
	"reflect"

	lua "github.com/yuin/gopher-lua"

	"clm/luavm/internal/number"
)

// goToLua converts configuration. Kinds that Lua has no counterpart for become nil.
func goToLua(x any) lua.LValue {
	switch x := x.(type) {
	case nil:
		return lua.LNil
	case string:
		return lua.LString(x)
	case bool:
		return lua.LBool(x)
	case map[string]any:
		t := &lua.LTable{Metatable: lua.LNil}
		for _, k := range sortedKeys(x) {
			if v := goToLua(x[k]); v != lua.LNil {
				t.RawSetString(k, v)
			}
		}
		return t
	case []any:
		t := &lua.LTable{Metatable: lua.LNil}
		for i, e := range x {
			t.RawSetInt(i+1, goToLua(e))
		}
		return t
	}
	switch v := reflect.ValueOf(x); {
	case v.CanInt():
		return number.FromInt(v.Int())
	case v.CanUint():
		if u := v.Uint(); u <= 1<<63-1 {
			return number.FromInt(int64(u))
		}
		return lua.LNumber(v.Uint())
	case v.CanFloat():
		return lua.LNumber(v.Float())
	case v.Kind() == reflect.String:
		return lua.LString(v.String())
	}
	return lua.LNil
}
