package luavm_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"clm/luavm"
	"clm/luavm/luavmtest"
)

func TestUnknownOptions(t *testing.T) {
	const source = `clm.tool_register("t", { description = "d", noprompt = true, parameters = {}, [1] = 2, Hidden = true, version = "1",
		timeout = 5, descripton = "x", schema = {}, hiden = nil, handler = print, invoke = function() end })`
	var log []string
	v := load(t, luavm.Options{Log: func(text string) { log = append(log, text) }}, source)
	var got []string
	for _, w := range v.Warnings() {
		w, ok := strings.CutPrefix(w, "tool t: clm.tool_register has no option ")
		if !ok {
			t.Error(w)
		}
		got = append(got, w)
	}
	slices.Sort(got)
	const all = ", only description, params_schema, timeout_ms, no_prompt, hidden, invoke"
	want := []string{
		`"Hidden", did you mean hidden?`, `"descripton", did you mean description?`, `"handler"` + all, `"noprompt", did you mean no_prompt?`,
		`"parameters", did you mean params_schema?`, `"schema", did you mean params_schema?`, `"timeout", did you mean timeout_ms?`, `"version"` + all,
	}
	if !slices.Equal(got, want) {
		t.Errorf("got %q\nwant %q", got, want)
	}
	if !slices.Equal(log, v.Warnings()) {
		t.Errorf("the log has %q", log)
	}
	path := filepath.Join(t.TempDir(), "case.txt")
	if err := os.WriteFile(path, []byte("-- plugin p.lua --\n"+source+"\n-- load --\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	differences, err := luavmtest.Check(t.Context(), path)
	if err != nil || len(differences) != len(want) || !strings.HasPrefix(differences[0], path+": tool t: ") {
		t.Errorf("Check: %v, %q", err, differences)
	}
}

func TestKnownOptionsAreNoWarnings(t *testing.T) {
	v := load(t, luavm.Options{}, helloPlugin, register("t", ""),
		`clm.tool_register("u", { timeout_ms = 1, hidden = true, invoke = print, noprompt = nil })`)
	if w := v.Warnings(); len(w) != 0 {
		t.Error(w)
	}
}

// What the learning load refuses, later ones refuse in the same words.
func TestRefusedAgain(t *testing.T) {
	const source = `local problems, f = {}, function() end
		local function try(...) problems[#problems + 1] = select(2, pcall(clm.tool_register, ...)) end
		try("read_file", { invoke = f }) try("read_file", {}) try("a b", { invoke = f }) try("x") try("x", {})
		try("x", { invoke = f, description = 1 }) try("x", { invoke = f, timeout_ms = 0 }) try("x", { invoke = f, params_schema = "s" })
		try("x", { invoke = f, description = ("x"):rep(20000) })
		for i = 1, 126 do clm.tool_register("n" .. i, { invoke = f, description = ("d"):rep(4000) }) end
		try("n1", { invoke = f })
		clm.tool_register("t", { invoke = function(_, ctx) ctx:complete(table.concat(problems, "\n")) end })
		clm.tool_register("last", { invoke = f }) try("more", { invoke = f }) try("read_file", { invoke = f })`
	p, err := luavm.Compile("p", source)
	if err != nil {
		t.Fatal(err)
	}
	texts := func(v *luavm.VM) string {
		if r := new(luavmtest.Simulation).Run(bg, v.Load()); r.Failed {
			t.Fatal(r.Text)
		}
		return call(t, v, "t", "")
	}
	learning := luavm.New(p, luavm.Options{Reserved: func(name string) string {
		return map[string]string{"read_file": "a built-in tool"}[name]
	}})
	want := texts(learning)
	if !strings.HasPrefix(want, "clm.tool_register: tool name read_file is taken: a built-in tool\n") || strings.Contains(want, "first loaded") {
		t.Error(want)
	}
	got := texts(luavm.New(p, luavm.Options{Tools: learning.Tools(), Refused: learning.Refused()}))
	if got != want {
		t.Errorf("the second load says\n%s\nwant\n%s", got, want)
	}
}
