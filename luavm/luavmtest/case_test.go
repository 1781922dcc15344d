package luavmtest_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"clm/luavm/luavmtest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// What is wrong with a case is an error that says where.
func TestBadCases(t *testing.T) {
	const plugin = "-- plugin p.lua --\n"
	for text, want := range map[string]string{
		"nothing\n":                                    "c.txt: no section",
		"-- call t {} --\n":                            "no plugin",
		"plugin: none.lua\n-- call t {} --\n":          "none.lua",
		plugin + "-- reply GET --\n":                   "want a method and a URL",
		plugin + "-- reply GET http://x --\nbody":      `"body" is no attribute`,
		plugin + "-- reply GET http://x --\nage: 3":    `unknown attribute "age"`,
		plugin + "-- reply GET http://x --\nafter: x":  "invalid duration",
		plugin + "-- reply GET http://x --\nstatus: x": "expected integer",
		plugin + "-- config --\n[":                     "unexpected end of JSON",
		plugin + "-- dance --\n":                       `section "dance": unknown kind`,
		plugin + "-- content x --\n":                   `section "content x": no such file`,
	} {
		c, err := luavmtest.Parse("c.txt", text)
		if err == nil {
			_, err = c.Play(context.Background())
		}
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: error %v, want %q", text, err, want)
		}
	}
}

// A call that waits for what never comes ends, and the next one works.
func TestNever(t *testing.T) {
	const text = `-- plugin p.lua --
clm.tool_register("stuck", { invoke = function(_, ctx) http.get("http://x/") end })
clm.tool_register("tasks", { invoke = function(_, ctx) clm.spawn(function() http.get("http://x/") end):wait() end })
clm.tool_register("ok", { invoke = function(_, ctx) ctx:complete("ok") end })
-- reply GET http://x/ --
never:
-- call stuck {} --
[tool failed: the call waits for something that never comes]
-- call tasks {} --
[tool failed: the call waits for something that never comes]
-- call ok {} --
ok
`
	c, err := luavmtest.Parse("c.txt", text)
	if err != nil {
		t.Fatal(err)
	}
	got, err := c.Play(context.Background())
	if err != nil || got.String() != text {
		t.Errorf("%v\n%s", err, got)
	}
}

// A child that passes the call's limit ends the call, whatever main waits for.
func TestChildPastLimit(t *testing.T) {
	const text = `-- plugin p.lua --
clm.tool_register("t", { timeout_ms = 20, invoke = function(_, ctx)
    clm.spawn(function() clm.sleep(5) while true do end end)
    clm.spawn(function() clm.sleep(1e9) end)
    clm.sleep(1e9)
end })
-- call t {} --
[tool failed: timed out after 20 ms]
-- call t {} --
[tool failed: timed out after 20 ms]
`
	c, err := luavmtest.Parse("c.txt", text)
	if err != nil {
		t.Fatal(err)
	}
	got, err := c.Play(context.Background())
	if err != nil || got.String() != text {
		t.Errorf("%v\n%s", err, got)
	}
}

// With LUAVMTEST_UPDATE=1 a case gets what came out, and holds from then on.
func TestUpdate(t *testing.T) {
	path := filepath.Join(t.TempDir(), "c.txt")
	text := "A note.\n-- plugin p.lua --\nclm.tool_register('t', { invoke = function(a, ctx) ctx:log('x') ctx:complete(a.v) end })\n" +
		"-- tools --\n-- call t {\"v\":\"one\\ntwo\"} --\nold\n-- log --\n-- call t {\"v\":\"\"} --\n"
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv(luavmtest.UpdateVariable, "1")
	luavmtest.Run(t, path)
	got, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	want := strings.Replace(strings.Replace(strings.Replace(text, "old", "one\ntwo", 1), "-- log --\n", "-- log --\nx\n", 1),
		"-- tools --\n", "-- tools --\nt {\"type\":\"object\",\"properties\":{}}\n", 1)
	if string(got) != want {
		t.Errorf("got:\n%s", got)
	}
	t.Setenv(luavmtest.UpdateVariable, "")
	luavmtest.Run(t, path)
}

// Check tells what differs, and nothing when nothing does.
func TestCheck(t *testing.T) {
	path := filepath.Join(t.TempDir(), "c.txt")
	text := "-- plugin p.lua --\nclm.tool_register('t', { invoke = function(a, ctx) ctx:complete('new') end })\n-- call t {} --\nold\n"
	for _, want := range []string{"old", "new"} {
		if err := os.WriteFile(path, []byte(strings.Replace(text, "old", want, 1)), 0o600); err != nil {
			t.Fatal(err)
		}
		differences, err := luavmtest.Check(context.Background(), path)
		switch {
		case err != nil:
			t.Fatal(err)
		case want == "new" && len(differences) != 0:
			t.Errorf("a case that holds differs: %q", differences)
		case want == "old" && (len(differences) != 1 || !strings.HasSuffix(differences[0], "-- call t {} --\nwant: old\ngot:  new")):
			t.Errorf("got %q", differences)
		}
	}
	if _, err := luavmtest.Check(context.Background(), path+".none"); err == nil {
		t.Error("a file that is not there is no error")
	}
}
