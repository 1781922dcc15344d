package jsonlua

import (
	"fmt"
	"math"
	"math/bits"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	lua "github.com/yuin/gopher-lua"

	"clm/luavm/internal/layout"
	"clm/luavm/internal/number"
	"clm/luavm/internal/stdlib"
)

// Decode reads one JSON value that fills text. Objects and arrays become tables, null becomes Null, integers that fit
// 64 bits stay exact. The error says what is wrong and at which byte, counted from 1.
func Decode(L *lua.LState, text string) (lua.LValue, error) {
	if len(text) > MaxInput {
		return nil, fmt.Errorf("json: the text has %d bytes, more than %d", len(text), MaxInput)
	}
	d := &decoder{L: L, m: stdlib.MeterOf(L), s: text}
	v, err := d.value(0)
	d.m.Burn(L, d.units)
	d.m.Charge(L, d.bytes)
	if err == nil {
		d.space()
		if d.i < len(d.s) {
			err = d.fail("something follows the value")
		}
	}
	if err != nil {
		return nil, err
	}
	return v, nil
}

type decoder struct {
	L     *lua.LState
	m     stdlib.Meter
	s     string
	i     int
	short []lua.LValue // short strings that were made, by slot: most occur again and again
	stack []lua.LValue // elements of the arrays and objects that are open
	last  *lua.LTable  // the object before, which is likely to have the same keys
	units int64        // CPU not burned yet
	bytes int64        // memory not charged yet
}

// charge accounts for n bytes, small amounts together.
func (d *decoder) charge(n int64) {
	if d.bytes += n; d.bytes >= flushBytes {
		n, d.bytes = d.bytes, 0
		d.m.Charge(d.L, n)
	}
}

// flushBytes is how much memory is collected before it is charged.
const flushBytes = 8 << 10

func (d *decoder) burn(n int64) {
	if d.units += n; d.units >= flushUnits {
		d.m.Burn(d.L, d.units)
		d.units = 0
	}
}

func (d *decoder) fail(what string) error {
	return fmt.Errorf("json: %s at byte %d", what, min(d.i, len(d.s))+1)
}

func (d *decoder) space() {
	for d.i < len(d.s) {
		switch d.s[d.i] {
		case ' ', '\t', '\n', '\r':
			d.i++
		default:
			return
		}
	}
}

func (d *decoder) value(depth int) (lua.LValue, error) {
	d.burn(2)
	d.space()
	if d.i >= len(d.s) {
		return nil, d.fail("the text ends where a value should be")
	}
	switch c := d.s[d.i]; {
	case c == '{' || c == '[':
		if depth >= MaxDepth {
			return nil, d.fail(fmt.Sprintf("nested deeper than %d levels", MaxDepth))
		}
		d.i++
		if c == '[' {
			return d.array(depth + 1)
		}
		return d.object(depth + 1)
	case c == '"':
		return d.string()
	case c == '-' || c >= '0' && c <= '9':
		return d.number()
	}
	switch {
	case d.word("true"):
		return lua.LTrue, nil
	case d.word("false"):
		return lua.LFalse, nil
	case d.word("null"):
		return Null(), nil
	}
	return nil, d.fail("no value starts")
}

func (d *decoder) word(w string) bool {
	ok := strings.HasPrefix(d.s[d.i:], w)
	if ok {
		d.i += len(w)
	}
	return ok
}

// next skips to the separator c or the end mark; more is true at the separator.
func (d *decoder) next(end byte) (more bool, err error) {
	d.space()
	if d.i < len(d.s) {
		switch d.s[d.i] {
		case ',':
			d.i++
			return true, nil
		case end:
			d.i++
			return false, nil
		}
	}
	return false, d.fail(fmt.Sprintf("expected , or %c", end))
}

func (d *decoder) array(depth int) (lua.LValue, error) {
	base := len(d.stack)
	d.space()
	if d.i < len(d.s) && d.s[d.i] == ']' {
		d.i++
		d.charge(tableBytes)
		return &lua.LTable{Metatable: ArrayMark()}, nil
	}
	for more := true; more; {
		v, err := d.value(depth)
		if err != nil {
			return nil, err
		}
		d.push(v)
		if more, err = d.next(']'); err != nil {
			return nil, err
		}
	}
	n := len(d.stack) - base
	d.charge(tableBytes + int64(n)*slotBytes)
	t := layout.NewArray(d.stack[base:])
	d.stack = d.stack[:base]
	return t, nil
}

func (d *decoder) object(depth int) (lua.LValue, error) {
	base := len(d.stack)
	d.space()
	if d.i < len(d.s) && d.s[d.i] == '}' {
		d.i++
		d.charge(tableBytes)
		return &lua.LTable{Metatable: lua.LNil}, nil
	}
	for more := true; more; {
		d.space()
		if d.i >= len(d.s) || d.s[d.i] != '"' {
			return nil, d.fail("expected a key")
		}
		key, err := d.string()
		if err != nil {
			return nil, err
		}
		d.space()
		if d.i >= len(d.s) || d.s[d.i] != ':' {
			return nil, d.fail("expected :")
		}
		d.i++
		v, err := d.value(depth)
		if err != nil {
			return nil, err
		}
		d.push(key)
		d.push(v)
		if more, err = d.next('}'); err != nil {
			return nil, err
		}
	}
	n := int64(len(d.stack)-base) / 2
	d.charge(tableBytes + n*fieldBytes)
	d.last = layout.NewRecord(d.stack[base:], d.last)
	d.stack = d.stack[:base]
	return d.last, nil
}

// Bytes of what decoding makes, as in the VM's own accounting.
const (
	tableBytes = 96
	slotBytes  = 16
	fieldBytes = 120
)

func (d *decoder) push(v lua.LValue) {
	if len(d.stack) == cap(d.stack) {
		d.charge(int64(cap(d.stack)+64) * 2 * slotBytes)
		if d.stack == nil {
			d.stack = make([]lua.LValue, 0, 8)
		}
	}
	d.stack = append(d.stack, v)
}

// string reads a string at d.i. Its bytes are copied, so that the text may be dropped.
func (d *decoder) string() (lua.LValue, error) {
	start := d.i + 1
	for i := start; i < len(d.s); i++ {
		c := d.s[i]
		if plain[c] {
			continue
		}
		if c == '"' {
			d.i = i + 1
			return d.made(d.s[start:i]), nil
		}
		if c == '\\' {
			s, err := d.escaped(start, i)
			if err != nil {
				return nil, err
			}
			return lua.LString(s), nil
		}
		d.i = i
		return nil, d.fail("a control character in a string")
	}
	d.i = len(d.s)
	return nil, d.fail("a string without end")
}

const (
	minText  = 256 // bytes of a text in which short strings are looked for
	maxShort = 32  // bytes of a string that may be made once for all its places
	maxSlots = 256 // that such strings have
)

// made is the string s, a part of the text, as a value.
func (d *decoder) made(s string) lua.LValue {
	if s == "" {
		return emptyString
	}
	if len(s) > maxShort || len(d.s) < minText {
		d.burn(int64(len(s)) >> 4)
		d.charge(int64(len(s)) + slotBytes)
		return layout.NewString(s)
	}
	if d.short == nil {
		n := min(maxSlots, 1<<bits.Len(uint(len(d.s)/64)))
		d.charge(int64(n) * slotBytes)
		d.short = make([]lua.LValue, n)
	}
	hash := uint(len(s)) + 5*uint(s[0]) + 11*uint(s[len(s)/2]) + 31*uint(s[len(s)-1])
	slot := &d.short[hash&uint(len(d.short)-1)]
	if known, ok := (*slot).(lua.LString); !ok || string(known) != s {
		d.charge(int64(len(s)) + slotBytes)
		*slot = layout.NewString(s)
	}
	return *slot
}

var emptyString = lua.LValue(lua.LString(""))

// escaped goes on with a string from its first backslash, at i.
func (d *decoder) escaped(start, i int) (string, error) {
	end := i // of the whole string, for the size
	for end < len(d.s) && d.s[end] != '"' {
		if d.s[end] == '\\' {
			end++
		}
		end++
	}
	d.m.Burn(d.L, int64(end-start)>>3)
	d.charge(int64(end-start)*2 + slotBytes)
	buf := append(make([]byte, 0, min(end, len(d.s))-start), d.s[start:i]...)
	for d.i = i; d.i < len(d.s); {
		switch c := d.s[d.i]; {
		case c == '"':
			d.i++
			return string(buf), nil
		case c == '\\':
			var err error
			if buf, err = d.escape(buf); err != nil {
				return "", err
			}
		case c < 0x20:
			return "", d.fail("a control character in a string")
		default:
			buf = append(buf, c)
			d.i++
		}
	}
	return "", d.fail("a string without end")
}

func (d *decoder) escape(buf []byte) ([]byte, error) {
	if d.i+1 >= len(d.s) {
		d.i = len(d.s)
		return nil, d.fail("a string without end")
	}
	c := d.s[d.i+1]
	if c == 'u' {
		return d.unicode(buf)
	}
	at := strings.IndexByte(`"\/bfnrt`, c)
	if at < 0 {
		return nil, d.fail("an unknown escape")
	}
	d.i += 2
	return append(buf, "\"\\/\b\f\n\r\t"[at]), nil
}

// unicode reads \uXXXX, and a second one behind a high surrogate. Half a pair becomes U+FFFD.
func (d *decoder) unicode(buf []byte) ([]byte, error) {
	r, ok := hex4(d.s, d.i+2)
	if !ok {
		return nil, d.fail("\\u without four hex digits")
	}
	d.i += 6
	if utf16.IsSurrogate(r) {
		pair := rune(utf8.RuneError)
		if strings.HasPrefix(d.s[d.i:], `\u`) {
			if low, ok := hex4(d.s, d.i+2); ok {
				pair = utf16.DecodeRune(r, low)
			}
		}
		if pair != utf8.RuneError {
			d.i += 6
		}
		r = pair
	}
	return utf8.AppendRune(buf, r), nil
}

func hex4(s string, i int) (rune, bool) {
	if i+4 > len(s) {
		return 0, false
	}
	n, err := strconv.ParseUint(s[i:i+4], 16, 16)
	return rune(n), err == nil && s[i] != '+' && s[i] != '-'
}

// small are the numbers that occur most: one box each for all.
var small = func() (t [256]lua.LValue) {
	for i := range t {
		t[i] = lua.LNumber(i)
	}
	return
}()

// maxDigits is how long a numeral may be that is an int64 for certain.
const maxDigits = 19

func (d *decoder) number() (lua.LValue, error) {
	start := d.i
	digits := func() (n int) {
		for ; d.i < len(d.s) && d.s[d.i] >= '0' && d.s[d.i] <= '9'; n++ {
			d.i++
		}
		return n
	}
	at := func(set string) bool { return d.i < len(d.s) && strings.IndexByte(set, d.s[d.i]) >= 0 }
	if at("-") {
		d.i++
	}
	zero := at("0")
	if n := digits(); n == 0 || zero && n > 1 {
		return nil, d.fail("a malformed number")
	}
	integral := true
	if at(".") {
		d.i++
		integral = false
		if digits() == 0 {
			return nil, d.fail("a malformed number")
		}
	}
	if at("eE") {
		d.i++
		integral = false
		if at("+-") {
			d.i++
		}
		if digits() == 0 {
			return nil, d.fail("a malformed number")
		}
	}
	text := d.s[start:d.i]
	d.burn(int64(len(text)) >> 3)
	d.charge(slotBytes)
	if integral && len(text) < maxDigits {
		n, _ := strconv.ParseInt(text, 10, 64)
		if n >= 0 && n < int64(len(small)) {
			return small[n], nil
		}
		return number.FromInt(n), nil
	}
	v, ok := number.Parse(text)
	if f, isFloat := v.(lua.LNumber); !ok || isFloat && math.IsInf(float64(f), 0) {
		d.i = start
		return nil, d.fail("a number out of range")
	}
	return v, nil
}
