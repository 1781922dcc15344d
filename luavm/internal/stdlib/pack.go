package stdlib

import (
	"encoding/binary"
	"math"
	"strings"

	lua "github.com/yuin/gopher-lua"

	"clm/luavm/internal/number"
)

// Kinds of options of string.pack's format.
const (
	packInt = iota
	packUint
	packFloat
	packDouble
	packChars  // 'c': a string of fixed size
	packString // 's': a string behind its length
	packZero   // 'z': a string that ends with a zero
	packByte   // 'x': one byte of padding
	packAlign  // 'X': alignment for the option that follows
	packNone   // an option that only changes the state
)

const (
	maxIntSize   = 16 // of 'i' and 'I', as in Lua
	nativeAlign  = 8
	missingSize  = -1
	luaIntSize   = 8
	maxPackTotal = math.MaxInt32
)

// packState reads a format string.
type packState struct {
	a      args
	format string
	at     int
	little bool
	align  int64 // the largest alignment
}

func newPackState(a args) *packState {
	format, _, _ := strings.Cut(a.str(1), "\x00") // where it ends in C
	return &packState{a: a, format: format, little: true, align: 1}
}

func (p *packState) more() bool { return p.at < len(p.format) }

// number reads digits, or returns def when there are none.
func (p *packState) number(def int64) int64 {
	if !p.more() || !isDigit(p.format[p.at]) {
		return def
	}
	n := int64(0)
	for p.more() && isDigit(p.format[p.at]) && n <= (math.MaxInt32-9)/10 {
		n = n*10 + int64(p.format[p.at]-'0')
		p.at++
	}
	return n
}

func (p *packState) intSize(def int64) int64 {
	n := p.number(def)
	if n < 1 || n > maxIntSize {
		p.a.errorf("integral size (%d) out of limits [1,%d]", n, maxIntSize)
	}
	return n
}

// option reads one option and returns its kind and size in bytes.
func (p *packState) option() (kind int, size int64) {
	c := p.format[p.at]
	p.at++
	switch c {
	case 'b':
		return packInt, 1
	case 'B':
		return packUint, 1
	case 'h':
		return packInt, 2
	case 'H':
		return packUint, 2
	case 'i':
		return packInt, p.intSize(4)
	case 'I':
		return packUint, p.intSize(4)
	case 'l', 'j':
		return packInt, 8
	case 'L', 'J', 'T':
		return packUint, 8
	case 'f':
		return packFloat, 4
	case 'd', 'n':
		return packDouble, 8
	case 's':
		return packString, p.intSize(8)
	case 'c':
		n := p.number(missingSize)
		if n == missingSize {
			p.a.errorf("missing size for format option 'c'")
		}
		return packChars, n
	case 'z':
		return packZero, 0
	case 'x':
		return packByte, 1
	case 'X':
		return packAlign, 0
	}
	p.setting(c)
	return packNone, 0
}

func (p *packState) setting(c byte) {
	switch c {
	case ' ':
	case '<', '=':
		p.little = true
	case '>':
		p.little = false
	case '!':
		p.align = p.intSize(nativeAlign)
	default:
		p.a.errorf("invalid format option '%s'", string([]byte{c}))
	}
}

// next reads an option that starts at offset total and returns also how many
// bytes of padding come before it.
func (p *packState) next(total int64) (kind int, size, padding int64) {
	p.a.m().Burn(p.a.L, 4)
	kind, size = p.option()
	align := size
	if kind == packAlign {
		next := packChars
		if p.more() {
			next, align = p.option()
		}
		if next == packChars || align == 0 {
			p.a.argError(1, "invalid next option for option 'X'")
		}
	}
	if align <= 1 || kind == packChars {
		return kind, size, 0
	}
	align = min(align, p.align)
	if align&(align-1) != 0 {
		p.a.argError(1, "format asks for alignment not power of 2")
	}
	return kind, size, (align - total&(align-1)) & (align - 1)
}

func stringPack(L *lua.LState) int {
	a := argsOf(L)
	p := newPackState(a)
	out := buffer{a: a}
	arg := 1
	for p.more() {
		kind, size, padding := p.next(int64(out.b.Len()))
		out.zeros(padding)
		if kind < packByte {
			arg++
		}
		switch kind {
		case packInt, packUint:
			i := checkPacked(a, arg, kind, size)
			out.integer(i, kind == packInt && i < 0, size, p.little)
		case packFloat, packDouble:
			out.float(a.float(arg), size, p.little)
		case packChars:
			s := a.str(arg)
			if int64(len(s)) > size {
				a.argError(arg, "string longer than given size")
			}
			out.add(s)
			out.zeros(size - int64(len(s)))
		case packString:
			s := a.str(arg)
			if size < 8 && int64(len(s))>>(size*8) != 0 {
				a.argError(arg, "string length does not fit in given size")
			}
			out.integer(int64(len(s)), false, size, p.little)
			out.add(s)
		case packZero:
			s := a.str(arg)
			if strings.IndexByte(s, 0) >= 0 {
				a.argError(arg, "string contains zeros")
			}
			out.add(s)
			out.addByte(0)
		case packByte:
			out.addByte(0)
		}
	}
	return a.push(out.value())
}

// checkPacked returns argument n if it fits into size bytes.
func checkPacked(a args, n, kind int, size int64) int64 {
	i := a.int(n)
	if size < luaIntSize {
		limit := int64(1) << (size*8 - 1)
		if kind == packInt && (i < -limit || i >= limit) {
			a.argError(n, "integer overflow")
		}
		if kind == packUint && uint64(i) >= uint64(1)<<(size*8) {
			a.argError(n, "unsigned overflow")
		}
	}
	return i
}

// zeros adds n zero bytes. n may be larger than any memory.
func (b *buffer) zeros(n int64) {
	const chunk = 4096
	if n > chunk {
		b.a.m().Charge(b.a.L, n)
	}
	for ; n > 0; n -= chunk {
		b.a.m().Burn(b.a.L, 32)
		b.add(zeroChunk[:min(n, chunk)])
	}
}

var zeroChunk = strings.Repeat("\x00", 4096)

// integer adds i in size bytes; beyond eight they are ones if negative, else zeros.
func (b *buffer) integer(i int64, negative bool, size int64, little bool) {
	var raw [maxIntSize]byte
	for k := range size {
		at := k
		if !little {
			at = size - 1 - k
		}
		raw[at] = byte(i)
		i >>= 8
		if k == luaIntSize-1 {
			i = 0
			if negative {
				i = -1
			}
		}
	}
	b.add(string(raw[:size]))
}

func (b *buffer) float(x float64, size int64, little bool) {
	bits := math.Float64bits(x)
	if size == 4 {
		bits = uint64(math.Float32bits(float32(x)))
	}
	b.integer(int64(bits), false, size, little)
}

func stringPackSize(L *lua.LState) int {
	a := argsOf(L)
	p := newPackState(a)
	total := int64(0)
	for p.more() {
		kind, size, padding := p.next(total)
		if kind == packString || kind == packZero {
			a.argError(1, "variable-length format")
		}
		if total > maxPackTotal-size-padding {
			a.argError(1, "format result too large")
		}
		total += padding + size
	}
	return a.push(number.FromInt(total))
}

func stringUnpack(L *lua.LState) int {
	a := argsOf(L)
	p := newPackState(a)
	data := a.str(2)
	init := findStart(a.optInt(3, 1), len(data))
	if init > int64(len(data)) {
		a.argError(3, "initial position out of string")
	}
	at := int(init)
	var values []lua.LValue
	for p.more() {
		kind, size, padding := p.next(int64(at))
		if padding > int64(len(data)-at) || size > int64(len(data)-at)-padding {
			a.argError(2, "data string too short")
		}
		at += int(padding)
		if kind >= packByte {
			at += int(size)
			continue
		}
		if int64(len(values)) >= maxResults(a.L) {
			a.errorf("stack overflow (too many results)")
		}
		a.m().Charge(a.L, 40)
		var v lua.LValue
		v, at = unpackOne(p, kind, data, at, int(size))
		values = append(values, v)
	}
	first := a.results(int64(len(values)) + 1)
	if first < 0 {
		a.errorf("stack overflow (too many results)")
	}
	for i, v := range values {
		a.L.Replace(first+i, v)
	}
	a.L.Replace(first+len(values), lua.LNumber(at+1))
	return len(values) + 1
}

// unpackOne reads one value at data[at:], of which size bytes are there, and
// returns where it ends.
func unpackOne(p *packState, kind int, data string, at, size int) (lua.LValue, int) {
	a, raw := p.a, data[at:at+size]
	switch kind {
	case packInt, packUint:
		return number.FromInt(unpackInt(a, raw, p.little, kind == packInt)), at + size
	case packFloat:
		return lua.LNumber(math.Float32frombits(uint32(unpackInt(a, raw, p.little, false)))), at + size
	case packDouble:
		return lua.LNumber(math.Float64frombits(uint64(unpackInt(a, raw, p.little, false)))), at + size
	case packChars:
		return a.newString(raw), at + size
	case packString:
		n := unpackInt(a, raw, p.little, false)
		at += size
		if uint64(n) > uint64(len(data)-at) {
			a.argError(2, "data string too short")
		}
		return a.newString(data[at : at+int(n)]), at + int(n)
	default: // packZero
		n := strings.IndexByte(data[at:], 0)
		if n < 0 {
			a.argError(2, "unfinished string for format 'z'")
		}
		a.burn(int64(n) >> 6)
		return a.newString(data[at : at+n]), at + n + 1
	}
}

func unpackInt(a args, raw string, little, signed bool) int64 {
	var b [maxIntSize]byte
	n := copy(b[:], raw)
	if !little {
		for i, j := 0, n-1; i < j; i, j = i+1, j-1 {
			b[i], b[j] = b[j], b[i]
		}
	}
	i := int64(binary.LittleEndian.Uint64(b[:8]))
	if n < luaIntSize {
		if signed {
			shift := 64 - 8*n
			i = i << shift >> shift
		}
		return i
	}
	fill := byte(0)
	if signed && i < 0 {
		fill = 0xff
	}
	for _, c := range b[luaIntSize:n] {
		if c != fill {
			a.errorf("%d-byte integer does not fit into Lua Integer", n)
		}
	}
	return i
}
