package main

import (
	"io"
	"strings"
)

// markdown shows a streamed answer on a terminal: headings and **strong** are
// bold, `code` and fences are coloured, and everything else is as it came. It
// decides with what has arrived and never takes back what it wrote.
type markdown struct {
	w      io.Writer
	bol    bool   // at the beginning of a line
	held   string // what may be the beginning of a mark
	fence  bool
	head   bool
	strong bool
	code   bool
}

func newMarkdown(w io.Writer) *markdown { return &markdown{w: w, bol: true} }

const (
	styleStrong = "\x1b[1m"
	styleCode   = "\x1b[36m"
	styleOff    = "\x1b[0m"
)

// WriteString implements io.StringWriter; the text is clean already.
func (m *markdown) WriteString(s string) (int, error) {
	var b strings.Builder
	for _, r := range s {
		m.rune(&b, r)
	}
	_, err := io.WriteString(m.w, b.String())
	return len(s), err
}

func (m *markdown) rune(b *strings.Builder, r rune) {
	if r == '`' || m.bol && r == '#' && len(m.held) < 6 || r == '*' && !m.fence {
		if m.held == "" || strings.HasPrefix(m.held, string(r)) {
			m.held += string(r)
			return
		}
	}
	m.mark(b, r)
	if r == '\n' {
		if m.head || m.strong || m.code {
			b.WriteString(styleOff)
		}
		m.head, m.strong, m.code = false, false, false
		if m.fence {
			b.WriteString(styleOff)
		}
		m.bol = true
		b.WriteRune(r)
		return
	}
	if m.bol && m.fence {
		b.WriteString(styleCode)
	}
	m.bol = m.bol && r == ' '
	b.WriteRune(r)
}

// mark writes the held characters, as a change of style if they are one.
func (m *markdown) mark(b *strings.Builder, next rune) {
	held := m.held
	m.held = ""
	switch {
	case held == "":
	case m.bol && strings.HasPrefix(held, "```"):
		m.fence = !m.fence
		b.WriteString(styleCode + held + styleOff)
		m.bol = false
	case m.bol && held[0] == '#' && next == ' ' && !m.fence:
		m.head = true
		b.WriteString(styleStrong + held)
		m.bol = false
	case held == "**" && !m.fence && !m.code:
		m.strong = !m.strong
		m.style(b)
		m.bol = false
	case held == "`" && !m.fence:
		m.code = !m.code
		m.style(b)
		m.bol = false
	default:
		b.WriteString(held)
		m.bol = false
	}
}

// style sets the style that holds now.
func (m *markdown) style(b *strings.Builder) {
	b.WriteString(styleOff)
	if m.strong || m.head {
		b.WriteString(styleStrong)
	}
	if m.code {
		b.WriteString(styleCode)
	}
}

// end finishes an answer: nothing is held, and the terminal is as it was.
func (m *markdown) end() error {
	var b strings.Builder
	m.mark(&b, '\n')
	if m.strong || m.code || m.fence || m.head {
		b.WriteString(styleOff)
	}
	*m = markdown{w: m.w, bol: true}
	_, err := io.WriteString(m.w, b.String())
	return err
}
