package stdlib

import (
	"testing"
	"time"

	lua "github.com/yuin/gopher-lua"
)

// fuzzCall calls library functions with fuzzed arguments under tight limits. A
// call may fail, be stopped, or run out of memory, but neither panic nor stay.
func fuzzCall(t *testing.T, code string, values ...lua.LValue) {
	v := newTestVM()
	v.limit = 4 << 20
	fn, args, err := v.load(code)
	if err != nil {
		t.Fatal(err)
	}
	if len(args) > 0 {
		t.Fatal("the code must need no helpers")
	}
	elapsed := stopwatch()
	v.deadline = time.Now().Add(20 * time.Millisecond)
	_, _, ok := v.call(fn, values...)
	if took := elapsed(); took > slowdown*200*time.Millisecond {
		t.Errorf("took %v", took)
	}
	endOf(t, v, ok)
}

func FuzzPattern(f *testing.F) {
	for _, p := range []string{"a*b", "^(%w+)=(.-)$", "%b()", "%f[%a]%a+", "[^%s]+", "(()(a)%1)", "[a-]", "%", "[%", "[]]", "(", "a-b-c-d-", "[]-a]", "%z", "[^"} {
		f.Add("hello (world) = aab", p, "%1%0", 1)
	}
	f.Fuzz(func(t *testing.T, s, p, repl string, init int) {
		fuzzCall(t, `local s, p, r, i = ...
			pcall(string.find, s, p, i) pcall(string.match, s, p) pcall(string.gsub, s, p, r) pcall(string.gsub, s, p, r, i)
			pcall(string.gsub, s, p, function(...) return ... end)
			pcall(function() for a, b in string.gmatch(s, p, i) do end end)
			string.find(s, p, i, true)`,
			lua.LString(s), lua.LString(p), lua.LString(repl), lua.LNumber(init))
	})
}

func FuzzFormat(f *testing.F) {
	for _, s := range []string{"%d %s %q", "%5.2f|%-8x|%+g", "%a %c %i %%", "%.3s%099d", "%", "%99999d", "%#.0e", "% 0+-#5.7g", "%p%u"} {
		f.Add(s, "text\x00", 1.5, int64(7))
	}
	f.Fuzz(func(t *testing.T, format, s string, x float64, i int64) {
		fuzzCall(t, `local f, s, x, i = ...
			pcall(string.format, f, s, x, i, nil, true) pcall(string.format, f, x, i, s) pcall(string.format, f, i, s, x)
			pcall(string.format, f, {}, {}) pcall(tonumber, f) pcall(tonumber, s, 16)`,
			lua.LString(format), lua.LString(s), lua.LNumber(x), lua.LNumber(i))
	})
}

func FuzzPack(f *testing.F) {
	for _, s := range []string{"<i4>i2!8d", "s1zc5", "!4 b Xi4 b", "i16I9jJ", "Xz", "c", "!3", "xxX ", "c99999999999"} {
		f.Add(s, "data\x00\xff\x01\x02\x03\x04\x05\x06\x07\x08", 3)
	}
	f.Fuzz(func(t *testing.T, format, data string, pos int) {
		fuzzCall(t, `local f, d, p = ...
			pcall(string.unpack, f, d) pcall(string.unpack, f, d, p) pcall(string.packsize, f)
			pcall(string.pack, f, 1, 2, 3, d, d) pcall(string.pack, f, d, d, d) pcall(string.pack, f, p, d, p, d)`,
			lua.LString(format), lua.LString(data), lua.LNumber(pos))
	})
}

func FuzzUTF8(f *testing.F) {
	for _, s := range []string{"häß€😀", "\xff\x80", "\xed\xa0\x80", "\xf4\x90\x80\x80", "\xfd\xbf\xbf\xbf\xbf\xbf"} {
		f.Add(s, 1, -1)
	}
	f.Fuzz(func(t *testing.T, s string, i, j int) {
		fuzzCall(t, `local s, i, j = ...
			pcall(utf8.len, s, i, j) pcall(utf8.codepoint, s, i, j, true) pcall(utf8.offset, s, i, j) pcall(utf8.offset, s, i)
			pcall(utf8.char, i, j) pcall(function() for p, c in utf8.codes(s) do end end)
			pcall(function() for p, c in utf8.codes(s, true) do end end)
			string.sub(s, i, j) pcall(string.byte, s, i, j)`,
			lua.LString(s), lua.LNumber(i), lua.LNumber(j))
	})
}
