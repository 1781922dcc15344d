package actors_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"clm/actors"
	"clm/actors/msg"
)

// callOf is one call of a tool, as an answer.
func callOf(id, tool, args string) string {
	return "!tool " + id + " " + tool + " " + args + "\n!finish tool_calls\n"
}

const counter = `
local n, kept = 0, {}
clm.tool_register("t", { no_prompt = true, invoke = function(args, ctx)
  if args.grow then while true do kept[#kept + 1] = ("x"):rep(1000) .. #kept end end
  n = n + 1
  ctx:complete("n=" .. n)
end })`

// A Lua state that keeps more than its memory is thrown away with a notice; the agent and
// its next call go on with a new one.
func TestABrokenVMIsRenewed(t *testing.T) {
	bubble(t, actors.Options{}, func(r *rig) {
		a, l := r.spawn(actors.AgentOptions{Tools: r.tools(nil, counter)})
		b, lb := r.spawn(actors.AgentOptions{Tools: r.tools(nil, counter)})
		_, events := r.turn(a, l, "go")
		got := results(events)
		if got["c1"] != "n=1" || !strings.Contains(got["c2"], "memory") || got["c3"] != "n=1" {
			r.Errorf("results %q", got)
		}
		if n := notices(events); len(n) != 1 || !strings.HasPrefix(n[0], "plugin p1: out of memory") || !strings.HasSuffix(n[0], ": its Lua state was lost") {
			r.Errorf("notices %q", n)
		}
		if _, events := r.turn(b, lb, "go"); results(events)["d1"] != "n=1" || len(notices(events)) != 0 {
			r.Errorf("the other agent: %q, %q", results(events), notices(events))
		}
	}, callOf("c1", "t", "{}"), callOf("c2", "t", `{"grow":true}`), callOf("c3", "t", "{}"), ok, callOf("d1", "t", "{}"), ok)
}

// Another set of tools: unchanged plugins keep their state, changed ones lose
// it with a notice.
func TestSetTools(t *testing.T) {
	bubble(t, actors.Options{}, func(r *rig) {
		other := strings.ReplaceAll(counter, `"t"`, `"u"`)
		a, l := r.spawn(actors.AgentOptions{Tools: r.tools(nil, counter, other)})
		r.turn(a, l, "go")
		if err := a.SetTools(r.tools(nil, counter, strings.ReplaceAll(other, "n=", "m="))); err != nil {
			r.Fatal(err)
		}
		_, events := r.turn(a, l, "again")
		if got := results(events); got["c3"] != "n=2" || got["c4"] != "m=1" {
			r.Errorf("results %q", got)
		}
		if n := notices(events); len(n) != 1 || !strings.Contains(n[0], "plugin p2 was changed or removed") {
			r.Errorf("notices %q", n)
		}
		// Without its last tool a plugin's state goes, too.
		if err := a.RemoveTool("u"); err != nil {
			r.Fatal(err)
		}
		time.Sleep(time.Second)
		for _, k := range a.Tree().Children {
			if k.Kind == "plugin" && k.Name == "p2" {
				r.Error("the plugin without tools is alive")
			}
		}
	}, twice(1), ok, twice(3), ok)
}

// twice is a call of t and one of u.
func twice(n int) string {
	return fmt.Sprintf("!tool c%d@0 t {}\n!tool c%d@1 u {}\n!finish tool_calls\n", n, n+1)
}

// Files of one name from two folders are two plugins, each with its own state.
func TestPluginsOfOneFileName(t *testing.T) {
	folder := func(source string) string {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, "p.lua"), []byte(source), 0o600); err != nil {
			t.Fatal(err)
		}
		return dir
	}
	first, second := folder(counter), folder(strings.ReplaceAll(counter, `"t"`, `"u"`))
	load := func(dirs ...string) (*actors.Plugins, []*actors.PluginError) {
		return actors.LoadPlugins(context.Background(), actors.PluginOptions{Dirs: dirs})
	}
	plugins, left := load(first, second, first)
	if len(left) != 1 || !strings.Contains(left[0].Error(), "tool name t is taken: plugin p") {
		t.Errorf("%v are left out", left)
	}
	set, err := actors.NewToolset(plugins)
	if err != nil {
		t.Fatal(err)
	}
	r := newRig(t, actors.Options{}, twice(1), twice(3), ok)
	a, l := r.spawn(actors.AgentOptions{Tools: set})
	_, events := r.turn(a, l, "go")
	want := map[string]string{"c1": "n=1", "c2": "n=1", "c3": "n=2", "c4": "n=2"}
	if got := results(events); !maps.Equal(got, want) {
		t.Errorf("results %q", got)
	}
	r.close()
	one, _ := load(first)
	other, _ := load(second)
	if _, err := actors.NewToolset(one, other); err == nil || !strings.Contains(err.Error(), "another plugin named p") {
		t.Errorf("a set of two that were loaded apart: %v", err)
	}
}

// The folders are read again between turns.
func TestReloadPlugins(t *testing.T) {
	dir := t.TempDir()
	write := func(name, source string) {
		if err := os.WriteFile(filepath.Join(dir, name+".lua"), []byte(source), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	other := strings.ReplaceAll(counter, `"t"`, `"u"`)
	write("a", counter)
	write("b", other)
	o := actors.PluginOptions{Dirs: []string{dir}}
	r := newRig(t, actors.Options{}, twice(1), ok, "!sleep 50\n"+twice(3), ok, twice(5), ok)
	first := actors.GoTools{{Name: "first", NoPrompt: true, Run: says("x")}}
	a, l := r.spawn(actors.AgentOptions{Tools: r.tools(first)})
	reload := func(want int) {
		left, err := a.ReloadPlugins(context.Background(), o)
		if err != nil || len(left) != want {
			t.Errorf("%v are left out, %v", left, err)
		}
	}
	reload(0)
	r.turn(a, l, "go")
	write("b", strings.ReplaceAll(other, "n=", "m="))
	write("c", "this is no Lua")
	reload(1)
	n, err := a.Submit("again")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := a.ReloadPlugins(context.Background(), o); !errors.Is(err, actors.ErrBusy) {
		t.Errorf("in a turn: %v", err)
	}
	_, events := r.end(l, n)
	if got := results(events); got["c3"] != "n=2" || got["c4"] != "m=1" {
		t.Errorf("results %q", got)
	}
	if n := notices(events); len(n) != 1 || !strings.Contains(n[0], "plugin b was changed or removed") {
		t.Errorf("notices %q", n)
	}
	if err := os.Remove(filepath.Join(dir, "b.lua")); err != nil {
		t.Fatal(err)
	}
	reload(1)
	_, events = r.turn(a, l, "once more")
	if got := results(events); got["c5"] != "n=3" || !strings.Contains(got["c6"], "unknown tool") {
		t.Errorf("results %q", got)
	}
	if got := offered(r, 4); !slices.Equal(got, []string{"first", "t"}) {
		t.Errorf("offered %v", got)
	}
	// A plugin cannot take a tool's name: then all stays as it was.
	write("d", strings.ReplaceAll(counter, `"t"`, `"first"`))
	if _, err := a.ReloadPlugins(context.Background(), o); err == nil || len(a.Tools()) != 2 {
		t.Errorf("%v, %d tools", err, len(a.Tools()))
	}
	r.close()
}

// Tools may go while a call of theirs waits for its permission.
func TestToolsGoWhileACallIsAsked(t *testing.T) {
	for name, next := range map[string]func(r *rig) *actors.Toolset{
		"none":    func(*rig) *actors.Toolset { return nil },
		"another": func(r *rig) *actors.Toolset { return r.tools(goTool(says("x"))) },
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, actors.Options{}, func(r *rig) {
				gated := strings.Replace(counter, "no_prompt = true, ", "", 1)
				a, l := r.spawn(actors.AgentOptions{Tools: r.tools(nil, gated), Permissions: actors.Permissions{Ask: true}})
				n := r.begin(a, "go")
				if err := a.SetTools(next(r)); err != nil {
					r.Fatal(err)
				}
				if err := a.Permit(1, msg.AllowOnce); err != nil {
					r.Fatal(err)
				}
				d, events := r.end(l, n)
				if got := results(events)["c1"]; d.Status != "done" || !strings.Contains(got, "not loaded any more") {
					r.Errorf("%+v, %q", d, got)
				}
			}, call, ok)
		})
	}
}

// What a plugin opens outside its folders is asked for, with the real path;
// some files it never gets.
func TestPluginFiles(t *testing.T) {
	work, out, secret := t.TempDir(), t.TempDir(), t.TempDir()
	for _, d := range []*string{&work, &out, &secret} {
		*d, _ = filepath.EvalSymlinks(*d)
	}
	for path, text := range map[string]string{work + "/in.txt": "inside", out + "/far.txt": "outside", secret + "/keys": "sk-1"} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink(out+"/far.txt", work+"/link"); err != nil {
		t.Skip(err)
	}
	source := lua("t", `local s, err = clm.read_file(args.path); ctx:complete(s or ("ERR " .. err))`)
	for _, tc := range []struct {
		path     string
		p        actors.Permissions
		want     string
		question string // in it, when one is asked
	}{
		{work + "/in.txt", actors.Permissions{}, "inside", ""},
		{work + "/link", actors.Permissions{}, "ERR permission denied", ""},
		{work + "/link", actors.Permissions{Ask: true}, "outside", out + "/far.txt"},
		{work + "/link", actors.Permissions{Allow: []string{"file:" + work + "/*"}}, "ERR permission denied", ""},
		{work + "/link", actors.Permissions{Allow: []string{"file:" + out + "/*"}}, "outside", ""},
		{out + "/far.txt", actors.Permissions{Allow: []string{"t"}}, "ERR permission denied", ""},
		{out + "/far.txt", actors.Permissions{AllowAll: true}, "outside", ""},
		{out + "/far.txt", actors.Permissions{AllowAll: true, Deny: []string{"file:" + out + "/*"}}, "ERR denied by the rule", ""},
		{secret + "/keys", actors.Permissions{AllowAll: true, Allow: []string{"file:" + secret + "/*"}}, "may not open", ""},
		{"/proc/self/environ", actors.Permissions{AllowAll: true}, "may not open", ""},
	} {
		bubble(t, actors.Options{}, func(r *rig) {
			p, errs := actors.LoadPlugins(context.Background(), actors.PluginOptions{
				Files: []actors.PluginFile{{Name: "p", Source: source}}, Dir: work, Private: []string{secret},
			})
			for _, err := range errs {
				r.Fatal(err)
			}
			set, err := actors.NewToolset(p)
			if err != nil {
				r.Fatal(err)
			}
			a, l := r.spawn(actors.AgentOptions{Tools: set, Permissions: tc.p})
			n, err := a.Submit("go")
			if err != nil {
				r.Fatal(err)
			}
			asked, got := "", ""
			if _, err := l.Turn(context.Background(), n, func(e actors.Event) {
				switch d := e.Data.(type) {
				case msg.PermissionAsked:
					asked = d.Question
					if err := a.Permit(d.ID, msg.AllowOnce); err != nil {
						r.Error(err)
					}
				case msg.ToolResult:
					got = d.Text
				}
			}); err != nil {
				r.Fatal(err)
			}
			if !strings.Contains(got, tc.want) || (asked != "") != (tc.question != "") || !strings.Contains(asked, tc.question) {
				r.Errorf("%s with %+v: result %q, asked %q", tc.path, tc.p, got, asked)
			}
		}, callOf("c1", "t", `{"path":"`+tc.path+`"}`), ok)
	}
}

// A hidden tool is for plugins; a call of theirs obeys its permission.
func TestHiddenToolsAreAskedFor(t *testing.T) {
	source := `
clm.tool_register("secret", { hidden = true, invoke = function(args, ctx) ctx:complete("treasure") end })
clm.tool_register("t", { no_prompt = true, invoke = function(args, ctx)
  local text, err = clm.call("secret", {})
  ctx:complete(text or ("ERR " .. err))
end })`
	for _, tc := range []struct {
		p    actors.Permissions
		want string
	}{
		{actors.Permissions{}, "ERR permission denied: there is nobody to ask"},
		{actors.Permissions{Allow: []string{"secret"}}, "treasure"},
		{actors.Permissions{AllowAll: true, Deny: []string{"secret"}}, "ERR denied by the rule"},
	} {
		bubble(t, actors.Options{}, func(r *rig) {
			a, l := r.spawn(actors.AgentOptions{Tools: r.tools(nil, source), Permissions: tc.p})
			_, events := r.turn(a, l, "go")
			got := results(events)
			if !strings.HasPrefix(got["c1"], tc.want) || !strings.Contains(got["c2"], `unknown tool "secret"`) {
				r.Errorf("%+v: %q", tc.p, got)
			}
			if o := offered(r, 0); !slices.Equal(o, []string{"t"}) {
				r.Errorf("offered %v", o)
			}
		}, "!tool c1@0 t {}\n!tool c2@1 secret {}\n!finish tool_calls\n", ok)
	}
}

// The wall limit counts neither the wait for a person nor that for the VM
// while a neighbour uses it.
func TestWallLimitLeavesWaitingOut(t *testing.T) {
	source := `
clm.tool_register("t", { timeout_ms = 1000, invoke = function(args, ctx)
  clm.sleep(args.ms)
  ctx:complete("slept " .. args.ms)
end })`
	bubble(t, actors.Options{}, func(r *rig) {
		a, l := r.spawn(actors.AgentOptions{Tools: r.tools(nil, source), Permissions: actors.Permissions{Ask: true}})
		n := r.begin(a, "go")
		time.Sleep(time.Hour) // the person is away
		for id := range 2 {
			if err := a.Permit(uint64(id+1), msg.AllowOnce); err != nil {
				r.Fatal(err)
			}
		}
		_, events := r.end(l, n)
		if got := results(events); got["c1"] != "slept 900" || got["c2"] != "[tool failed: timed out after 1000 ms]" {
			r.Errorf("results %q", got)
		}
		for _, e := range events {
			if d, ok := e.Data.(msg.ToolResult); ok && d.Duration > 2*time.Second {
				r.Errorf("%s took %v", d.CallID, d.Duration)
			}
		}
	}, "!tool c1@0 t {\"ms\":900}\n!tool c2@1 t {\"ms\":1100}\n!finish tool_calls\n", ok)
}

// What a call has completed stands, whichever limit ends the code after it.
func TestCompletedBeforeTheLimit(t *testing.T) {
	source := `clm.tool_register("t", { no_prompt = true, timeout_ms = 200, invoke = function(args, ctx)
  ctx:complete("early")
  while true do end
end })`
	r := newRig(t, actors.Options{}, call, ok)
	a, l := r.spawn(actors.AgentOptions{Tools: r.tools(nil, source)})
	d, events := r.turn(a, l, "go")
	if got := results(events)["c1"]; d.Status != "done" || got != "early" {
		t.Errorf("%+v, %q", d, got)
	}
	r.idle()
	r.close()
}

// A neighbour that computes holds the VM for long; whoever waits for it is not
// timed out for that.
func TestWallLimitWhileANeighbourComputes(t *testing.T) {
	source := `
clm.tool_register("busy", { no_prompt = true, timeout_ms = 1500, invoke = function(args, ctx)
  while true do end
end })
clm.tool_register("t", { no_prompt = true, timeout_ms = 500, invoke = function(args, ctx)
  ctx:complete("had its turn")
end })`
	r := newRig(t, actors.Options{}, "!tool c1@0 busy {}\n!tool c2@1 t {}\n!finish tool_calls\n", ok)
	a, l := r.spawn(actors.AgentOptions{Tools: r.tools(nil, source)})
	_, events := r.turn(a, l, "go")
	if got := results(events); got["c1"] != "[tool failed: timed out after 1500 ms]" || got["c2"] != "had its turn" {
		t.Errorf("results %q", got)
	}
	r.close()
}
