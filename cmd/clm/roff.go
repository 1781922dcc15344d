package main

import (
	"strings"
	"unicode/utf8"
)

// renderMan turns a manual page into text for people, width columns wide. It
// knows the part of man(7) that the pages in man/ use; `clm man --raw` gives
// the source to those who have man(1).
func renderMan(source string, width int) string {
	r := &manPage{width: max(width, 40)}
	for line := range strings.Lines(source) {
		r.line(strings.TrimRight(line, "\n"))
	}
	r.flush()
	return strings.TrimLeft(r.out.String(), "\n")
}

type manPage struct {
	out     strings.Builder
	width   int
	words   []string // of the paragraph that is being filled
	wantTag bool     // after .TP: the next text stands alone
	indent  int
	literal bool
}

func (r *manPage) line(s string) {
	if !strings.HasPrefix(s, ".") {
		r.text(unroff(s))
		return
	}
	macro, rest, _ := strings.Cut(s[1:], " ")
	switch macro {
	case "TH":
	case "SH", "SS":
		r.flush()
		lead := "\n"
		if macro == "SS" {
			lead = "\n  "
		}
		r.out.WriteString(lead + unroff(rest) + "\n")
		r.indent = 4
	case "PP":
		r.flush()
		r.indent = 4
		r.out.WriteString("\n")
	case "TP":
		r.flush()
		r.wantTag, r.indent = true, 8
	case "br":
		r.flush()
	case "EX", "EE":
		r.flush()
		r.literal = macro == "EX"
	case "B", "I":
		r.text(unroff(strings.Trim(rest, `"`)))
	case "BR", "BI", "IR", "RI", "RB", "IB":
		r.text(unroff(strings.Join(roffArgs(rest), "")))
	}
}

func (r *manPage) text(s string) {
	switch {
	case r.literal:
		r.out.WriteString(strings.Repeat(" ", r.indent+2) + s + "\n")
	case r.wantTag:
		r.wantTag = false
		r.out.WriteString(strings.Repeat(" ", 4) + s + "\n")
	default:
		r.words = append(r.words, strings.Fields(s)...)
	}
}

// flush fills the paragraph.
func (r *manPage) flush() {
	column := 0
	for _, w := range r.words {
		n := utf8.RuneCountInString(w)
		switch {
		case column == 0:
			r.out.WriteString(strings.Repeat(" ", r.indent))
			column = r.indent
		case column+1+n > r.width:
			r.out.WriteString("\n" + strings.Repeat(" ", r.indent))
			column = r.indent
		default:
			r.out.WriteByte(' ')
			column++
		}
		r.out.WriteString(w)
		column += n
	}
	if column > 0 {
		r.out.WriteByte('\n')
	}
	r.words = nil
}

// unroff removes font changes and escapes.
func unroff(s string) string {
	return strings.NewReplacer(`\fB`, "", `\fI`, "", `\fR`, "", `\fP`, "", `\-`, "-", `\e`, `\`, `\&`, "").Replace(s)
}

// roffArgs splits a macro's arguments; quotes keep spaces.
func roffArgs(s string) (out []string) {
	for s = strings.TrimLeft(s, " "); s != ""; s = strings.TrimLeft(s, " ") {
		var arg string
		if s[0] == '"' {
			arg, s, _ = strings.Cut(s[1:], `"`)
		} else {
			arg, s, _ = strings.Cut(s, " ")
		}
		out = append(out, arg)
	}
	return out
}
