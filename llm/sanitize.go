package llm

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// Clean makes text from outside safe for a model, a screen and a log: valid
// UTF-8 (a run of bad bytes becomes one U+FFFD), no terminal escape sequences,
// no control characters but tab and newline. CR LF and a lone CR become a
// newline. Clean text is returned as it is, without a copy.
func Clean(s string) string {
	i := 0
	for i < len(s) && (s[i] >= ' ' && s[i] < 0x7f || s[i] == '\n' || s[i] == '\t') {
		i++
	}
	if i == len(s) {
		return s
	}
	return cleanFrom(s, i)
}

// cleanFrom cleans s, whose first i bytes are known to be clean. It copies
// only once something has to go.
func cleanFrom(s string, i int) string {
	var b strings.Builder
	done := 0 // s[:done] is in b
	for i < len(s) {
		size, put := nextUnclean(s[i:])
		if put == keepAsIs {
			i += size
			continue
		}
		if b.Cap() == 0 {
			b.Grow(len(s))
		}
		b.WriteString(s[done:i])
		b.WriteString(put)
		i += size
		done = i
	}
	if done == 0 {
		return s
	}
	b.WriteString(s[done:])
	return b.String()
}

// keepAsIs is nextUnclean's mark for a character that stays. No replacement
// is ever a NUL.
const keepAsIs = "\x00"

// nextUnclean looks at the first character of s: its size in bytes, or that of
// the sequence that it begins, and what to write instead.
func nextUnclean(s string) (size int, put string) {
	c := s[0]
	switch {
	case c == '\r':
		if len(s) > 1 && s[1] == '\n' {
			return 2, "\n"
		}
		return 1, "\n"
	case c == 0x1b:
		return escapeLen(s), ""
	case c == '\n' || c == '\t' || c >= ' ' && c < 0x7f:
		return 1, keepAsIs
	case c < utf8.RuneSelf:
		return 1, ""
	}
	r, n := utf8.DecodeRuneInString(s)
	switch {
	case r == utf8.RuneError && n == 1:
		return badRun(s), "\ufffd"
	case r == 0x9b: // CSI as one character
		return n + csiLen(s[n:]), ""
	case r >= 0x80 && r < 0xa0:
		return n, ""
	}
	return n, keepAsIs
}

// badRun is the number of bytes at the start of s that belong to no character.
func badRun(s string) int {
	n := 1
	for n < len(s) {
		if r, size := utf8.DecodeRuneInString(s[n:]); r != utf8.RuneError || size != 1 {
			break
		}
		n++
	}
	return n
}

// escapeLen is the length of the escape sequence at the start of s, which
// begins with ESC. A string sequence (title, link) that has no end on its line
// costs only its introducer, so that it cannot swallow the text after it.
func escapeLen(s string) int {
	if len(s) < 2 {
		return 1
	}
	switch c := s[1]; {
	case c == '[':
		return 2 + csiLen(s[2:])
	case strings.IndexByte("]PX^_", c) >= 0:
		return 2 + stringSeqLen(s[2:])
	case c >= 0x20 && c < 0x30: // intermediate bytes, as in ESC ( B
		n := 2
		for n < len(s) && s[n] >= 0x20 && s[n] < 0x30 {
			n++
		}
		if n < len(s) && s[n] >= 0x30 && s[n] < 0x7f {
			n++
		}
		return n
	case c >= 0x30 && c < 0x7f:
		return 2
	}
	return 1
}

// csiLen is the length of a control sequence's parameters and final byte.
func csiLen(s string) int {
	n := 0
	for n < len(s) && s[n] >= 0x20 && s[n] < 0x40 {
		n++
	}
	if n < len(s) && s[n] >= 0x40 && s[n] < 0x7f {
		n++
	}
	return n
}

func stringSeqLen(s string) int {
	for i := 0; i < len(s); i++ {
		switch {
		case s[i] == '\n':
			return 0
		case s[i] == 0x07:
			return i + 1
		case s[i] == 0x1b && i+1 < len(s) && s[i+1] == '\\':
			return i + 2
		case s[i] == 0xc2 && i+1 < len(s) && s[i+1] == 0x9c:
			return i + 2
		}
	}
	return 0
}

// Clip shortens s to at most maxBytes bytes: it keeps the head and the tail,
// cut between characters, with a note between them of how many bytes are
// missing. Where there is no room for the note only the head is kept.
func Clip(s string, maxBytes int) string {
	if len(s) <= maxBytes {
		return s
	}
	// The number in the note is at most len(s), so the room that the widest
	// note takes is enough for the real one.
	room := maxBytes - len(clipNote(len(s)))
	if room < 2 {
		return s[:cutBefore(s, max(maxBytes, 0))]
	}
	head := cutBefore(s, (room+1)/2)
	tail := cutAfter(s, len(s)-room/2)
	return s[:head] + clipNote(tail-head) + s[tail:]
}

func clipNote(n int) string { return fmt.Sprintf("\n[… %d bytes left out …]\n", n) }

// cutBefore is the last character boundary at or before n, cutAfter the first
// at or after it. In text that is not UTF-8 they move by at most three bytes.
func cutBefore(s string, n int) int {
	for i := 0; i < utf8.UTFMax-1 && n > 0 && n < len(s) && !utf8.RuneStart(s[n]); i++ {
		n--
	}
	return n
}

func cutAfter(s string, n int) int {
	for i := 0; i < utf8.UTFMax-1 && n < len(s) && !utf8.RuneStart(s[n]); i++ {
		n++
	}
	return n
}
