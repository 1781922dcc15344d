package stdlib

import (
	lua "github.com/yuin/gopher-lua"

	"clm/luavm/internal/number"
)

const (
	maxUTF    = 0x7FFFFFFF // of the original encoding, up to six bytes
	maxRune   = 0x10FFFF
	surrogate = 0xD800
)

func utf8Table() *lua.LTable {
	t := library("utf8.", []entry{
		{"char", utf8Char},
		{"codepoint", utf8Codepoint},
		{"codes", utf8Codes},
		{"len", utf8Len},
		{"offset", utf8Offset},
	})
	t.RawSetString("charpattern", lua.LString("[\x00-\x7F\xC2-\xFD][\x80-\xBF]*"))
	return t
}

func continuation(s string, i int64) bool {
	return i >= 0 && i < int64(len(s)) && s[i]&0xC0 == 0x80
}

// decodeUTF8 decodes the sequence at the start of s and returns its size, 0 if
// it is invalid. Unless lax, surrogates and values above 10FFFF are invalid.
func decodeUTF8(s string, lax bool) (code uint32, size int) {
	limits := [...]uint32{1<<32 - 1, 0x80, 0x800, 0x10000, 0x200000, 0x4000000}
	c := uint32(s[0])
	if c < 0x80 {
		return c, 1
	}
	n := 0
	for ; c&0x40 != 0; c <<= 1 {
		n++
		if n >= len(s) || s[n]&0xC0 != 0x80 {
			return 0, 0
		}
		code = code<<6 | uint32(s[n]&0x3F)
	}
	code |= (c & 0x7F) << (n * 5)
	if n > 5 || n == 0 || code > maxUTF || code < limits[n] {
		return 0, 0
	}
	if !lax && (code > maxRune || code >= surrogate && code <= 0xDFFF) {
		return 0, 0
	}
	return code, n + 1
}

// encodeUTF8 appends the encoding of code, up to maxUTF.
func encodeUTF8(b []byte, code uint32) []byte {
	if code < 0x80 {
		return append(b, byte(code))
	}
	var tail [6]byte
	i, first := len(tail), uint32(0x3f) // what fits into the first byte
	for ; code > first; first >>= 1 {
		i--
		tail[i] = byte(0x80 | code&0x3f)
		code >>= 6
	}
	i--
	tail[i] = byte(^first<<1 | code)
	return append(b, tail[i:]...)
}

func utf8Char(L *lua.LState) int {
	a := argsOf(L)
	out := buffer{a: a}
	for i := 1; i <= a.top(); i++ {
		c := a.int(i)
		if uint64(c) > maxUTF {
			a.argError(i, "value out of range")
		}
		var raw [8]byte
		out.add(string(encodeUTF8(raw[:0], uint32(c))))
	}
	return a.push(out.value())
}

func utf8Codepoint(L *lua.LState) int {
	a := argsOf(L)
	s := a.str(1)
	i := relative(a.optInt(2, 1), len(s))
	j := relative(a.optInt(3, i), len(s))
	if i < 1 {
		a.argError(2, "out of bounds")
	}
	if j > int64(len(s)) {
		a.argError(3, "out of bounds")
	}
	lax := lua.LVAsBool(a.get(4))
	if i > j {
		return 0
	}
	// at most as many results as bytes; what is too much is taken off again
	at := a.results(j - i + 1)
	if at < 0 {
		a.errorf("string slice too long")
	}
	n := 0
	for i--; i < j; n++ {
		code, size := decodeUTF8(s[i:], lax)
		if size == 0 {
			a.errorf("invalid UTF-8 code")
		}
		a.L.Replace(at+n, lua.LNumber(code))
		i += int64(size)
	}
	a.L.SetTop(at + n - 1)
	return n
}

func utf8Len(L *lua.LState) int {
	a := argsOf(L)
	s := a.str(1)
	i := relative(a.optInt(2, 1), len(s))
	j := relative(a.optInt(3, -1), len(s))
	if i < 1 || i-1 > int64(len(s)) {
		a.argError(2, "initial position out of bounds")
	}
	if j-1 >= int64(len(s)) {
		a.argError(3, "final position out of bounds")
	}
	lax := lua.LVAsBool(a.get(4))
	n := 0
	for i--; i < j; n++ {
		if n&0xff == 0 {
			a.m().Burn(a.L, 128)
		}
		_, size := decodeUTF8(s[i:], lax)
		if size == 0 {
			a.L.Push(lua.LNil)
			a.L.Push(lua.LNumber(i + 1))
			return 2
		}
		i += int64(size)
	}
	return a.push(lua.LNumber(n))
}

func utf8Offset(L *lua.LState) int {
	a := argsOf(L)
	s, n := a.str(1), a.int(2)
	def := int64(1)
	if n < 0 {
		def = int64(len(s)) + 1
	}
	i := relative(a.optInt(3, def), len(s)) - 1
	if i < 0 || i > int64(len(s)) {
		a.argError(3, "position out of bounds")
	}
	a.burn(int64(len(s)) >> 3)
	if n == 0 {
		for i > 0 && continuation(s, i) {
			i--
		}
		return a.push(number.FromInt(i + 1))
	}
	if continuation(s, i) {
		a.errorf("initial position is a continuation byte")
	}
	if i, ok := moveOffset(s, i, n); ok {
		return a.push(number.FromInt(i + 1))
	}
	return a.push(lua.LNil)
}

// moveOffset moves i to the start of the n-th character from there.
func moveOffset(s string, i, n int64) (int64, bool) {
	if n < 0 {
		for ; n < 0 && i > 0; n++ {
			for i--; i > 0 && continuation(s, i); i-- {
			}
		}
		return i, n == 0
	}
	for n--; n > 0 && i < int64(len(s)); n-- {
		for i++; continuation(s, i); i++ {
		}
	}
	return i, n == 0
}

func utf8Codes(L *lua.LState) int {
	a := argsOf(L)
	s := a.str(1)
	step := utf8Strict
	if lua.LVAsBool(a.get(2)) {
		step = utf8Lax
	}
	a.L.Push(step)
	a.L.Push(lua.LString(s))
	a.L.Push(lua.LNumber(0))
	return 3
}

var (
	utf8Strict = function("utf8.codes", func(L *lua.LState) int {
		a := argsOf(L)
		return utf8Step(a, false)
	})
	utf8Lax = function("utf8.codes", func(L *lua.LState) int {
		a := argsOf(L)
		return utf8Step(a, true)
	})
)

func utf8Step(a args, lax bool) int {
	s, i := a.str(1), a.int(2)
	if uint64(i) < uint64(len(s)) { // skip what is left of the current character
		for continuation(s, i) {
			i++
		}
	}
	if uint64(i) >= uint64(len(s)) {
		return 0
	}
	code, size := decodeUTF8(s[i:], lax)
	if size == 0 {
		a.errorf("invalid UTF-8 code")
	}
	a.L.Push(lua.LNumber(i + 1))
	a.L.Push(lua.LNumber(code))
	return 2
}
