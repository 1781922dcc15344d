package luavm_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"clm/luavm"
)

func TestEvalConfig(t *testing.T) {
	for _, c := range []struct {
		source string
		want   any
		err    string
	}{
		{
			`return { a = 1, b = { "x", 2.5, true }, c = {}, d = clm.secrets.k }`,
			map[string]any{"a": int64(1), "b": []any{"x", 2.5, true}, "c": []any{}, "d": "s3cret"},
			"",
		},
		{`return 9007199254740993`, int64(9007199254740993), ""},
		{`return 1, 2`, int64(1), ""},
		{`return "a", "b"`, "a", ""},
		{`local x = 1`, nil, ""},
		{`return nil`, nil, ""},
		{`return { providers = { x = { 1, print } } }`, nil, "config.lua: providers.x[2]: a function is not data"},
		{`return { 1, nil, 3 }`, nil, "config.lua: element 2 is missing"},
		{`return { 1, a = 2 }`, nil, "config.lua: the table has both elements and named fields"},
		{`return { a = { [1.5] = 2 } }`, nil, "config.lua: a: the key 1.5 is neither a string nor one of 1, 2, 3, …"},
		{`return { a = 0/0 }`, nil, "config.lua: a: -nan is not a usable number"},
		{`local t = {} t.t = t return t`, nil, "config.lua: t: the table contains itself"},
		{`local t = {} for i = 1, 70 do t = { t } end return t`, nil, "nested deeper than 64 levels"},
		{`local t = {} for i = 1, 60 do t = { t, t } end return t`, nil, "more than 100000 values"},
		{"\nerror('no key')", nil, "config.lua:2: no key"},
		{"\n\nreturn {", nil, "config.lua:3: "},
		{`while true do end`, nil, "config.lua: timed out after 500 ms"},
		{`return json or http or clm.sleep or os or io`, nil, ""},
		{`local s = string.rep("x", 1e6) s = s:rep(1e3)`, nil, "memory"},
	} {
		got, err := luavm.EvalConfig("config.lua", c.source, map[string]any{"clm": map[string]any{"secrets": map[string]any{"k": "s3cret"}}})
		if c.err != "" {
			var e *luavm.ConfigError
			if !errors.As(err, &e) || !strings.Contains(err.Error(), c.err) {
				t.Errorf("%s: error %v, want %q", c.source, err, c.err)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", c.source, err)
		} else if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s: %s", c.source, diff)
		}
	}
}
