package stdlib

import (
	"strings"

	lua "github.com/yuin/gopher-lua"

	"clm/luavm/internal/number"
)

// buffer builds a string. What it holds is charged before it grows, and pinned
// until value has made it a Lua string.
type buffer struct {
	a args
	b strings.Builder
}

// grow makes room for n more bytes.
func (b *buffer) grow(n int) {
	had := b.b.Cap()
	if b.b.Len()+n <= had {
		return
	}
	b.a.m().Charge(b.a.L, int64(2*had+n))
	b.b.Grow(n)
	b.a.m().Pin(int64(b.b.Cap() - had))
}

func (b *buffer) add(s string) {
	b.grow(len(s))
	b.b.WriteString(s)
}

func (b *buffer) addByte(c byte) {
	b.grow(1)
	b.b.WriteByte(c)
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
	size, n := b.b.Cap(), b.b.Len()
	b.a.m().Pin(-int64(size))
	if n <= 1 || size > n+n/4+64 {
		return b.a.newString(b.b.String()) // a copy wastes less
	}
	return lua.LString(b.b.String())
}
