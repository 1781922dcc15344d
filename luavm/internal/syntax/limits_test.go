package syntax_test

import (
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"

	"clm/luavm/internal/syntax"
)

// fill repeats s up to the length of source that is allowed.
func fill(s string) string { return strings.Repeat(s, syntax.MaxSource/len(s)) }

func lines(n int, format string) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, format, i)
	}
	return b.String()
}

// killers are sources that would take an unguarded parser or compiler the stack,
// minutes, or gigabytes. The error, if there has to be one, contains want.
var killers = []struct{ name, source, want string }{
	{"tables", "x = " + strings.Repeat("{", 200_000), "too many nested"},
	{"brackets", "x = " + strings.Repeat("(", 200_000), "too many nested"},
	{"calls inside calls", "x = " + fill("f(")[:200_000], "too many nested"},
	{"calls behind calls", "f" + fill("()")[:200_000], "too long"},
	{"fields", "x = a" + fill(".a")[:200_000], "too long"},
	{"indices", "x = a" + fill("[1]")[:200_000], "too long"},
	{"methods", "a" + fill(":b()")[:200_000], "too long"},
	{"strings as arguments", "f" + fill("''")[:200_000], "too long"},
	{"not", "x = " + fill("not ")[:200_000], "too many nested"},
	{"minus", "x = " + fill("- ")[:200_000], "too many nested"},
	{"sum", "x = a" + fill("+a")[:200_000], "too long"},
	{"power", "x = a" + fill("^a")[:200_000], "too many nested"},
	{"and", "x = a" + fill(" and a")[:200_000], "too long"},
	{"concatenation", "x = a" + fill("..a")[:200_000], "too long"},
	{"comparisons", "x = a" + fill("<a")[:200_000], "too long"},
	{"blocks", fill("do ")[:200_000], "too many nested"},
	{"functions", fill("function f() ")[:200_000], "too many nested"},
	{"function values", "x = " + fill("function() return ")[:200_000], "too many nested"},
	{"loops", fill("while a do ")[:200_000], "too many nested"},
	{"repeat", fill("repeat ")[:200_000], "too many nested"},
	{"if", fill("if a then ")[:200_000], "too many nested"},
	{"elseif", "if a then " + fill("elseif a then ")[:200_000] + " end", "too many branches"},
	{"tables as arguments", "f" + fill("{f")[:200_000], "too many nested"},
	{"close", fill("local a <close> = b ")[:200_000], "too many"},
	{"many sums of 1000 terms", strings.Repeat("x = a"+strings.Repeat("+a", 990)+"\n", 120), "too complex"},
	{"a sum of sums", "x = a" + strings.Repeat("+("+strings.Repeat("a+", 100)+"a)", 900), "too complex"},
	{"chains in nested brackets", "x = " + strings.Repeat("(", 150) + "a" + strings.Repeat(strings.Repeat("+a", 700)+")", 150), "too complex"},
	{"chains in nested functions", "x = " + strings.Repeat("(function() return ", 60) + "a" + strings.Repeat(" end)()"+strings.Repeat("+a", 900), 60), "too complex"},
	{"constants", "x = {" + lines(5000, "%d,") + "}", "too many constants"},
	{"constants in many functions", strings.Repeat("function f() x = {"+lines(4000, "%d,")+"} end\n", 9), "too complex"},
	{"uses of late constants", lines(4000, "x.k%d=1 ") + fill("x.k3999=1 ")[:150_000], "too complex"},
	{"functions one by one", fill("function f()end ")[:200_000], "too many functions"},
	{"labels", lines(20_000, "::a%d::"), "too many nested"},
	{"gotos", lines(10_000, "goto a%d ::a%[1]d::"), "too many labels and jumps"},
	{"breaks", fill("while a do break end ")[:200_000], "too many labels and jumps"},
	{"locals", lines(300, "local a%d "), "too many local variables"},
	{"upvalues", lines(150, "local a%d ") + "function f() " + lines(150, "local b%d ") + "function g() x = {" + lines(150, "a%d,b%[1]d,") + "} end end", "too many upvalues"},
	{"names far away", strings.Repeat("local f = function() "+lines(190, "local a%d "), 80) + fill("x = y ")[:100_000], "too"},
	{"items", "x = {" + strings.Repeat("0,", 26_000) + "}", "too long"},
	{"keyed items", "x = {" + strings.Repeat("0,", 50) + "a=1," + strings.Repeat("0,", 26_000) + "}", "too"},
	{"targets", strings.Repeat("a,", 1000) + "a = 1", "too many"},
	{"parameters", "function f(" + lines(300, "a%d,") + "a) end", "too many local variables"},
	{"loop variables", "for a" + strings.Repeat(",a", 300) + " in b do end", "too many local variables"},
	{"registers", lines(190, "local a%d ") + "f(" + strings.Repeat("1,", 100) + "1)", "too many registers"},
	{"arguments", "f(" + strings.Repeat("1,", 60_000) + "1)", "too many registers"},
	{"returned values", "return " + strings.Repeat("1,", 60_000) + "1", "too many registers"},
	{"values", "local a = " + strings.Repeat("1,", 60_000) + "1", "too many registers"},
	{"a long function", fill("x=y ")[:240_000], "too long"},
	{"a long loop", "while a do " + fill("x=y ")[:240_000] + " end", "too long"},
	{"statements", fill(";"), ""},
	{"a long string", "x = '" + fill("a")[:200_000] + "'", ""},
	{"an unfinished string", "x = '" + fill("a")[:200_000], "unfinished string"},
	{"escapes", "x = '" + fill("\\0")[:200_000] + "'", ""},
	{"long brackets", "x = [[" + fill("[=")[:200_000], "unfinished long string"},
	{"a long bracket", "x = [" + fill("=")[:200_000], "invalid long string delimiter"},
	{"a long number", "x = " + fill("1")[:200_000], ""},
	{"a long hexadecimal number", "x = 0x" + fill("f")[:200_000], ""},
	{"a long fraction", "x = 0x." + fill("f")[:200_000], ""},
	{"a long name", fill("x")[:200_000] + " = 1", ""},
	{"closing brackets", "x = [=[" + fill("]")[:200_000], "unfinished long string"},
	{"comments", fill("--[[]]")[:200_000], ""},
	{"big literals", "x = {" + lines(10_000, "9007199254750%04d,") + "}", "too"},
	{"too long", strings.Repeat(" ", syntax.MaxSource+1), "source is too long"},
	{"bytes", fill("\x00\xff\x80")[:200_000], "unexpected symbol near '<\\0>'"},
}

func TestKillers(t *testing.T) {
	const most = 5 * time.Second // on a loaded machine, for the race detector; alone the longest takes 0.2 s
	for _, k := range killers {
		t.Run(k.name, func(t *testing.T) {
			start := time.Now()
			_, err := syntax.Compile("k.lua", k.source)
			took := time.Since(start)
			if took > most {
				t.Errorf("took %v", took)
			}
			switch {
			case k.want == "" && err == nil:
			case err == nil:
				t.Errorf("compiled, want an error with %q", k.want)
			case !strings.Contains(err.Error(), k.want):
				t.Errorf("error %.300q, want one with %q", err, k.want)
			case len(err.Error()) > 300:
				t.Errorf("the error has %d bytes", len(err.Error()))
			}
			t.Logf("%v %.100v", took.Round(time.Millisecond), err)
		})
	}
}

// TestMemory bounds what a source at the limits allocates on the way: gopher-lua
// takes 13 KB a function, however small.
func TestMemory(t *testing.T) {
	const most = 64 << 20
	for name, source := range map[string]string{
		"functions": strings.Repeat("f=function()end ", syntax.MaxFunctions-1),
		"nested":    strings.Repeat("f=function() ", 60) + strings.Repeat("g=function()end ", 1900) + strings.Repeat("end ", 60),
		"items":     "x = {" + strings.Repeat("a.b,", 25_000) + "}",
		"code":      fill("x=y ")[:120_000],
	} {
		t.Run(name, func(t *testing.T) {
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			if _, err := syntax.Compile("m.lua", source); err != nil {
				t.Fatal(err)
			}
			runtime.ReadMemStats(&after)
			if n := after.TotalAlloc - before.TotalAlloc; n > most {
				t.Errorf("%d MiB allocated", n>>20)
			}
		})
	}
}

// TestWithinLimits compiles and runs what is just allowed.
func TestWithinLimits(t *testing.T) {
	for _, c := range []struct{ name, source, want string }{
		{"terms", "local a = 1 print(a" + strings.Repeat("+a", 999) + ")", "1000\n"},
		{"concatenation", "local a = 'x' print(#(a" + strings.Repeat("..a", 999) + "))", "1000\n"},
		{"branches", "local a = 998 if a == 0 then " + lines(999, "elseif a == %d then print('here') ") + "end", "here\n"},
		{"nesting", "local a = " + strings.Repeat("(", 190) + "7" + strings.Repeat(")", 190) + " print(a)", "7\n"},
		{"tables", "local a = " + strings.Repeat("{", 190) + "7" + strings.Repeat("}", 190) + " for i = 1, 190 do a = a[1] end print(a)", "7\n"},
		{"blocks", strings.Repeat("do ", 190) + "print(1)" + strings.Repeat(" end", 190), "1\n"},
		{"constants", "local t = {" + lines(4000, "%d,") + "} print(#t, t[4000])", "4000\t3999\n"},
		{"items", "local t = {" + strings.Repeat("0,", 25_549) + "5} print(#t, t[25550])", "25550\t5\n"},
		{"functions", lines(1999, "f%d=function()end ") + "print(f1998 ~= nil)", "true\n"},
		{"jumps", "local n = 0 " + lines(990, "goto a%d n = 1 ::a%[1]d:: ") + "print(n)", "0\n"},
		{"locals", lines(150, "local a%d = %[1]d ") + "print(a149)", "149\n"},
		{"close", strings.Repeat("local a <close> = nil ", 60) + "print(1)", "1\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := execute(c.source); got != c.want {
				t.Errorf("got %.300q, want %q", got, c.want)
			}
		})
	}
}
