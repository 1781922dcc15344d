package jsonlua

import (
	"sync"

	lua "github.com/yuin/gopher-lua"

	"clm/luavm/internal/layout"
)

type null struct{}

var sentinels = sync.OnceValues(func() (*lua.LUserData, *lua.LTable) {
	mark := &lua.LTable{Metatable: lua.LNil}
	mark.RawSetString("__metatable", lua.LString("json.array"))
	mark.RawSetString("__name", lua.LString("json.array"))
	return &lua.LUserData{Value: null{}, Metatable: lua.LNil}, mark
})

// Null is json.null, one value for all VMs.
func Null() *lua.LUserData {
	n, _ := sentinels()
	return n
}

// ArrayMark is the metatable of tables that are arrays even when empty, one for all VMs. Scripts cannot reach it.
func ArrayMark() *lua.LTable {
	_, mark := sentinels()
	return mark
}

// IsArray reports whether t is written as a JSON array: it is marked, or it is a sequence 1..n with n > 0.
func IsArray(t *lua.LTable) bool {
	n, sequence := sequenceLen(t)
	return sequence && (n > 0 || t.Metatable == lua.LValue(ArrayMark()))
}

// sequenceLen is the n of a table whose keys are exactly 1..n.
func sequenceLen(t *lua.LTable) (n int, ok bool) {
	if len(layout.Strings(t)) > 0 || len(layout.Dict(t)) > 0 {
		return 0, false
	}
	arr := layout.Array(t)
	n = len(arr)
	for n > 0 && isNil(arr[n-1]) {
		n--
	}
	for _, v := range arr[:n] {
		if isNil(v) {
			return 0, false
		}
	}
	return n, true
}

func isNil(v lua.LValue) bool { return v == nil || v == lua.LNil }
