package luavm_test

import (
	"strings"
	"testing"
	"time"

	"clm/luavm"
)

// Sources that would overflow a parser's stack or keep a compiler busy: each ends in an error, or compiles, in the
// time that loading may take.
func TestHostileSources(t *testing.T) {
	rep := strings.Repeat
	for name, source := range map[string]string{
		"parentheses":      "return " + rep("(", 300_000),
		"tables":           "return " + rep("{", 300_000),
		"calls":            "f" + rep("(f", 100_000),
		"call chain":       "f" + rep("()", 100_000),
		"functions":        rep("function f() ", 20_000),
		"function values":  "return " + rep("function() return ", 14_000),
		"unary minus":      "return " + rep("- ", 120_000) + "1",
		"not":              "return " + rep("not ", 60_000) + "1",
		"concatenation":    "return 'a'" + rep("..'a'", 50_000),
		"additions":        "return 1" + rep("+1", 100_000),
		"powers":           "return 1" + rep("^1", 100_000),
		"comparisons":      "return 1" + rep("<1", 100_000),
		"fields":           "return a" + rep(".a", 100_000),
		"indexes":          "return a" + rep("[1]", 80_000),
		"blocks":           rep("do ", 80_000),
		"ifs":              rep("if a then ", 25_000),
		"elseifs":          "if a then " + rep("elseif a then ", 18_000) + "end",
		"whiles":           rep("while a do ", 20_000),
		"locals":           rep("local a ", 30_000),
		"constants":        "local t = {" + rep("{x=1},", 40_000) + "}",
		"labels":           rep("::a:: ", 40_000),
		"gotos":            rep("goto a ", 36_000),
		"brackets":         "return " + rep("[", 200_000),
		"long string open": "return [" + rep("=", 200_000) + "[",
		"comment":          "--[" + rep("=", 200_000),
		"numbers":          "return " + rep("1e", 100_000),
		"escapes":          "return '" + rep(`\u{7FFFFFFF}`, 20_000) + "'",
		"zeros":            rep("\x00", 200_000),
		"too long":         rep("-- comment\n", 400_000),
		"binary":           "\x1bLua" + rep("x", 1000),
		"attribs":          rep("local a <close> = nil ", 11_000),
		"semicolons":       rep(";", 260_000),
		"assignments":      rep("a,", 100_000) + "a = 1",
		"varargs":          "f(" + rep("...,", 60_000) + "...)",
	} {
		start, cpu := time.Now(), cpuTime()
		p, err := luavm.Compile("p", source)
		if took := min(time.Since(start), cpuTime()-cpu); took > 500*time.Millisecond*slowdown {
			t.Errorf("%s took %v (%v)", name, took, err)
		}
		if err == nil {
			v := luavm.New(p, luavm.Options{LoadTime: 100 * time.Millisecond})
			v.Load().Main().Step(bg, luavm.Answer{})
		} else if len(err.Error()) > 300 || !strings.HasPrefix(err.Error(), "p.lua:") {
			t.Errorf("%s: error %.400s", name, err)
		}
	}
}
