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
	e.m.Charge(L, int64(len(e.buf)))
	return string(e.buf), nil
}

type encoder struct {
	L      *lua.LState
	m      stdlib.Meter
	buf    []byte
	pinned int64
	path   []step
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

// grow makes room for n more bytes and accounts for them.
func (e *encoder) grow(n int) {
	if need := len(e.buf) + n; need > cap(e.buf) {
		size := max(need, 2*cap(e.buf), 256)
		e.m.Charge(e.L, int64(size))
		e.m.Pin(int64(size) - e.pinned)
		e.pinned = int64(size)
		e.buf = append(make([]byte, 0, size), e.buf...)
	}
}

func (e *encoder) text(s string) {
	e.grow(len(s))
	e.buf = append(e.buf, s...)
}

func (e *encoder) value(v lua.LValue) error {
	e.m.Burn(e.L, 2)
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
	e.grow(32)
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
	e.m.Burn(e.L, int64(len(s))>>4)
	e.grow(len(s) + 2)
	e.buf = append(e.buf, '"')
	start := 0
	for i := 0; i < len(s); i++ {
		c := s[i]
		if plain[c] {
			continue
		}
		e.grow(len(s) - start + 7)
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
	e.grow(len(s) - start + 1)
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
	e.m.Burn(e.L, int64(len(layout.Array(t)))>>3)
	if IsArray(t) {
		return e.array(t)
	}
	return e.object(t)
}

// Both writers leave e.path as it was only when they succeed: an error's path is what remains.

func (e *encoder) array(t *lua.LTable) error {
	e.text("[")
	e.path = append(e.path, step{t: t})
	top := len(e.path) - 1
	n, _ := sequenceLen(t)
	for i, v := range layout.Array(t)[:n] {
		if i > 0 {
			e.text(",")
		}
		e.path[top].key = lua.LNumber(i + 1)
		if err := e.value(v); err != nil {
			return err
		}
	}
	e.path = e.path[:top]
	e.text("]")
	return nil
}

func (e *encoder) object(t *lua.LTable) error {
	e.text("{")
	e.path = append(e.path, step{t: t})
	top := len(e.path) - 1
	first := true
	field := func(key, v lua.LValue) error {
		e.path[top].key = key
		text, ok := number.ToString(key)
		if !ok {
			return fmt.Errorf("a key that is a %s cannot be written as JSON", number.TypeName(key))
		}
		if !first {
			e.text(",")
		}
		first = false
		e.string(text)
		e.text(":")
		return e.value(v)
	}
	for i, v := range layout.Array(t) {
		if isNil(v) {
			continue
		}
		if err := field(lua.LNumber(i+1), v); err != nil {
			return err
		}
	}
	for _, key := range layout.Keys(t) {
		e.m.Burn(e.L, 1)
		if v := t.RawGetH(key); !isNil(v) {
			if err := field(key, v); err != nil {
				return err
			}
		}
	}
	e.path = e.path[:top]
	e.text("}")
	return nil
}
