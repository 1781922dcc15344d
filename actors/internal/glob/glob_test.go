package glob

import (
	"errors"
	"strings"
	"testing"
)

func TestMatch(t *testing.T) {
	for _, c := range []struct {
		pattern, text string
		path, want    bool
	}{
		{"", "", false, true},
		{"", "a", false, false},
		{"*", "", false, true},
		{"*", "a/b c", false, true},
		{"git *", "git push", false, true},
		{"git *", "git", false, false},
		{"mcp__*__read", "mcp__x__read", false, true},
		{"a?c", "aéc", false, true},
		{"[a-c]x", "bx", false, true},
		{"[!a-c]x", "bx", false, false},
		{"[]]x", "]x", false, true},
		{`[\]]x`, "]x", false, true},
		{`\*`, "*", false, true},
		{`\*`, "a", false, false},
		{"/a/*", "/a/b", true, true},
		{"/a/*", "/a/b/c", true, false},
		{"/a/**", "/a/b/c", true, true},
		{"/a/**/z", "/a/z", true, true},
		{"/a/**/z", "/a/b/c/z", true, true},
		{"/a/**/z", "/a/bz", true, false},
		{"/a/**z", "/a/b/cz", true, true},
		{"/a/?", "/a//", true, false},
		{"/a/[!b]", "/a//", true, false},
		{"**/b", "b", true, true},
		{strings.Repeat("*a", 50), strings.Repeat("a", 2000) + "b", false, false},
	} {
		compile := Compile
		if c.path {
			compile = CompilePath
		}
		p, err := compile(c.pattern)
		if err != nil {
			t.Fatalf("%q: %v", c.pattern, err)
		}
		if got := p.Match(c.text); got != c.want {
			t.Errorf("%q on %q: got %v", c.pattern, c.text, got)
		}
	}
}

func TestBadPatterns(t *testing.T) {
	for _, s := range []string{"[", "[a", `a\`, "[b-a]", strings.Repeat("a", maxPattern+1)} {
		if _, err := Compile(s); !errors.Is(err, ErrPattern) {
			t.Errorf("%.20q: got %v", s, err)
		}
	}
}

func TestPrefix(t *testing.T) {
	for pattern, want := range map[string]string{"git *": "git ", `a\*b*`: "a*b", "*": "", "x[ab]": "x", "plain": "plain"} {
		if p, _ := Compile(pattern); p.Prefix() != want {
			t.Errorf("%q: got %q, want %q", pattern, p.Prefix(), want)
		}
	}
}

func FuzzQuote(f *testing.F) {
	for _, s := range []string{"", "a*b", `\[x]?`, "touch 1; rm 1", "\xff*"} {
		f.Add(s, "x")
	}
	f.Fuzz(func(t *testing.T, s, other string) {
		if _, err := CompilePath(s); err == nil && len(s) > maxPattern {
			t.Fatal("a pattern that is too long compiled")
		}
		p, err := Compile(Quote(s))
		if err != nil {
			return
		}
		if s = strings.ToValidUTF8(s, "\uFFFD"); strings.ContainsRune(s, '\uFFFD') {
			return
		}
		if !p.Match(s) {
			t.Fatalf("Quote(%q) does not match itself", s)
		}
		if other != s && p.Match(other) {
			t.Fatalf("Quote(%q) matches %q", s, other)
		}
	})
}

func BenchmarkMatch(b *testing.B) {
	p, _ := CompilePath("/home/*/src/**/*.go")
	for b.Loop() {
		p.Match("/home/ada/src/clm/actors/internal/glob/glob.go")
	}
}

func TestSplit(t *testing.T) {
	for pattern, want := range map[string][2]string{
		"":                {"", ""},
		"/a/b":            {"/a/b", ""},
		"/a/b/":           {"/a/b/", ""},
		"/a/b*":           {"/a/", "b*"},
		"/a/*/c":          {"/a/", "*/c"},
		"**/x":            {"", "**/x"},
		`/a\*/\[b]/c?d/e`: {"/a*/[b]/", "c?d/e"},
		"/a/[b/c]":        {"/a/", "[b/c]"},
		`/a\`:             {`/a\`, ""},
	} {
		if head, rest := Split(pattern); head != want[0] || rest != want[1] {
			t.Errorf("%s: got %q, %q; want %q", pattern, head, rest, want)
		}
	}
}
