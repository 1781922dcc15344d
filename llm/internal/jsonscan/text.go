package jsonscan

import (
	"unicode/utf16"
	"unicode/utf8"
)

// Text joins the pieces of a text that arrives as many JSON strings. A
// character may be cut between two pieces, as raw bytes or as the two escapes
// of a surrogate pair: it is held back until it is whole. What cannot be
// completed becomes U+FFFD. The zero Text is empty.
type Text struct {
	buf  []byte // decoded; may end with the first bytes of a character
	done int    // buf[:done] was returned by Append and is valid UTF-8
	high rune   // a high surrogate whose other half has not come
}

// Append adds the inner text of a JSON string and returns what became whole.
func (t *Text) Append(inner []byte) string {
	if plain(inner) && t.high == 0 && t.done == len(t.buf) {
		t.buf = append(t.buf, inner...)
		t.done = len(t.buf)
		return string(inner)
	}
	for i := 0; i < len(inner); {
		if inner[i] != '\\' || i+1 == len(inner) {
			t.flushHigh()
			t.buf = append(t.buf, inner[i])
			i++
			continue
		}
		i += t.escape(inner[i:])
	}
	return t.settle(len(t.buf) - partial(t.buf[t.done:]))
}

// AppendRaw adds text that is not escaped, and returns it with what was held
// back before it.
func (t *Text) AppendRaw(s []byte) string {
	t.flushHigh()
	t.buf = append(t.buf, s...)
	return t.settle(len(t.buf))
}

// Len is the size of what came, in bytes.
func (t *Text) Len() int { return len(t.buf) }

// Bytes is what came so far and is whole, valid until the next call.
func (t *Text) Bytes() []byte { return t.buf[:t.done] }

// String ends the text and returns all of it, as valid UTF-8.
func (t *Text) String() string {
	t.flushHigh()
	t.settle(len(t.buf))
	return string(t.buf)
}

// settle makes buf[done:end] valid UTF-8, counts it as done and returns it.
func (t *Text) settle(end int) string {
	if end <= t.done {
		return ""
	}
	tail := string(t.buf[end:])
	s := string(t.buf[t.done:end])
	if !utf8.ValidString(s) {
		t.buf = t.buf[:t.done]
		for _, r := range s { // each bad byte is one U+FFFD, as in encoding/json
			t.buf = utf8.AppendRune(t.buf, r)
		}
		s = string(t.buf[t.done:])
		t.buf = append(t.buf, tail...)
	}
	t.done += len(s)
	return s
}

// flushHigh gives up on a lone surrogate.
func (t *Text) flushHigh() {
	if t.high != 0 {
		t.buf = utf8.AppendRune(t.buf, utf8.RuneError)
		t.high = 0
	}
}

// escape decodes the escape that b starts with and returns its length.
func (t *Text) escape(b []byte) int {
	if b[1] == 'u' && len(b) >= 6 {
		t.unit(hex4(b[2:6]))
		return 6
	}
	t.flushHigh()
	c := b[1]
	switch c {
	case 'b':
		c = '\b'
	case 'f':
		c = '\f'
	case 'n':
		c = '\n'
	case 'r':
		c = '\r'
	case 't':
		c = '\t'
	}
	t.buf = append(t.buf, c)
	return 2
}

// unit takes one UTF-16 code unit.
func (t *Text) unit(u rune) {
	if t.high != 0 {
		if r := utf16.DecodeRune(t.high, u); r != utf8.RuneError {
			t.buf = utf8.AppendRune(t.buf, r)
			t.high = 0
			return
		}
		t.flushHigh()
	}
	if u >= 0xD800 && u < 0xDC00 {
		t.high = u
		return
	}
	t.buf = utf8.AppendRune(t.buf, u) // a lone low surrogate becomes U+FFFD
}

func hex4(b []byte) rune {
	var r rune
	for _, c := range b {
		r <<= 4
		switch {
		case c >= '0' && c <= '9':
			r |= rune(c - '0')
		case c >= 'a' && c <= 'f':
			r |= rune(c - 'a' + 10)
		case c >= 'A' && c <= 'F':
			r |= rune(c - 'A' + 10)
		}
	}
	return r
}

// plain tells that inner is its own decoded form.
func plain(inner []byte) bool {
	for _, c := range inner {
		if c == '\\' {
			return false
		}
	}
	return utf8.Valid(inner)
}

// partial is the number of bytes at b's end that begin a character and may be
// completed later.
func partial(b []byte) int {
	for n := 1; n <= min(3, len(b)); n++ {
		if c := b[len(b)-n]; utf8.RuneStart(c) {
			if c >= utf8.RuneSelf && !utf8.FullRune(b[len(b)-n:]) {
				return n
			}
			return 0
		}
	}
	return 0
}

const hexDigits = "0123456789abcdef"

// AppendString appends s as a JSON string. Bytes that are not UTF-8 become
// U+FFFD; nothing is escaped for HTML.
func AppendString(dst []byte, s string) []byte {
	dst = append(dst, '"')
	from := 0
	for i := 0; i < len(s); {
		c := s[i]
		if c < utf8.RuneSelf {
			if c >= ' ' && c != '"' && c != '\\' {
				i++
				continue
			}
			dst = append(dst, s[from:i]...)
			switch c {
			case '"', '\\':
				dst = append(dst, '\\', c)
			case '\n':
				dst = append(dst, '\\', 'n')
			case '\r':
				dst = append(dst, '\\', 'r')
			case '\t':
				dst = append(dst, '\\', 't')
			default:
				dst = append(dst, '\\', 'u', '0', '0', hexDigits[c>>4], hexDigits[c&15])
			}
			i++
			from = i
			continue
		}
		r, n := utf8.DecodeRuneInString(s[i:])
		if r == utf8.RuneError && n == 1 {
			dst = append(append(dst, s[from:i]...), "\uFFFD"...)
			from = i + 1
		}
		i += n
	}
	return append(append(dst, s[from:]...), '"')
}
