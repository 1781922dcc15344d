package stdlib

import "testing"

func TestPrint(t *testing.T) {
	v := newTestVM()
	v.run(t, `print() print(1, "a\0b", nil, true, 1.5) print(setmetatable({}, {__tostring = function() return "T" end}), 2^53)`)
	if got, want := v.out.String(), "\n1\ta\x00b\tnil\ttrue\t1.5\nT\t9007199254740992\n"; got != want {
		t.Errorf("printed %q, want %q", got, want)
	}
	if _, err, ok := v.run(t, `print(setmetatable({}, {__tostring = function() error("no text", 0) end}))`); ok || err.String() != "no text" {
		t.Error(err)
	}
}

// TestMetaConcat calls what gopher-lua's own instruction for .. calls.
func TestMetaConcat(t *testing.T) {
	for code, want := range map[string]string{
		`getmetatable("").__concat("a", 1)`:                                                                     `"a1"`,
		`getmetatable("").__concat(9007199254740993, "x")`:                                                      `"9007199254740993x"`,
		`getmetatable("").__concat("a", setmetatable({}, {__concat = function(a, b) return a .. type(b) end}))`: `"atable"`,
		`getmetatable("").__concat("a", nil)`:                                                                   `error: t:1: attempt to concatenate a nil value`,
		`getmetatable("").__concat({}, "a")`:                                                                    `error: t:1: attempt to concatenate a table value`,
	} {
		if got := runSnippet(t, code); got != want {
			t.Errorf("%s is %s, want %s", code, got, want)
		}
	}
}
