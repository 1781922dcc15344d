package jsonlua

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"

	lua "github.com/yuin/gopher-lua"

	"clm/luavm/internal/layout"
	"clm/luavm/internal/number"
	"clm/luavm/internal/stdlib"
)

// Encode writes v as JSON. A sequence is an array, any other table an object with its keys in the order in which they
// were made, number keys as strings. The error names the path of what cannot be written, like "value.list[3]".
func Encode(L *lua.LState, v lua.LValue) (string, error) {
	e := &encoder{L: L, m: stdlib.MeterOf(L)}
	defer func() { e.m.Pin(-e.pinned) }()
	if err := e.value(v); err != nil {
		return "", fmt.Errorf("%s%w", e.where(), err)
	}
	e.m.Burn(L, e.units)
	e.m.Charge(L, int64(len(e.buf)))
	return string(e.buf), nil
}

type encoder struct {
	L      *lua.LState
	m      stdlib.Meter
	buf    []byte
	pinned int64
	units  int64 // CPU not burned yet
	path   []step
}

// flushUnits is how much CPU is collected before it is burned.
const flushUnits = 512

func (e *encoder) burn(n int64) {
	if e.units += n; e.units >= flushUnits {
		e.m.Burn(e.L, e.units)
		e.units = 0
	}
}

// step is one table on the way to the value that is written, and the key in it.
type step struct {
	t   *lua.LTable
	key lua.LValue
}

func (e *encoder) where() string {
	var b strings.Builder
	b.WriteString("value")
	for _, s := range e.path {
		switch k := s.key.(type) {
		case nil:
		case lua.LString:
			fmt.Fprintf(&b, ".%.40s", string(k))
		case lua.LNumber, lua.LBool, number.Int:
			fmt.Fprintf(&b, "[%.40s]", k.String())
		default:
			fmt.Fprintf(&b, "[a %s]", k.Type())
		}
		if b.Len() > 200 {
			b.WriteString("…")
			break
		}
	}
	b.WriteString(": ")
	return b.String()
}

// room makes room for n more bytes and accounts for them.
func (e *encoder) room(n int) {
	if len(e.buf)+n > cap(e.buf) {
		e.grow(len(e.buf) + n)
	}
}

func (e *encoder) grow(need int) {
	size := max(need, 2*cap(e.buf), 256)
	e.m.Charge(e.L, int64(size))
	e.m.Pin(int64(size) - e.pinned)
	e.pinned = int64(size)
	e.buf = append(make([]byte, 0, size), e.buf...)
}

func (e *encoder) text(s string) {
	e.room(len(s))
	e.buf = append(e.buf, s...)
}

func (e *encoder) byte(c byte) {
	e.room(1)
	e.buf = append(e.buf, c)
}

func (e *encoder) value(v lua.LValue) error {
	e.burn(2)
	switch x := v.(type) {
	case *lua.LNilType:
		e.text("null")
	case lua.LBool:
		e.text(strconv.FormatBool(bool(x)))
	case lua.LNumber:
		return e.number(float64(x))
	case number.Int:
		e.text(x.String())
	case lua.LString:
		e.string(string(x))
	case *lua.LTable:
		return e.table(x)
	default:
		if v == lua.LValue(Null()) {
			e.text("null")
			return nil
		}
		return fmt.Errorf("a %s cannot be written as JSON", v.Type())
	}
	return nil
}

func (e *encoder) number(f float64) error {
	if math.IsNaN(f) || math.IsInf(f, 0) {
		return errors.New(number.Format(lua.LNumber(f)) + " cannot be written as JSON")
	}
	e.room(32)
	if f == math.Trunc(f) && f >= -(1<<63) && f < 1<<63 {
		e.buf = strconv.AppendInt(e.buf, int64(f), 10)
	} else {
		e.buf = strconv.AppendFloat(e.buf, f, 'g', -1, 64)
	}
	return nil
}

const hexDigits = "0123456789abcdef"

// plain are the bytes that stand for themselves in a JSON string.
var plain = func() (t [256]bool) {
	for c := 0x20; c < 256; c++ {
		t[c] = c != '"' && c != '\\'
	}
	return
}()

func (e *encoder) string(s string) {
	e.burn(int64(len(s)) >> 4)
	e.room(len(s) + 2)
	e.buf = append(e.buf, '"')
	start := 0
	for i := 0; i < len(s); i++ {
		c := s[i]
		if plain[c] {
			continue
		}
		e.room(len(s) - start + 7)
		e.buf = append(e.buf, s[start:i]...)
		start = i + 1
		switch c {
		case '"', '\\':
			e.buf = append(e.buf, '\\', c)
		case '\n':
			e.buf = append(e.buf, '\\', 'n')
		case '\r':
			e.buf = append(e.buf, '\\', 'r')
		case '\t':
			e.buf = append(e.buf, '\\', 't')
		default:
			e.buf = append(e.buf, '\\', 'u', '0', '0', hexDigits[c>>4], hexDigits[c&15])
		}
	}
	e.room(len(s) - start + 1)
	e.buf = append(e.buf, s[start:]...)
	e.buf = append(e.buf, '"')
}

func (e *encoder) table(t *lua.LTable) error {
	if len(e.path) >= MaxDepth {
		return fmt.Errorf("nested deeper than %d levels", MaxDepth)
	}
	for _, s := range e.path {
		if s.t == t {
			return errors.New("the table contains itself")
		}
	}
	e.burn(int64(len(layout.Array(t))) >> 3)
	if n, sequence := sequenceLen(t); sequence && (n > 0 || t.Metatable == lua.LValue(ArrayMark())) {
		return e.array(t, n)
	}
	return e.object(t)
}

// Both writers leave e.path as it was only when they succeed: an error's path is what remains.

func (e *encoder) array(t *lua.LTable, n int) error {
	e.byte('[')
	e.path = append(e.path, step{t: t})
	top := len(e.path) - 1
	for i, v := range layout.Array(t)[:n] {
		if i > 0 {
			e.byte(',')
		}
		if err := e.value(v); err != nil {
			e.path[top].key = lua.LNumber(i + 1)
			return err
		}
	}
	e.path = e.path[:top]
	e.byte(']')
	return nil
}

func (e *encoder) object(t *lua.LTable) error {
	e.byte('{')
	e.path = append(e.path, step{t: t})
	top := len(e.path) - 1
	start := len(e.buf)
	for i, v := range layout.Array(t) {
		if isNil(v) {
			continue
		}
		if err := e.field(top, start, lua.LNumber(i+1), v); err != nil {
			return err
		}
	}
	strs := layout.Strings(t)
	for _, key := range layout.Keys(t) {
		e.burn(1)
		var v lua.LValue
		if s, ok := key.(lua.LString); ok {
			v = strs[string(s)]
		} else {
			v = t.RawGetH(key)
		}
		if isNil(v) {
			continue
		}
		if err := e.field(top, start, key, v); err != nil {
			return err
		}
	}
	e.path = e.path[:top]
	e.byte('}')
	return nil
}

// field writes one key and value of the object whose first field is at start.
func (e *encoder) field(top, start int, key, v lua.LValue) error {
	text, ok := key.(lua.LString)
	if !ok {
		s, ok := number.ToString(key)
		if !ok {
			e.path[top].key = key
			return fmt.Errorf("a key that is a %s cannot be written as JSON", number.TypeName(key))
		}
		text = lua.LString(s)
	}
	if len(e.buf) > start {
		e.byte(',')
	}
	e.string(string(text))
	e.byte(':')
	err := e.value(v)
	if err != nil {
		e.path[top].key = key
	}
	return err
}
