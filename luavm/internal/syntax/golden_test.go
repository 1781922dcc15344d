package syntax_test

import (
	"flag"
	"testing"

	"clm/luavm/internal/syntax/internal/golden"
	"clm/luavm/internal/syntax/internal/reference"
)

var update = flag.Bool("update", false, "have lua5.4 write the expected output")

// TestGolden compares programs with what Lua 5.4 prints: the faults of
// gopher-lua's compiler that the lowering avoids, the language, and the texts of
// errors.
func TestGolden(t *testing.T) {
	for _, file := range []string{"faults", "language", "errors"} {
		t.Run(file, func(t *testing.T) { testGolden(t, "testdata/"+file+".txt") })
	}
}

func testGolden(t *testing.T, file string) {
	cases, err := golden.Read(file)
	if err != nil {
		t.Fatal(err)
	}
	if *update {
		lua := reference.Find()
		if lua == "" {
			t.Fatal("no lua5.4 to write the expected output")
		}
		run := func(source string) (string, error) { return reference.Run(lua, source) }
		if err := golden.Update(file, cases, run, execute); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range cases {
		switch got := execute(c.Source); {
		case got == c.Want && c.Reason != "":
			t.Logf("%s: no longer differs: run the test with -update", c.Title)
		case got != c.Expected():
			t.Errorf("%s:\n%s got:\n%s want:\n%s", c.Title, c.Source, got, c.Expected())
		}
	}
}
