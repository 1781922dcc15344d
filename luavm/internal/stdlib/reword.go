package stdlib

import (
	"strings"

	"clm/luavm/internal/number"
)

// Reword turns the text of an error that gopher-lua itself has raised into the
// words of Lua 5.4; other texts come back as they are. The metatables of
// Libs.Types raise most such errors; what is left happens between tables and
// userdata only.
func Reword(text string) string {
	at := strings.Index(text, ": ") // the end of a position
	switch {
	case strings.HasPrefix(text, " "): // of an empty one
		text, at = text[1:], 0
	case at >= 0:
		at += 2
	default:
		at = 0
	}
	head, msg := text[:at], text[at:]
	for _, r := range rewordings {
		if !strings.HasPrefix(msg, r.prefix) {
			continue
		}
		if s := r.words(msg[len(r.prefix):]); s != "" {
			return head + s
		}
	}
	return text
}

var rewordings = []struct {
	prefix string
	words  func(rest string) string // "": not this one after all
}{
	{"cannot perform concat operation between ", func(rest string) string {
		return "attempt to concatenate a " + firstWord(rest) + " value"
	}},
	{"cannot perform ", func(rest string) string {
		_, types, ok := strings.Cut(rest, " operation between ")
		if !ok {
			return ""
		}
		return "attempt to perform arithmetic on a " + firstWord(types) + " value"
	}},
	{"__unm undefined", func(string) string { return "attempt to perform arithmetic on a table value" }},
	{"__len undefined", func(string) string { return "attempt to get length of a userdata value" }},
	{"attempt to compare ", func(rest string) string {
		a, b, ok := strings.Cut(rest, " with ")
		switch {
		case !ok:
			return ""
		case a == b:
			return "attempt to compare two " + a + " values"
		}
		return "attempt to compare " + plainType(a) + " with " + plainType(b)
	}},
	{"attempt to call a non-function object", func(string) string { return "attempt to call a table value" }},
	{"attempt to index a non-table object(", func(rest string) string {
		typ, _, ok := strings.Cut(rest, ")")
		if !ok {
			return ""
		}
		return "attempt to index a " + typ + " value"
	}},
	{"too many recursions in gettable", func(string) string { return "'__index' chain too long; possible loop" }},
	{"too many recursions in settable", func(string) string { return "'__newindex' chain too long; possible loop" }},
	{"registry overflow", func(string) string { return "stack overflow" }},
}

// plainType names a type for people.
func plainType(typ string) string {
	if typ == number.Int(0).Type().String() {
		return "number"
	}
	return typ
}

func firstWord(s string) string {
	w, _, _ := strings.Cut(s, " ")
	return w
}
