package main

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// clean removes what could act on a terminal from text of a model, a tool or a
// server: control characters but tab and newline, and invalid UTF-8. Without
// its first character an escape sequence is harmless text. It works on pieces
// of a stream as on the whole.
func clean(s string) string {
	if utf8.ValidString(s) && !strings.ContainsFunc(s, isControl) {
		return s
	}
	return strings.Map(func(r rune) rune {
		if isControl(r) {
			return -1
		}
		return r
	}, strings.ToValidUTF8(s, "\ufffd"))
}

func isControl(r rune) bool {
	return r < ' ' && r != '\n' && r != '\t' || r >= 0x7f && r < 0xa0
}

// oneLine is clean text without line breaks, and with the characters that
// reorder text made visible, for questions that must show what they mean.
func oneLine(s string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\n' || r == '\t' || r == '\u2028' || r == '\u2029':
			return ' '
		case r >= 0x202a && r <= 0x202e || r >= 0x2066 && r <= 0x2069:
			return utf8.RuneError
		}
		return r
	}, clean(s))
}

// clip shortens text to at most n runes.
func clip(s string, n int) string {
	if utf8.RuneCountInString(s) <= n {
		return s
	}
	r := []rune(s)
	return string(r[:n-1]) + "…"
}

// count is a number of things: "1 line", "2 lines".
func count(n int, one string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %ss", n, one)
}
