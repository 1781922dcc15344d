package syntax

import (
	"strconv"
	"strings"
)

func (x *lexer) longString(n int) token {
	start := x.pos
	s := x.long(n, "string")
	open := x.src[start : start+n+2]
	return token{kind: tString, text: s, near: open + s + strings.ReplaceAll(open, "[", "]"), line: x.line}
}

// long reads a long bracket with n "=" and returns its text, with each line end
// as "\n" and without one at the start.
func (x *lexer) long(n int, what string) string {
	start := x.line
	x.pos += n + 2
	if c := x.at(0); (c == '\n' || c == '\r') && x.pos < len(x.src) {
		x.newline()
	}
	var b strings.Builder
	from := x.pos
	end := "]" + strings.Repeat("=", n) + "]"
	for x.pos < len(x.src) {
		switch x.src[x.pos] {
		case ']':
			if strings.HasPrefix(x.src[x.pos:], end) {
				s := x.src[from:x.pos]
				x.pos += len(end)
				if b.Len() == 0 {
					return s
				}
				b.WriteString(s)
				return b.String()
			}
			x.pos++
		case '\r', '\n':
			if plain := x.src[x.pos] == '\n' && x.at(1) != '\r'; plain {
				x.pos++
				x.line++
				continue
			}
			b.WriteString(x.src[from:x.pos])
			b.WriteByte('\n')
			x.newline()
			from = x.pos
		default:
			x.pos++
		}
	}
	x.errorNear("unfinished long "+what+" (starting at line "+strconv.Itoa(start)+")", "<eof>")
	return ""
}

// quoted reads a string in quotes.
func (x *lexer) quoted(quote byte) token {
	start := x.pos
	x.pos++
	for i := x.pos; i < len(x.src); i++ {
		switch c := x.src[i]; c {
		case quote:
			s := x.src[x.pos:i]
			x.pos = i + 1
			return token{kind: tString, text: s, near: x.src[start:x.pos], line: x.line}
		case '\\', '\n', '\r':
			return x.escaped(quote, i)
		}
	}
	x.errorNear("unfinished string", "<eof>")
	return token{}
}

// escaped reads the rest of a string from position i on, where an escape is, or
// an error.
func (x *lexer) escaped(quote byte, i int) token {
	b := append([]byte{quote}, x.src[x.pos:i]...)
	x.pos = i
	for x.pos < len(x.src) {
		switch c := x.src[x.pos]; c {
		case quote:
			x.pos++
			s := string(b[1:])
			return token{kind: tString, text: s, near: string(b) + string(quote), line: x.line}
		case '\n', '\r':
			x.errorNear("unfinished string", "'"+clipText(string(b))+"'")
		case '\\':
			b = x.escape(b)
		default:
			b = append(b, c)
			x.pos++
		}
	}
	x.errorNear("unfinished string", "<eof>")
	return token{}
}

var simpleEscapes = map[byte]byte{
	'a': '\a', 'b': '\b', 'f': '\f', 'n': '\n', 'r': '\r', 't': '\t', 'v': '\v',
	'\\': '\\', '"': '"', '\'': '\'',
}

// escape appends what the escape sequence at the position stands for.
func (x *lexer) escape(b []byte) []byte {
	c := x.at(1)
	switch {
	case x.pos+1 >= len(x.src):
		x.pos++
		return b // the caller reports the end of the source
	case c == '\n' || c == '\r':
		x.pos++
		x.newline()
		return append(b, '\n')
	case c == 'x':
		return append(b, x.hexEscape(b))
	case c == 'u':
		return x.utf8Escape(b)
	case c == 'z':
		x.pos += 2
		for x.pos < len(x.src) {
			switch x.src[x.pos] {
			case '\n', '\r':
				x.newline()
			case ' ', '\t', '\v', '\f':
				x.pos++
			default:
				return b
			}
		}
		return b
	case digit(c):
		return append(b, x.decimalEscape(b))
	}
	v, ok := simpleEscapes[c]
	if !ok {
		x.badEscape(b, 1, "invalid escape sequence")
	}
	x.pos += 2
	return append(b, v)
}

// badEscape raises msg; n is the number of bytes behind the backslash that were
// right or are the wrong one.
func (x *lexer) badEscape(b []byte, n int, msg string) {
	end := min(x.pos+n+1, len(x.src))
	x.errorNear(msg, "'"+clipText(string(b)+x.src[x.pos:end])+"'")
}

func (x *lexer) hexEscape(b []byte) byte {
	for i := 2; i < 4; i++ {
		if !hexDigit(x.at(i)) {
			x.badEscape(b, i, "hexadecimal digit expected")
		}
	}
	v, _ := strconv.ParseUint(x.src[x.pos+2:x.pos+4], 16, 8)
	x.pos += 4
	return byte(v)
}

func (x *lexer) decimalEscape(b []byte) byte {
	v, n := 0, 1
	for n < 4 && digit(x.at(n)) {
		v = v*10 + int(x.at(n)-'0')
		n++
	}
	if v > 255 {
		x.badEscape(b, n, "decimal escape too large")
	}
	x.pos += n
	return byte(v)
}

func (x *lexer) utf8Escape(b []byte) []byte {
	if x.at(2) != '{' {
		x.badEscape(b, 2, "missing '{'")
	}
	n := 3
	if !hexDigit(x.at(n)) {
		x.badEscape(b, n, "hexadecimal digit expected")
	}
	var v uint64
	for ; hexDigit(x.at(n)); n++ {
		d, _ := strconv.ParseUint(x.src[x.pos+n:x.pos+n+1], 16, 8)
		if v = v<<4 | d; v > 0x7fffffff {
			x.badEscape(b, n, "UTF-8 value too large")
		}
	}
	if x.at(n) != '}' {
		x.badEscape(b, n, "missing '}'")
	}
	x.pos += n + 1
	return appendUTF8(b, uint32(v))
}

// appendUTF8 encodes values up to 2^31, in up to six bytes.
func appendUTF8(b []byte, v uint32) []byte {
	if v < 0x80 {
		return append(b, byte(v))
	}
	var buf [6]byte
	n, first := len(buf), uint32(0x3f)
	for v > first {
		n--
		buf[n] = byte(0x80 | v&0x3f)
		v >>= 6
		first >>= 1
	}
	n--
	buf[n] = byte(^first<<1 | v)
	return append(b, buf[n:]...)
}
