package permit

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"clm/actors/internal/glob"
)

const (
	maxValue = 1500 // bytes of one argument in a question
	maxShown = 16   // arguments in a question
)

// Question is the text that a person decides by: the tool, what its author or
// the engine says the call does (reason, may be empty), the resolved path, each
// argument on its line, and what an answer for good would hold for. It is bounded, and nothing in it can act on a
// terminal or hide.
func Question(q Query, reason string) string {
	var b strings.Builder
	switch q.Access {
	case NoAccess:
		fmt.Fprintf(&b, "run %s", Visible(q.Tool, 128))
	default:
		fmt.Fprintf(&b, "%s wants to %s a file", Visible(q.Tool, 128), q.Access)
	}
	if reason != "" {
		fmt.Fprintf(&b, ": %s", Visible(reason, maxValue))
	}
	if q.Path != "" {
		fmt.Fprintf(&b, "\n  real path: %s", Visible(q.Path, maxValue))
	}
	if q.Access == NoAccess {
		writeArgs(&b, q.Args)
	}
	fmt.Fprintf(&b, "\nan answer for good holds for %s", covers(q)) // not indented: no argument looks like it
	return b.String()
}

// covers says what an answer "always" or "never" to q holds for, as
// [Rules.Remember] has it.
func covers(q Query) string {
	switch {
	case q.Access != NoAccess:
		return fmt.Sprintf("each %s of this file", q.Access)
	case isCommand(q.Tool):
		return "this exact command with this input alone"
	}
	return "every call of " + Visible(q.Tool, 128)
}

func writeArgs(b *strings.Builder, args string) {
	dec := json.NewDecoder(strings.NewReader(args))
	if t, err := dec.Token(); err != nil || t != json.Delim('{') {
		if strings.TrimSpace(args) != "" {
			fmt.Fprintf(b, "\n  arguments: %s", Visible(args, maxValue))
		}
		return
	}
	for n := 0; dec.More(); n++ {
		key, err := dec.Token()
		var raw json.RawMessage
		if err == nil {
			err = dec.Decode(&raw)
		}
		if err != nil {
			fmt.Fprintf(b, "\n  arguments that do not parse: %s", Visible(args, maxValue))
			return
		}
		if n >= maxShown {
			fmt.Fprintf(b, "\n  and more: %s", Visible(args, maxValue))
			return
		}
		fmt.Fprintf(b, "\n  %s: %s", Visible(fmt.Sprint(key), 128), Visible(value(raw), maxValue))
	}
}

func value(raw json.RawMessage) string {
	var s string
	if json.Unmarshal(raw, &s) == nil {
		return s
	}
	var b bytes.Buffer
	if json.Compact(&b, raw) != nil {
		return string(raw)
	}
	return b.String()
}

// Visible returns s in at most about max bytes, as a person may safely see it:
// control, format and bidirectional characters, odd spaces and bytes that are
// not UTF-8 as escapes, and what is too long without its middle, whose length
// is said.
func Visible(s string, max int) string {
	if len(s) > max {
		head, tail := runeCut(s, max*2/3), s[len(s)-max/3:]
		for len(tail) > 0 && !utf8.RuneStart(tail[0]) {
			tail = tail[1:]
		}
		return visible(head) + fmt.Sprintf(" … (%d bytes more) … ", len(s)-len(head)-len(tail)) + visible(tail)
	}
	return visible(s)
}

func runeCut(s string, n int) string {
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n]
}

func visible(s string) string {
	var b strings.Builder
	for i := 0; i < len(s); {
		r, n := utf8.DecodeRuneInString(s[i:])
		switch {
		case r == utf8.RuneError && n == 1:
			fmt.Fprintf(&b, `\x%02x`, s[i])
		case r == '\n':
			b.WriteString(`\n`)
		case r == '\t':
			b.WriteString(`\t`)
		case r == '\r':
			b.WriteString(`\r`)
		case hidden(r) && r < 0x100:
			fmt.Fprintf(&b, `\x%02x`, r)
		case hidden(r):
			fmt.Fprintf(&b, `\u%04x`, r)
		default:
			b.WriteRune(r)
		}
		i += n
	}
	return b.String()
}

// hidden tells whether a character shows nothing, or changes how others show.
func hidden(r rune) bool {
	return unicode.In(r, unicode.Cc, unicode.Cf, unicode.Co, unicode.Zl, unicode.Zp, unicode.Variation_Selector) ||
		r != ' ' && unicode.Is(unicode.Zs, r) ||
		r == 0x115F || r == 0x1160 || r == 0x3164 || r == 0xFFA0 || r == 0x2800
}

// HowToAllow says in one sentence how a call that nobody could be asked about
// could be allowed, for the model and the log of a run without a terminal. A
// rule that would allow more than the call says so.
func HowToAllow(q Query) string {
	rule, more := glob.Quote(q.Tool), ""
	switch {
	case q.Access != NoAccess:
		rule = "file:" + glob.Quote(q.Path)
	case isCommand(q.Tool):
		more = ", which allows every command, as no rule allows just one that is compound or has input,"
		var args struct{ Command, Stdin string }
		if json.Unmarshal([]byte(q.Args), &args) == nil && args.Stdin == "" {
			if c := normalise(args.Command); simple(c) && len(c) <= 200 {
				rule, more = "shell_exec:"+glob.Quote(c), ""
			}
		}
	}
	return fmt.Sprintf("there is nobody to ask; the user can allow it with --allow %s%s a rule in permissions.allow, or --yes",
		Visible("'"+strings.ReplaceAll(rule, "'", `'\''`)+"'", 300), cmp.Or(more, ","))
}
