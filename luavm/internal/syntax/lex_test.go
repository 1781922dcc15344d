package syntax_test

import "testing"

// Files of cases cannot hold these line ends.
func TestLineEnds(t *testing.T) {
	source := "local s = [[a\r\nb\rc\n\rd]]\r\nprint(#s, (s:gsub('\\n', '|')))\rprint('x\\\r\ny')\n\rprint(pcall(error, 1))\r\nx()"
	want := "7\ta|b|c|d\nx\ny\nfalse\t1\nerror: p.lua:9: attempt to call a nil value (global 'x')\n"
	if got := execute(source); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestFirstLine(t *testing.T) {
	for source, want := range map[string]string{
		"#!/usr/bin/lua\nprint(1)": "1\n",
		"\ufeffprint(1)":           "1\n", "\ufeff#!/usr/bin/lua\nprint(1)": "1\n",
		"#":                  "",
		"#x\r\nprint(2) x()": "2\nerror: p.lua:2: attempt to call a nil value (global 'x')\n",
		"":                   "",
	} {
		if got := execute(source); got != want {
			t.Errorf("%q: got %q, want %q", source, got, want)
		}
	}
}
