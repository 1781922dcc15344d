package config

import (
	"strings"
	"testing"
)

func TestKeyLines(t *testing.T) {
	const source = `-- a comment with { and return {
local deep = --[[ long
comment ]] {
  x = 1, ["y z"] = { w = [[ } ]] },
}
local function f(a, b)
  return { model = "not this one" }
end
local c = { model = f("}", '"') .. "x",
  providers = {
    lab = deep; other = { f(1, { k = 2 }), name = function() return { q = 1 } end, after = 3 },
  } }
c.tools = { 1, 2,
  { three = 3 } }
if true then
  c["max_iterations"] = 5
end
c.providers.late = {}
return c
`
	k := keysOf(source)
	for path, want := range map[string]int{
		"":                      19,
		"model":                 9,
		"providers":             10,
		"providers/lab":         11,
		"providers/lab/x":       4,
		"providers/lab/y z":     4,
		"providers/lab/y z/w":   4,
		"providers/other/after": 11,
		"providers/late":        18,
		"tools/3/three":         14,
		"tools/2":               13,
		"max_iterations":        16,
		"unknown":               19,
		"providers/unknown":     10,
	} {
		var parts []string
		if path != "" {
			parts = strings.Split(path, "/")
		}
		if got := k.line(parts); got != want {
			t.Errorf("line of %q: %d, want %d", path, got, want)
		}
	}
}

// FuzzKeys holds that any text is scanned without a panic or a hang, and that
// lines are inside the text.
func FuzzKeys(f *testing.F) {
	for _, s := range []string{"return {a={b={", `return { ["x"]=1, y=function() end }`, "local a={b=a} return a", "return {[[", "--[==[", "return \"\\", "return{)]end}", "local a = b local b = a return a", "c.x.y={1;2}"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		k := keysOf(s)
		for _, p := range [][]string{nil, {"a"}, {"a", "b", "1"}, {"x", "y"}} {
			if n := k.line(p); n < 0 || n > strings.Count(s, "\n")+1 {
				t.Errorf("line %d of %q", n, s)
			}
		}
	})
}

// FuzzLoad holds that any config.lua gives a configuration or errors, without
// a panic or a hang, and that the planted secret shows nowhere.
func FuzzLoad(f *testing.F) {
	f.Add(targetConfig)
	f.Add(`error(clm.secrets.k)`)
	f.Add(`return { model = { clm.secrets.k }, [clm.secrets.k] = 1, providers = { a = { url = clm.secrets.k } } }`)
	f.Fuzz(func(t *testing.T, s string) {
		home := t.TempDir()
		writeFile(t, home+"/clm/config.lua", s)
		writeFile(t, home+"/clm/secrets.lua", `return { k = "sk-PLANTED-KEY" }`)
		cfg, warns, err := Load(Options{Env: []string{"XDG_CONFIG_HOME=" + home}})
		var out strings.Builder
		for _, w := range warns {
			out.WriteString(w.String())
		}
		if err != nil {
			out.WriteString(err.Error())
		} else {
			for _, l := range cfg.Show() {
				out.WriteString(l.Key + l.Value)
			}
		}
		if strings.Contains(out.String(), "sk-PLANTED-KEY") {
			t.Errorf("the secret shows in %s", out.String())
		}
	})
}
