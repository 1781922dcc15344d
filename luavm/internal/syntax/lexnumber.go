package syntax

import (
	"strconv"
	"strings"

	lua "github.com/yuin/gopher-lua"

	luanumber "clm/luavm/internal/number"
)

// number reads what looks like a numeral; value decides whether it is one.
func (x *lexer) number() token {
	start, end := x.pos, x.pos+1
	exp := "eE"
	if x.src[start] == '0' && end < len(x.src) && (x.src[end] == 'x' || x.src[end] == 'X') {
		exp = "pP"
		end++
	}
	for end < len(x.src) {
		c := x.src[end]
		switch {
		case strings.IndexByte(exp, c) >= 0:
			if end++; end < len(x.src) && (x.src[end] == '-' || x.src[end] == '+') {
				end++
			}
			continue
		case hexDigit(c) || c == '.':
			end++
			continue
		case letter(c):
			end++ // forces the error
		}
		break
	}
	s := x.src[start:end]
	x.pos = end
	n, ok := parseNumeral(s)
	if !ok {
		x.errorNear("malformed number", "'"+clipText(s)+"'")
	}
	return token{kind: tNumber, num: n, near: s, line: x.line}
}

// A numeral is a literal number: an integer, or a float.
type numeral struct {
	float bool
	i     int64
	f     float64
}

// value is the number as a float64.
func (n numeral) value() float64 {
	if n.float {
		return n.f
	}
	return float64(n.i)
}

// parseNumeral reads a literal as Lua 5.4 does: hexadecimal integers wrap
// around, decimal ones that are too large become floats.
func parseNumeral(s string) (numeral, bool) {
	if hex := len(s) > 1 && (s[1] == 'x' || s[1] == 'X'); hex {
		if strings.ContainsAny(s, ".pP") {
			t := s
			if !strings.ContainsAny(s, "pP") {
				t += "p0"
			}
			return parseFloat(t)
		}
		if len(s) == 2 {
			return numeral{}, false
		}
		var v uint64
		for _, c := range []byte(s[2:]) {
			d, err := strconv.ParseUint(string(rune(c)), 16, 8)
			if err != nil {
				return numeral{}, false
			}
			v = v<<4 | d
		}
		return numeral{i: int64(v)}, true
	}
	if v, err := strconv.ParseInt(s, 10, 64); err == nil {
		return numeral{i: v}, true
	}
	return parseFloat(s)
}

// parseFloat reads a float as tonumber does, long ones too.
func parseFloat(s string) (numeral, bool) {
	v, ok := luanumber.Parse(s)
	f, float := v.(lua.LNumber)
	return numeral{float: true, f: float64(f)}, ok && float
}
