package luavmtest_test

import (
	"context"
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
