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
	s, ok := shorten(s, 10)
	if !ok {
		return nil, false
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
	s, ok := shorten(s, 16)
	if !ok {
		return nil, false
	}
	if !strings.ContainsAny(s, "pP") {
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

// longest is the length in bytes of a numeral that strconv is given as it is: it
// copies one that is out of range into an error, and misreads the exponent of an
// integer of more than 800 digits. 768 digits tell any float from its neighbours.
const longest = 770

// shorten gives a numeral of base 10 or 16, without a sign, as one of about
// longest bytes at most that is read as the same float; ok is false for a long
// one that is malformed. Its letters were checked by the caller.
func shorten(s string, base int) (short string, ok bool) {
	if len(s) <= longest {
		return s, true
	}
	marks, perDigit := "eE", 1
	if base == 16 {
		marks, perDigit = "pP", 4
	}
	mantissa, power := s, ""
	if i := strings.IndexAny(s, marks); i >= 0 {
		mantissa, power = s[:i], s[i:]
	}
	var digits []byte // the numeral is digits * base^scale, and more if rest
	scale, fraction, rest, seen := 0, false, false, false
	for i := 0; i < len(mantissa); i++ {
		c := mantissa[i]
		if _, digit := hexDigit(c); !digit {
			if c != '.' || fraction {
				return "", false
			}
			fraction = true
			continue
		}
		seen = true
		kept := len(digits) < longest && (c != '0' || len(digits) > 0)
		if kept {
			digits = append(digits, c)
		}
		switch dropped := !kept && len(digits) > 0; {
		case fraction && !dropped:
			scale--
		case dropped && !fraction:
			scale++
		}
		rest = rest || !kept && c != '0'
	}
	if !seen {
		return "", false
	}
	if rest {
		digits, scale = append(digits, '1'), scale-1
	}
	n, ok := exponentOf(power)
	return string(digits) + "0" + marks[:1] + strconv.Itoa(n+(scale-1)*perDigit), ok
}

// exponentOf reads the exponent that s is, from its mark on; one that is out of
// any float's range is as good as another such.
func exponentOf(s string) (n int, ok bool) {
	if s == "" {
		return 0, true
	}
	digits := strings.TrimLeft(s[1:], "+-")
	if len(s)-1-len(digits) > 1 || digits == "" {
		return 0, false
	}
	for i := 0; i < len(digits); i++ {
		if digits[i] < '0' || digits[i] > '9' {
			return 0, false
		}
		n = min(n*10+int(digits[i]-'0'), 1<<40)
	}
	if s[1] == '-' {
		n = -n
	}
	return n, true
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
