package layout

import (
	"maps"
	"strings"
	"unsafe"

	lua "github.com/yuin/gopher-lua"
)

// Array is the array part of t: its length is what has been stored, holes included.
func Array(t *lua.LTable) []lua.LValue {
	return *(*[]lua.LValue)(unsafe.Add(unsafe.Pointer(t), off.tabArray))
}

// Dict is the part of t with keys that are neither strings nor array indexes.
func Dict(t *lua.LTable) map[lua.LValue]lua.LValue {
	return *at[map[lua.LValue]lua.LValue](unsafe.Pointer(t), off.tabDict)
}

// Strings is the part of t with string keys.
func Strings(t *lua.LTable) map[string]lua.LValue {
	return *at[map[string]lua.LValue](unsafe.Pointer(t), off.tabStr)
}

// Keys is the order of the keys of Dict and Strings, deleted ones included.
func Keys(t *lua.LTable) []lua.LValue { return *at[[]lua.LValue](unsafe.Pointer(t), off.tabKeys) }

// Index is the position of each key in Keys.
func Index(t *lua.LTable) map[lua.LValue]int {
	return *at[map[lua.LValue]int](unsafe.Pointer(t), off.tabIndex)
}

// PrepareStrings gives t an empty string part of the smallest size, where gopher-lua would make one for 32 keys
// (2 KB) at the first store.
func PrepareStrings(t *lua.LTable) {
	if p := at[map[string]lua.LValue](unsafe.Pointer(t), off.tabStr); *p == nil {
		*p = make(map[string]lua.LValue)
	}
}

// PrepareArray gives t an empty array part of n slots, where gopher-lua would make 32 at the first store.
func PrepareArray(t *lua.LTable, n int) {
	if p := at[[]lua.LValue](unsafe.Pointer(t), off.tabArray); *p == nil {
		*p = make([]lua.LValue, 0, n)
	}
}

// Address identifies v's data: equal for two values that share it.
func Address(v lua.LValue) uintptr {
	return uintptr((*[2]unsafe.Pointer)(unsafe.Pointer(&v))[1])
}

// StringAddress identifies the bytes of s; 0 for "".
func StringAddress(s string) uintptr { return uintptr(unsafe.Pointer(unsafe.StringData(s))) }

// PointerAddress identifies what p points to.
func PointerAddress[T any](p *T) uintptr { return uintptr(unsafe.Pointer(p)) }

// NewString copies s. A short one takes one allocation, where Go makes two, of the bytes and of what an interface
// value points to; its size is that of the two.
func NewString(s string) lua.LValue {
	switch n := len(s); {
	case n <= 16:
		x := &struct {
			s string
			b [16]byte
		}{}
		x.s = unsafe.String(&x.b[0], copy(x.b[:], s))
		return stringAt(&x.s)
	case n <= 32:
		x := &struct {
			s string
			b [32]byte
		}{}
		x.s = unsafe.String(&x.b[0], copy(x.b[:], s))
		return stringAt(&x.s)
	}
	return lua.LString(strings.Clone(s))
}

// StringOf makes b, which nobody must change any more, a string without a copy.
func StringOf(b []byte) lua.LValue {
	return lua.LString(unsafe.String(unsafe.SliceData(b), len(b)))
}

// stringAt is the string at s as a value.
func stringAt(s *string) lua.LValue {
	v := lua.LValue(lua.LString(""))
	(*[2]unsafe.Pointer)(unsafe.Pointer(&v))[1] = unsafe.Pointer(s)
	return v
}

// NewArray is a table with the values 1..n, none of them nil.
func NewArray(values []lua.LValue) *lua.LTable {
	t := &lua.LTable{Metatable: lua.LNil}
	*at[[]lua.LValue](unsafe.Pointer(t), off.tabArray) = append(make([]lua.LValue, 0, len(values)), values...)
	return t
}

// NewRecord is a table of string keys and values, which alternate in fields; the last of equal keys wins. If like,
// another record, has the same keys in the same order, its order of keys is taken over: the slice is shared, as
// interpreters only append to it, which copies one without room.
func NewRecord(fields []lua.LValue, like *lua.LTable) *lua.LTable {
	n := len(fields) / 2
	t := &lua.LTable{Metatable: lua.LNil}
	strs := make(map[string]lua.LValue, n)
	for i := 0; i < len(fields); i += 2 {
		strs[string(fields[i].(lua.LString))] = fields[i+1]
	}
	*at[map[string]lua.LValue](unsafe.Pointer(t), off.tabStr) = strs
	keys, index := at[[]lua.LValue](unsafe.Pointer(t), off.tabKeys), at[map[lua.LValue]int](unsafe.Pointer(t), off.tabIndex)
	if like != nil && sameKeys(fields, Keys(like)) {
		*keys, *index = Keys(like), maps.Clone(Index(like))
		return t
	}
	*keys, *index = make([]lua.LValue, 0, n), make(map[lua.LValue]int, n)
	for i := 0; i < len(fields); i += 2 {
		if _, again := (*index)[fields[i]]; !again {
			(*index)[fields[i]] = len(*keys)
			*keys = append(*keys, fields[i])
		}
	}
	return t
}

// sameKeys reports whether the keys in fields are keys, which is full.
func sameKeys(fields, keys []lua.LValue) bool {
	if len(fields) != 2*len(keys) || len(keys) != cap(keys) {
		return false
	}
	for i, key := range keys {
		if fields[2*i] != key {
			return false
		}
	}
	return true
}

// CopyFields gives the empty table t the string keys of from, in order, with room for more.
func CopyFields(t, from *lua.LTable, more int) {
	src := Strings(from)
	n := len(src) + more
	strs, index := make(map[string]lua.LValue, n), make(map[lua.LValue]int, n)
	keys := make([]lua.LValue, 0, n)
	for _, key := range Keys(from) {
		if v, ok := src[string(key.(lua.LString))]; ok {
			strs[string(key.(lua.LString))] = v
			index[key] = len(keys)
			keys = append(keys, key)
		}
	}
	*at[map[string]lua.LValue](unsafe.Pointer(t), off.tabStr) = strs
	*at[map[lua.LValue]int](unsafe.Pointer(t), off.tabIndex) = index
	*at[[]lua.LValue](unsafe.Pointer(t), off.tabKeys) = keys
}
