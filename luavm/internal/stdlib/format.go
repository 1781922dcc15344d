package stdlib

import (
	"fmt"
	"math"
	"math/bits"
	"strconv"
	"strings"

	lua "github.com/yuin/gopher-lua"

	"clm/luavm/internal/number"
)

// The flags that the conversions of string.format take.
const (
	flagsFloat  = "-+ #0"
	flagsHex    = "-#0"
	flagsInt    = "-+ 0"
	flagsString = "-"
)

// maxSpec bounds a conversion, '%' not included, as Lua does.
const maxSpec = 22

// spec is a parsed conversion such as %-08.3f.
type spec struct {
	text  string // with the '%'
	verb  byte
	flags uint8 // bits by position in flagsFloat
	width int
	prec  int // -1: none
}

func (s spec) has(flag byte) bool {
	return s.flags>>strings.IndexByte(flagsFloat, flag)&1 != 0
}

func stringFormat(L *lua.LState) int {
	a := argsOf(L)
	f := a.str(1)
	a.burn(int64(len(f)) >> 1)
	out := buffer{a: a}
	arg := 1
	for {
		i := strings.IndexByte(f, '%')
		if i < 0 {
			break
		}
		out.add(f[:i])
		f = f[i+1:]
		if f != "" && f[0] == '%' {
			out.addByte('%')
			f = f[1:]
			continue
		}
		arg++
		if arg > a.top() {
			a.argError(arg, "no value")
		}
		f = f[a.convert(&out, f, arg):]
	}
	if out.b.Len() == 0 && len(f) == len(a.str(1)) {
		return a.push(lua.LString(f))
	}
	out.add(f)
	return a.push(out.value())
}

// convert adds argument n by the conversion at the start of f, behind its '%',
// and returns the conversion's length.
func (a args) convert(out *buffer, f string, n int) int {
	end := 0
	for end < len(f) && strings.IndexByte("-+ #0123456789.", f[end]) >= 0 {
		end++
	}
	if end+1 >= maxSpec {
		a.errorf("invalid format (too long)")
	}
	s := spec{text: "%" + f[:min(end+1, len(f))], prec: -1}
	if end < len(f) {
		s.verb = f[end]
	}
	switch s.verb {
	case 'd', 'i':
		a.integer(out, s, n, flagsInt)
	case 'u':
		a.integer(out, s, n, flagsString+"0")
	case 'x', 'X', 'o':
		a.integer(out, s, n, flagsHex)
	case 'c':
		a.parseSpec(&s, flagsString, false)
		pad(out, s, "", string([]byte{byte(a.int(n))}))
	case 'a', 'A', 'f', 'e', 'E', 'g', 'G':
		a.floating(out, s, n)
	case 'p':
		a.parseSpec(&s, flagsString, false)
		pad(out, s, "", pointer(a.any(n)))
	case 'q':
		if end > 0 {
			a.errorf("specifier '%%q' cannot have modifiers")
		}
		a.quoted(out, n)
	case 's':
		a.stringSpec(out, s, n)
	default:
		a.errorf("invalid conversion '%s' to 'format'", s.text)
	}
	return end + 1
}

// parseSpec reads flags, at most two digits of width and, if it may have one, of
// precision.
func (a args) parseSpec(s *spec, flags string, precision bool) {
	body := s.text[1 : len(s.text)-1]
	for body != "" && strings.IndexByte(flags, body[0]) >= 0 {
		s.flags |= 1 << strings.IndexByte(flagsFloat, body[0])
		body = body[1:]
	}
	if body == "" || body[0] != '0' {
		s.width, body = twoDigits(body)
		if body != "" && body[0] == '.' && precision {
			s.prec, body = twoDigits(body[1:])
		}
	}
	if body != "" {
		a.errorf("invalid conversion specification: '%s'", s.text)
	}
}

func twoDigits(s string) (n int, rest string) {
	for i := 0; i < 2 && s != "" && isDigit(s[0]); i++ {
		n = n*10 + int(s[0]-'0')
		s = s[1:]
	}
	return n, s
}

// pad adds sign and body, filled up to the width: to the right with '-', with
// zeros between sign and body with '0', else to the left.
func pad(out *buffer, s spec, sign, body string) {
	fill := max(s.width-len(sign)-len(body), 0)
	switch {
	case fill == 0:
		out.add(sign)
		out.add(body)
	case s.has('-'):
		out.add(sign)
		out.add(body)
		out.add(strings.Repeat(" ", fill))
	case s.has('0'):
		out.add(sign)
		out.add(strings.Repeat("0", fill))
		out.add(body)
	default:
		out.add(strings.Repeat(" ", fill))
		out.add(sign)
		out.add(body)
	}
}

// integer adds argument n by %d, %i, %u, %x, %X or %o.
func (a args) integer(out *buffer, s spec, n int, flags string) {
	i := a.int(n)
	a.parseSpec(&s, flags, true)
	u, sign := uint64(i), ""
	if s.verb == 'd' || s.verb == 'i' {
		sign = signOf(s, i < 0)
		if i < 0 {
			u = -u
		}
	}
	var digits string
	switch s.verb {
	case 'x':
		digits = strconv.FormatUint(u, 16)
	case 'X':
		digits = strings.ToUpper(strconv.FormatUint(u, 16))
	case 'o':
		digits = strconv.FormatUint(u, 8)
	default:
		digits = strconv.FormatUint(u, 10)
	}
	if s.prec >= 0 {
		s.flags &^= 1 << strings.IndexByte(flagsFloat, '0')
		if s.prec == 0 && u == 0 {
			digits = ""
		}
		digits = strings.Repeat("0", max(s.prec-len(digits), 0)) + digits
	}
	if s.has('#') {
		switch {
		case s.verb == 'o' && !strings.HasPrefix(digits, "0"):
			digits = "0" + digits
		case s.verb != 'o' && u != 0:
			sign = "0" + string(s.verb)
		}
	}
	pad(out, s, sign, digits)
}

func signOf(s spec, negative bool) string {
	switch {
	case negative:
		return "-"
	case s.has('+'):
		return "+"
	case s.has(' '):
		return " "
	}
	return ""
}

// floating adds argument n by %e, %f, %g or %a.
func (a args) floating(out *buffer, s spec, n int) {
	if s.verb|32 == 'a' { // Lua looks at the number first, but not here
		a.parseSpec(&s, flagsFloat, true)
	}
	x := a.float(n)
	a.parseSpec(&s, flagsFloat, true)
	upper := s.verb >= 'A' && s.verb <= 'Z'
	if math.IsInf(x, 0) || math.IsNaN(x) {
		text := strings.TrimPrefix(number.Format(lua.LNumber(x)), "-")
		s.flags &^= 1 << strings.IndexByte(flagsFloat, '0')
		if upper {
			text = strings.ToUpper(text)
		}
		pad(out, s, signOf(s, number.Format(lua.LNumber(x))[0] == '-'), text)
		return
	}
	sign, prefix := signOf(s, math.Signbit(x)), ""
	var body string
	switch x = math.Abs(x); s.verb | 32 {
	case 'a':
		prefix, body = "0x", hexFloat(x, s)
	case 'g':
		body = general(x, s)
	default:
		prec := s.prec
		if prec < 0 {
			prec = 6
		}
		body = strconv.FormatFloat(x, s.verb|32, prec, 64)
		if s.has('#') && prec == 0 {
			body = withPoint(body)
		}
	}
	if upper {
		prefix, body = strings.ToUpper(prefix), strings.ToUpper(body)
	}
	pad(out, s, sign+prefix, body)
}

// withPoint puts the decimal point before an exponent or at the end.
func withPoint(s string) string {
	if i := strings.IndexAny(s, "ep"); i >= 0 {
		return s[:i] + "." + s[i:]
	}
	return s + "."
}

// general is %g; with '#' it keeps the zeros at the end.
func general(x float64, s spec) string {
	prec := s.prec
	switch {
	case prec < 0:
		prec = 6
	case prec == 0:
		prec = 1
	}
	body := strconv.FormatFloat(x, 'g', prec, 64)
	if !s.has('#') {
		return body
	}
	mantissa, exponent := body, ""
	if i := strings.IndexByte(body, 'e'); i >= 0 {
		mantissa, exponent = body[:i], body[i:]
	}
	if !strings.Contains(mantissa, ".") {
		mantissa += "."
	}
	digits := len(strings.TrimLeft(strings.ReplaceAll(mantissa, ".", ""), "0"))
	if x == 0 {
		digits = 1
	}
	return mantissa + strings.Repeat("0", max(prec-digits, 0)) + exponent
}

// hexFloat is %a as the C library of Linux prints it, without the "0x": one
// digit before the point, which rounding can make a 2.
func hexFloat(x float64, s spec) string {
	const mantissaBits, digitsMax = 52, 13
	raw := math.Float64bits(x)
	mantissa, exponent := raw&(1<<mantissaBits-1), int(raw>>mantissaBits)-1023
	switch {
	case x == 0:
		exponent = 0
	case exponent == -1023: // not normalized
		exponent++
	default:
		mantissa |= 1 << mantissaBits
	}
	digits := s.prec
	if digits < 0 {
		digits = digitsMax - zeroBits(mantissa)/4
	} else if digits < digitsMax {
		cut := mantissaBits - 4*digits
		half, rest := uint64(1)<<(cut-1), mantissa&(1<<cut-1)
		mantissa -= rest
		if rest > half || rest == half && mantissa>>cut&1 != 0 {
			mantissa += 1 << cut
		}
	}
	body := strconv.FormatUint(mantissa>>mantissaBits, 10)
	if digits > 0 || s.has('#') {
		body += "."
	}
	fraction := fmt.Sprintf("%013x", mantissa&(1<<mantissaBits-1))
	body += fraction[:min(digits, digitsMax)] + strings.Repeat("0", max(digits-digitsMax, 0))
	return body + fmt.Sprintf("p%+d", exponent)
}

// zeroBits counts the zero bits at the end of a mantissa's fraction.
func zeroBits(mantissa uint64) int {
	return bits.TrailingZeros64(mantissa&(1<<52-1) | 1<<52)
}

func pointer(v lua.LValue) string {
	switch v.(type) {
	case *lua.LTable, *lua.LFunction, *lua.LUserData:
		return fmt.Sprintf("%p", v)
	case lua.LString: // strings have no identity of their own here
		return "0x0"
	}
	return "(null)"
}

// stringSpec adds argument n by %s.
func (a args) stringSpec(out *buffer, s spec, n int) {
	text := a.toString(a.any(n))
	if s.text == "%s" {
		out.add(text)
		return
	}
	a.burn(int64(len(text)) >> 6)
	if strings.IndexByte(text, 0) >= 0 {
		a.argError(n, "string contains zeros")
	}
	a.parseSpec(&s, flagsString, true)
	if s.prec >= 0 && s.prec < len(text) {
		text = text[:s.prec]
	}
	pad(out, s, "", text)
}

// quoted adds argument n by %q, as a literal that Lua reads back.
func (a args) quoted(out *buffer, n int) {
	switch v := a.any(n).(type) {
	case lua.LString:
		a.quotedString(out, string(v))
	case lua.LNumber:
		out.add(quotedNumber(float64(v)))
	case number.Int:
		if v == math.MinInt64 {
			out.add("0x8000000000000000")
		} else {
			out.add(v.String())
		}
	case lua.LBool, *lua.LNilType:
		out.add(v.String())
	default:
		a.argError(n, "value has no literal form")
	}
}

func quotedNumber(x float64) string {
	switch {
	case math.IsNaN(x):
		return "(0/0)"
	case math.IsInf(x, 1):
		return "1e9999"
	case math.IsInf(x, -1):
		return "-1e9999"
	case number.IsInteger(lua.LNumber(x)):
		return number.Format(lua.LNumber(x))
	}
	sign := ""
	if x < 0 {
		sign = "-"
	}
	return sign + "0x" + hexFloat(math.Abs(x), spec{prec: -1})
}

func (a args) quotedString(out *buffer, s string) {
	out.addByte('"')
	for i := 0; i < len(s); i++ {
		c := s[i]
		if i&0xff == 0 {
			a.m().Burn(a.L, 128)
		}
		switch {
		case c == '"' || c == '\\' || c == '\n':
			out.addByte('\\')
			out.addByte(c)
		case c < ' ' || c == 127:
			if i+1 < len(s) && isDigit(s[i+1]) {
				out.add(fmt.Sprintf("\\%03d", c))
			} else {
				out.add("\\" + strconv.Itoa(int(c)))
			}
		default:
			out.addByte(c)
		}
	}
	out.addByte('"')
}
