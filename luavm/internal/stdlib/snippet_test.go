package stdlib

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	lua "github.com/yuin/gopher-lua"

	"clm/luavm/internal/layout"
	"clm/luavm/internal/number"
)

var update = flag.Bool("update", false, "let lua5.4 write the expected values of testdata/*.txt")

const reference = "lua5.4"

// A snippet is some Lua and what it gives. A file of them has the code first,
// as an expression list or a chunk, then a line with the result:
//
//	string.rep("ab", 2)
//	=> "abab"
//
// A result behind "=>!" differs from Lua 5.4 on purpose; -update writes ours.
type snippet struct {
	line    int
	comment string
	code    string
	want    string
	ours    bool
}

func readSnippets(t *testing.T, file string) []snippet {
	t.Helper()
	raw, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var list []snippet
	var s snippet
	for i, l := range strings.Split(string(raw), "\n") {
		switch {
		case strings.HasPrefix(l, "=>"):
			s.ours = strings.HasPrefix(l, "=>!")
			s.want = strings.TrimSpace(strings.TrimLeft(l, "=>!"))
			list = append(list, s)
			s = snippet{}
		case s.code == "" && (l == "" || l[0] == '#'):
			s.comment += l + "\n"
		default:
			if s.code == "" {
				s.line = i + 1
			}
			s.code += l + "\n"
		}
	}
	return list
}

func TestSnippets(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatal("no snippets", err)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			list := readSnippets(t, file)
			if *update {
				updateSnippets(t, file, list)
			}
			for _, s := range list {
				if got := runSnippet(t, s.code); got != s.want {
					t.Errorf("%s:%d\n%s got %s\nwant %s", file, s.line, s.code, got, s.want)
				}
			}
		})
	}
}

// runSnippet runs code as "return code", or as a chunk where that is no Lua.
func runSnippet(tb testing.TB, code string) string {
	v := newTestVM()
	if _, _, err := v.load("return " + code); err == nil {
		code = "return " + code
	}
	results, err, ok := v.run(tb, code)
	if ok && v.pinned != 0 {
		tb.Errorf("%d bytes stay pinned after\n%s", v.pinned, code)
	}
	if !ok {
		if s, ok := err.(lua.LString); ok {
			return "error: " + showBytes(string(s))
		}
		return "error: " + show(err)
	}
	texts := make([]string, len(results))
	for i, r := range results {
		texts[i] = show(r)
	}
	return strings.Join(texts, " ")
}

// show prints a value as driver does.
func show(v lua.LValue) string {
	switch x := v.(type) {
	case lua.LString:
		return `"` + showBytes(string(x)) + `"`
	case lua.LNumber:
		return number.Format(x)
	case *lua.LTable:
		var b strings.Builder
		b.WriteString("{")
		list := layout.Array(x)
		for len(list) > 0 && list[len(list)-1] == lua.LNil {
			list = list[:len(list)-1]
		}
		for i, e := range list {
			if i > 0 {
				b.WriteString(", ")
			}
			b.WriteString(show(e))
		}
		return b.String() + "}"
	case *lua.LFunction:
		return "function"
	}
	return v.String()
}

func showBytes(s string) string {
	var b strings.Builder
	for _, c := range []byte(s) {
		if c < ' ' || c > '~' || c == '\\' {
			fmt.Fprintf(&b, `\%03d`, c)
		} else {
			b.WriteByte(c)
		}
	}
	return b.String()
}

// driver runs the snippets of a file, each behind its length, in the reference
// and prints a line for each.
const driver = `
local function bytes(s)
  return (s:gsub("[^ -~]", function(c) return ("\\%03d"):format(c:byte()) end))
end
local function show(v)
  if type(v) == "string" then return '"' .. bytes(v:gsub("\\", "\\092")) .. '"' end
  if math.type(v) == "float" and v == math.floor(v) and v >= -2^53 and v <= 2^53 then return ("%d"):format(v) end
  if type(v) == "table" then
    local t = {}
    for i = 1, #v do t[i] = show(v[i]) end
    return "{" .. table.concat(t, ", ") .. "}"
  end
  if type(v) == "function" then return "function" end
  return tostring(v)
end
local f = assert(io.open(arg[1], "rb"))
for n in f:lines("n") do
  f:read(1)
  local code = f:read(n)
  local fn, err = load("return " .. code, "=t")
  if not fn then fn, err = load(code, "=t") end
  local r = fn and table.pack(pcall(fn)) or {false, err, n = 2}
  if r[1] then
    local t = {}
    for k = 2, r.n do t[#t + 1] = show(r[k]) end
    print(table.concat(t, " "))
  else
    print("error: " .. (type(r[2]) == "string" and bytes(r[2]:gsub("\\", "\\092")) or show(r[2])))
  end
end
`

// runReference runs all snippets in one process of the reference.
func runReference(tb testing.TB, codes []string) []string {
	tb.Helper()
	dir := tb.TempDir()
	main, file := filepath.Join(dir, "driver.lua"), filepath.Join(dir, "snippets")
	var all strings.Builder
	for _, c := range codes {
		fmt.Fprintf(&all, "%d\n%s\n", len(c), c)
	}
	for name, text := range map[string]string{main: driver, file: all.String()} {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			tb.Fatal(err)
		}
	}
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	out, err := exec.CommandContext(ctx, reference, main, file).CombinedOutput()
	lines := strings.Split(string(bytes.TrimSuffix(out, []byte("\n"))), "\n")
	if err != nil || len(lines) != len(codes) {
		tb.Fatalf("%s: %v, %d results for %d snippets: %s", reference, err, len(lines), len(codes), lines[len(lines)-1])
	}
	return lines
}

func updateSnippets(t *testing.T, file string, list []snippet) {
	if _, err := exec.LookPath(reference); err != nil {
		t.Fatal(err)
	}
	codes := make([]string, len(list))
	for i, s := range list {
		codes[i] = s.code
	}
	var b strings.Builder
	for i, line := range runReference(t, codes) {
		s, mark := &list[i], "=>"
		if s.want = strings.TrimSpace(line); s.ours {
			mark, s.want = "=>!", runSnippet(t, s.code)
		}
		b.WriteString(s.comment + s.code + strings.TrimSpace(mark+" "+s.want) + "\n")
	}
	if err := os.WriteFile(file, []byte(b.String()), 0o600); err != nil {
		t.Fatal(err)
	}
}
