package main

import (
	"strings"
	"testing"
)

func TestClean(t *testing.T) {
	for in, want := range map[string]string{
		"plain\n\ttext é 日本 👩‍👩‍👧": "plain\n\ttext é 日本 👩‍👩‍👧",
		"a\x1b]52;c;aGk=\x07b":     "a]52;c;aGk=b",
		"a\x1b[31mb\u009b1mc":      "a[31mb1mc",
		"a\r\x00\x08b\x7f":         "ab",
		"bad \xff\xfe bytes":       "bad \ufffd bytes",
	} {
		if got := clean(in); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
	if got := oneLine("a\n\tb\u202ec\u2028d"); got != "a  b\ufffdc d" {
		t.Errorf("%q", got)
	}
	if got := clip("日本語テキスト", 4); got != "日本語…" {
		t.Errorf("%q", got)
	}
}

// FuzzClean holds that pieces are as safe as the whole.
func FuzzClean(f *testing.F) {
	f.Add("a\x1b[31m\u009b\r\n", 3)
	f.Fuzz(func(t *testing.T, s string, cut int) {
		if cut < 0 || cut > len(s) {
			cut = len(s) / 2
		}
		out := clean(s[:cut]) + clean(s[cut:])
		if strings.ContainsAny(out, "\x1b\r\x00\x07\x08\u009b") {
			t.Errorf("%q gives %q", s, out)
		}
	})
}
