package number

import (
	"math"
	"strconv"
	"strings"

	lua "github.com/yuin/gopher-lua"
)

const space = " \t\n\v\f\r"

// Parse converts the text of a numeral as tonumber does: white space around it,
// a sign, decimal or hexadecimal, integer or float. A decimal integer outside
// int64 becomes a float; a hexadecimal integer wraps around.
func Parse(s string) (lua.LValue, bool) {
	s = strings.Trim(s, space)
	body, negative := s, false
	if s != "" && (s[0] == '-' || s[0] == '+') {
		body, negative = s[1:], s[0] == '-'
	}
	if len(body) > 1 && body[0] == '0' && body[1]|32 == 'x' {
		return parseHex(body[2:], negative)
	}
	return parseDecimal(body, negative)
}

func parseDecimal(s string, negative bool) (lua.LValue, bool) {
	if s == "" || s[0] == '+' || s[0] == '-' {
		return nil, false
	}
	u, isInt := uint64(0), true
	for i := 0; i < len(s); i++ {
		c := s[i]
		switch {
		case c >= '0' && c <= '9':
			d := uint64(c - '0')
			if u > (math.MaxUint64-d)/10 {
				isInt = false
			}
			u = u*10 + d
		case c == '.' || c == '+' || c == '-' || c|32 == 'e':
			isInt = false
		default: // also the letters of "inf" and "nan", and Go's underscores
			return nil, false
		}
	}
	limit := uint64(math.MaxInt64)
	if negative {
		limit++
	}
	if isInt && u <= limit {
		return FromInt(signed(u, negative)), true
	}
	return parseFloat(s, negative)
}

func parseHex(s string, negative bool) (lua.LValue, bool) {
	u, digits, isInt, exponent := uint64(0), 0, true, false
	for i := 0; i < len(s); i++ {
		c := s[i]
		d, ok := hexDigit(c)
		switch {
		case ok && !exponent:
			u = u<<4 | uint64(d)
			digits++
		case c == '.' && !exponent:
			isInt = false
		case c|32 == 'p' && !exponent:
			isInt, exponent = false, true
		case exponent && (c == '+' || c == '-' || ok && d <= 9):
		default:
			return nil, false
		}
	}
	if digits == 0 {
		return nil, false
	}
	if isInt {
		return FromInt(signed(u, negative)), true
	}
	if !exponent {
		s += "p0"
	}
	return parseFloat("0x"+s, negative)
}

func parseFloat(s string, negative bool) (lua.LValue, bool) {
	f, err := strconv.ParseFloat(s, 64)
	if err != nil && (f == 0 || !math.IsInf(f, 0)) {
		return nil, false // out of range gives an infinity, which Lua takes
	}
	if negative {
		f = -f
	}
	return lua.LNumber(f), true
}

func signed(u uint64, negative bool) int64 {
	if negative {
		u = -u
	}
	return int64(u)
}

func hexDigit(c byte) (byte, bool) {
	switch {
	case c >= '0' && c <= '9':
		return c - '0', true
	case c|32 >= 'a' && c|32 <= 'f':
		return c | 32 - 'a' + 10, true
	}
	return 0, false
}

// ParseBase converts an integer numeral of base 2 to 36, as tonumber(s, base).
func ParseBase(s string, base int) (lua.LValue, bool) {
	s = strings.Trim(s, space)
	negative := s != "" && s[0] == '-'
	if negative || s != "" && s[0] == '+' {
		s = s[1:]
	}
	if s == "" {
		return nil, false
	}
	u := uint64(0)
	for i := 0; i < len(s); i++ {
		c := s[i]
		var d int
		switch {
		case c >= '0' && c <= '9':
			d = int(c - '0')
		case c|32 >= 'a' && c|32 <= 'z':
			d = int(c|32-'a') + 10
		default:
			return nil, false
		}
		if d >= base {
			return nil, false
		}
		u = u*uint64(base) + uint64(d)
	}
	return FromInt(signed(u, negative)), true
}
