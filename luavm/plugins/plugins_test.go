package plugins_test

import (
	"context"
	"testing"

	"clm/luavm"
	"clm/luavm/luavmtest"
	"clm/luavm/plugins"
)

func TestCases(t *testing.T) { luavmtest.Run(t, "testdata/*.txt") }

// Every plugin loads without configuration and registers the tool of its name.
func TestList(t *testing.T) {
	want := []string{"edit_file", "reverse", "tasks", "weather", "web_search"}
	list := plugins.List()
	if len(list) != len(want) {
		t.Fatalf("%d plugins, want %d", len(list), len(want))
	}
	for i, p := range list {
		if p.Name != want[i] {
			t.Errorf("plugin %d is %s, want %s", i, p.Name, want[i])
		}
		program, err := luavm.Compile(p.Name, p.Source)
		if err != nil {
			t.Fatal(err)
		}
		v := luavm.New(program, luavm.Options{})
		if r := new(luavmtest.Simulation).Run(context.Background(), v.Load()); r.Failed {
			t.Errorf("%s: %s", p.Name, r.Text)
		}
		tools := v.Tools()
		if len(tools) != 1 || tools[0].Name != p.Name || tools[0].Description == "" {
			t.Errorf("%s registers %+v", p.Name, tools)
		}
	}
}
