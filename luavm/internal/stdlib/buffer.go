package stdlib

import (
	"unsafe"

	lua "github.com/yuin/gopher-lua"

	"clm/luavm/internal/number"
)

// buffer builds a string. What it holds is charged before it grows, and pinned
// until value has made it a Lua string.
type buffer struct {
	a args
	b []byte
}

func (b *buffer) grow(n int) {
	if len(b.b)+n <= cap(b.b) {
		return
	}
	size := (len(b.b)+n)*3/2 + 32
	b.a.m().Charge(b.a.L, int64(size))
	b.a.m().Pin(int64(size - cap(b.b)))
	next := make([]byte, len(b.b), size)
	copy(next, b.b)
	b.b = next
}

func (b *buffer) add(s string) {
	b.grow(len(s))
	b.b = append(b.b, s...)
}

func (b *buffer) addByte(c byte) {
	b.grow(1)
	b.b = append(b.b, c)
}

// addValue adds the text of a number or string; it returns false for others.
func (b *buffer) addValue(v lua.LValue) bool {
	s, ok := number.ToString(v)
	if ok {
		b.add(s)
	}
	return ok
}

// value returns the string; the buffer must not be used any more.
func (b *buffer) value() lua.LValue {
	b.a.m().Pin(-int64(cap(b.b)))
	if len(b.b) <= 1 {
		return shortString(string(b.b))
	}
	if cap(b.b) > len(b.b)+len(b.b)/4+64 {
		return b.a.newString(unsafe.String(&b.b[0], len(b.b)))
	}
	return lua.LString(unsafe.String(&b.b[0], len(b.b)))
}
