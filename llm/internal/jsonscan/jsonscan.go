// Package jsonscan picks a few members out of JSON text without decoding the
// rest, and writes JSON strings. A streamed answer is hundreds of small objects
// of which one or two members matter; decoding each into a struct would cost
// most of the client's time.
//
// What it walks must be valid JSON, which the caller checks once for the whole
// text ([encoding/json.Valid] allocates nothing). On other text it stays
// within bounds and ends, but what it yields means nothing.
package jsonscan

import (
	"bytes"
	"iter"
)

// Members yields the members of an object: the name, unquoted, and the value's
// JSON text. It yields nothing when b is not an object. The slices are parts of
// b, unless a name is escaped.
func Members(b []byte) iter.Seq2[[]byte, []byte] {
	return func(yield func(name, value []byte) bool) { members(b, yield) }
}

func members(b []byte, yield func(name, value []byte) bool) {
	i := skipSpace(b, 0)
	if i >= len(b) || b[i] != '{' {
		return
	}
	for i = skipSpace(b, i+1); i < len(b) && b[i] == '"'; i = skipSpace(b, i+1) {
		end := skipString(b, i)
		name := b[i+1 : max(end-1, i+1)]
		if bytes.IndexByte(name, '\\') >= 0 {
			var t Text
			t.Append(name)
			name = []byte(t.String())
		}
		i = skipSpace(b, end)
		if i >= len(b) || b[i] != ':' {
			return
		}
		i = skipSpace(b, i+1)
		end = skipValue(b, i)
		if !yield(name, b[i:end]) {
			return
		}
		i = skipSpace(b, end)
		if i >= len(b) || b[i] != ',' {
			return
		}
	}
}

// Elements yields the JSON text of each element of an array. A value that is
// no array is taken for an array of it alone, null for an empty one: servers
// differ in that.
func Elements(b []byte) iter.Seq[[]byte] {
	return func(yield func(value []byte) bool) { elements(b, yield) }
}

func elements(b []byte, yield func(value []byte) bool) {
	i := skipSpace(b, 0)
	if i >= len(b) || IsNull(b) {
		return
	}
	if b[i] != '[' {
		yield(b[i:])
		return
	}
	for i = skipSpace(b, i+1); i < len(b) && b[i] != ']'; i = skipSpace(b, i+1) {
		end := skipValue(b, i)
		if !yield(b[i:end]) {
			return
		}
		i = skipSpace(b, end)
		if i >= len(b) || b[i] != ',' {
			return
		}
	}
}

// IsNull tells whether a value is absent or null.
func IsNull(b []byte) bool {
	b = bytes.TrimSpace(b)
	return len(b) == 0 || string(b) == "null"
}

// IsString tells whether a value is a string.
func IsString(b []byte) bool { return len(b) >= 2 && b[0] == '"' }

// Inner is a string's text between its quotes, still escaped.
func Inner(b []byte) []byte { return b[1 : len(b)-1] }

// String is the value of a string, the text of a number, and "" for anything
// else.
func String(b []byte) string {
	switch {
	case IsString(b):
		inner := Inner(b)
		if plain(inner) {
			return string(inner)
		}
		var t Text
		t.Append(inner)
		return t.String()
	case len(b) > 0 && (b[0] == '-' || isDigit(b[0])):
		return string(b)
	}
	return ""
}

func isDigit(c byte) bool { return c >= '0' && c <= '9' }

func skipSpace(b []byte, i int) int {
	for i < len(b) && (b[i] == ' ' || b[i] == '\n' || b[i] == '\r' || b[i] == '\t') {
		i++
	}
	return i
}

// skipString returns the index after the string that starts at i.
func skipString(b []byte, i int) int {
	for i++; i < len(b); i++ {
		j := bytes.IndexByte(b[i:], '"')
		if j < 0 {
			return len(b)
		}
		i += j
		slashes := 0
		for b[i-1-slashes] == '\\' { // ends at the opening quote
			slashes++
		}
		if slashes%2 == 0 {
			return i + 1
		}
	}
	return len(b)
}

// skipValue returns the index after the value that starts at i.
func skipValue(b []byte, i int) int {
	for depth := 0; i < len(b); {
		switch b[i] {
		case '"':
			i = skipString(b, i)
			if depth == 0 {
				return i
			}
			continue
		case '{', '[':
			depth++
		case '}', ']':
			if depth == 0 {
				return i // of the object around a bare value
			}
			if depth--; depth == 0 {
				return i + 1
			}
		case ',', ' ', '\n', '\r', '\t':
			if depth == 0 {
				return i
			}
		}
		i++
	}
	return len(b)
}
