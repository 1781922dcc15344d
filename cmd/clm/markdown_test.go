package main

import (
	"regexp"
	"strings"
	"testing"
)

func shown(s string, size int) string {
	var out strings.Builder
	m := newMarkdown(&out)
	for rest := s; rest != ""; {
		n := min(size, len(rest))
		for n < len(rest) && rest[n]&0xc0 == 0x80 {
			n++
		}
		_, _ = m.WriteString(rest[:n])
		rest = rest[n:]
	}
	_ = m.end()
	return out.String()
}

var styles = regexp.MustCompile("\x1b\\[[0-9;]*m")

// TestMarkdown holds what is styled, what of the text is kept, and that pieces
// make no difference.
func TestMarkdown(t *testing.T) {
	for in, want := range map[string]string{
		"plain *text* 2*3":        "plain *text* 2*3",
		"a **b** c":               "a \x1b[1mb\x1b[0m c",
		"**b**":                   "\x1b[1mb",
		"a `b*c` d":               "a \x1b[36mb*c\x1b[0m d",
		"# Title\ntext":           "\x1b[1m# Title\x1b[0m\ntext",
		"#no title":               "#no title",
		"- item\n* item":          "- item\n* item",
		"```go\nx := *p\n```\nok": "\x1b[36m```\x1b[0mgo\x1b[0m\n\x1b[36mx := *p\x1b[0m\n\x1b[36m```\x1b[0m\nok",
		"a **open":                "a \x1b[1mopen\x1b[0m",
	} {
		// Redundant resets do not matter.
		norm := func(s string) string {
			s = strings.ReplaceAll(s, "\x1b[0m\x1b[1m", "\x1b[1m")
			s = strings.ReplaceAll(s, "\x1b[0m\x1b[36m", "\x1b[36m")
			for strings.Contains(s, "\x1b[0m\x1b[0m") {
				s = strings.ReplaceAll(s, "\x1b[0m\x1b[0m", "\x1b[0m")
			}
			return strings.TrimSuffix(s, "\x1b[0m")
		}
		for size := 1; size < 8; size++ {
			if got := norm(shown(in, size)); got != norm(want) {
				t.Errorf("%q in pieces of %d:\n got %q\nwant %q", in, size, got, norm(want))
			}
		}
	}
}

// FuzzMarkdown holds that nothing but marks is left out, and that the terminal
// is as it was after an answer.
func FuzzMarkdown(f *testing.F) {
	f.Add("# a **b** `c`\n```\nd\n```\n", 3)
	f.Add("****```**`*", 1)
	f.Fuzz(func(t *testing.T, s string, size int) {
		if size < 1 || size > 64 {
			size = 5
		}
		s = clean(s)
		out := shown(s, size)
		bare := func(s string) string { return strings.NewReplacer("*", "", "`", "").Replace(s) }
		if bare(styles.ReplaceAllString(out, "")) != bare(s) {
			t.Errorf("%q became %q", s, out)
		}
		if all := styles.FindAllString(out, -1); len(all) > 0 && all[len(all)-1] != styleOff {
			t.Errorf("%q leaves the terminal styled: %q", s, out)
		}
	})
}

func TestHistory(t *testing.T) {
	path := t.TempDir() + "/state/history"
	h := openHistory(path, []string{"sk-planted"})
	for _, line := range []string{"one", "one", " hidden", "with sk-planted", "two␊lines", ""} {
		h.Add(line)
	}
	h = openHistory(path, nil)
	if h.Len() != 2 || h.At(0) != "two␊lines" || h.At(1) != "one" {
		t.Errorf("%q", h.lines)
	}
	for range maxHistory + 10 {
		h.Add("x")
		h.Add("y")
	}
	if h = openHistory(path, nil); h.Len() != maxHistory {
		t.Errorf("%d lines", h.Len())
	}
	if h = openHistory(path, nil); h.Len() != maxHistory {
		t.Errorf("%d lines after the file was cut", h.Len())
	}
}
