package main

import (
	"flag"
	"os"
	"strings"
	"testing"

	"clm/luavm/internal/syntax/internal/reference"
)

var update = flag.Bool("update", false, "have lua5.4 write the expected output")

// A snippet is a line of the file: a program. Below it is what Lua 5.4 prints,
// and if ours has to differ, why, and what it prints.
type snippet struct {
	source string
	want   string
	reason string
	ours   string
}

const (
	wantMark   = "--> "
	reasonMark = "--~ "
	oursMark   = "--= "
	snippets   = "testdata/snippets.txt"
)

var escapes = strings.NewReplacer("\n", " ¦ ", "\x00", `\0`, "\r", `\r`)

// oneLine is output on a line.
func oneLine(s string) string {
	return strings.TrimSpace(escapes.Replace(strings.TrimSuffix(s, "\n")))
}

// TestSnippets runs the sandbox on programs that show how Lua 5.4 behaves.
func TestSnippets(t *testing.T) {
	b, err := os.ReadFile(snippets)
	if err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	var s snippet
	n := 0
	check := func() {
		if s.source == "" {
			return
		}
		n++
		got := oneLine(ours(s.source))
		if *update {
			s.update(t, &out, got)
		}
		switch {
		case got == s.want && s.reason != "":
			t.Logf("%s\n no longer differs: run the test with -update", s.source)
		case got != s.want && (s.reason == "" || got != s.ours):
			t.Errorf("%s\n got  %s\n want %s", s.source, got, s.want)
		}
	}
	for line := range strings.Lines(string(b)) {
		line = strings.TrimSuffix(line, "\n")
		switch {
		case line+" " == wantMark:
		case strings.HasPrefix(line, wantMark):
			s.want = strings.TrimPrefix(line, wantMark)
		case strings.HasPrefix(line, reasonMark):
			s.reason = strings.TrimPrefix(line, reasonMark)
		case strings.HasPrefix(line, oursMark):
			s.ours = strings.TrimPrefix(line, oursMark)
		default:
			check()
			s = snippet{source: line}
			if strings.HasPrefix(line, "# ") || line == "" {
				out.WriteString(line + "\n")
				s.source = ""
			}
		}
	}
	check()
	if n < 200 {
		t.Errorf("only %d snippets", n)
	}
	if *update {
		if err := os.WriteFile(snippets, []byte(out.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// update writes the snippet with what the reference says now.
func (s *snippet) update(t *testing.T, out *strings.Builder, got string) {
	lua := reference.Find()
	if lua == "" {
		t.Fatal("no lua5.4 to write the expected output")
	}
	want, err := reference.Run(lua, s.source)
	if err != nil {
		t.Fatal(err)
	}
	s.want = oneLine(want)
	if s.want == got {
		s.reason = ""
	}
	out.WriteString(s.source + "\n" + strings.TrimSpace(wantMark+s.want) + "\n")
	if s.reason != "" {
		s.ours = got
		out.WriteString(reasonMark + s.reason + "\n" + oursMark + s.ours + "\n")
	}
}
