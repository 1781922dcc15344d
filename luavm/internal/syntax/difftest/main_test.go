package main

import (
	"bytes"
	"strings"
	"testing"

	"clm/luavm/internal/syntax/difftest/internal/gen"
	"clm/luavm/internal/syntax/internal/reference"
)

// TestPrograms is a short form of the command. The seeds are always the same: a
// new difference must come from a change.
func TestPrograms(t *testing.T) {
	if reference.Find() == "" {
		t.Skip("no lua5.4")
	}
	n := "800"
	if testing.Short() {
		n = "100"
	}
	var out, errOut bytes.Buffer
	if status := run([]string{"-n", n}, &out, &errOut); status != 0 {
		t.Errorf("status %d: %s%s", status, out.String(), errOut.String())
	}
	if !strings.Contains(out.String(), "different 0") {
		t.Errorf("no summary in %q", out.String())
	}
}

// TestNotices checks that a difference is found, cut down and reported.
func TestNotices(t *testing.T) {
	lua := reference.Find()
	if lua == "" {
		t.Skip("no lua5.4")
	}
	var out bytes.Buffer
	c := comparison{lua: lua, out: &out, show: 1}
	// an integer that crosses 2^53 is a float for us
	program := gen.Prelude("O(") + gen.Main + "\nlocal a = 1\nlocal b = 2\ndo\n  local c = 9007199254740992\n  O(a)\n  O(c + 1)\nend\nprint(b)\nend)\n"
	differing, err := c.compare([]string{program})
	if err != nil || len(differing) != 1 || c.different != 1 {
		t.Fatal(differing, err)
	}
	if err := c.explain(program); err != nil {
		t.Fatal(err)
	}
	want := "  local c = 9007199254740992\n  O(c + 1)\n"
	if !strings.Contains(out.String(), want) || strings.Contains(out.String(), "local a") {
		t.Errorf("not cut down:\n%s", out.String())
	}
}

func TestArguments(t *testing.T) {
	for args, want := range map[string]int{"-dump": 0, "-nonsense": 2, "-lua= -n 1": 2, "no/such/file": 2} {
		var out, errOut bytes.Buffer
		if got := run(strings.Fields(args), &out, &errOut); got != want && !(args == "no/such/file" && reference.Find() == "") {
			t.Errorf("%s: status %d, want %d: %s", args, got, want, errOut.String())
		}
	}
}
