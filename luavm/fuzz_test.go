package luavm_test

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"clm/luavm"
	"clm/luavm/luavmtest"
	"clm/luavm/plugins"
)

// FuzzJSON compares json.decode and json.encode with encoding/json.
func FuzzJSON(f *testing.F) {
	for _, s := range []string{
		``, `null`, `[]`, `{}`, `{"a":[1,2.5,-3e2,true,null,"x\u00e9\ud83d\ude00\n"],"b":{}}`, `[[[[]]]]`, `9223372036854775807`,
		`{"a":1,"a":2}`, `"\ud800"`, `1e999`, `-0`, `[1,]`, `"` + strings.Repeat("\\u0001", 20) + `"`, `{"1":1,"2":2}`, "\"\xff\"",
	} {
		f.Add(s)
	}
	v := load(f, luavm.Options{}, register("t", `
		local value, err = json.decode(args.s)
		if err then ctx:fail(err) else ctx:complete(json.encode(value)) end`))
	f.Fuzz(func(t *testing.T, s string) {
		if !utf8.ValidString(s) {
			t.Skip("encoding/json replaces what is not UTF-8")
		}
		args, err := json.Marshal(map[string]string{"s": s})
		if err != nil {
			t.Fatal(err)
		}
		r := run(t, v, "t", string(args))
		var want, got any
		d := json.NewDecoder(strings.NewReader(s))
		valid := d.Decode(&want) == nil && !d.More() && json.Valid([]byte(s))
		if r.Failed {
			if valid && !strings.Contains(r.Text, "nested deeper") && !strings.Contains(r.Text, "out of range") {
				t.Errorf("%q is refused: %s", s, r.Text)
			}
			return
		}
		if !valid && !outOfRange(s) {
			t.Errorf("%q is taken", s)
		}
		if err := json.Unmarshal([]byte(r.Text), &got); err != nil {
			t.Fatalf("%q gives %q: %v", s, r.Text, err)
		}
		if valid && !reflect.DeepEqual(got, want) {
			t.Errorf("%q gives %q", s, r.Text)
		}
	})
}

// outOfRange reports whether encoding/json refuses s for a number that it can spell but not hold.
func outOfRange(s string) bool { return json.Valid([]byte(s)) }

// FuzzPlugin loads source as a plugin and calls its tools: whatever it is, it ends within its limits.
func FuzzPlugin(f *testing.F) {
	for _, p := range plugins.List() {
		f.Add(p.Source, `{"text":"x"}`)
	}
	paths, err := filepath.Glob("testdata/*.txt")
	if err != nil {
		f.Fatal(err)
	}
	for _, path := range paths {
		text, err := os.ReadFile(path)
		if err != nil {
			f.Fatal(err)
		}
		if _, source, ok := bytes.Cut(text, []byte(".lua --\n")); ok {
			source, _, _ = bytes.Cut(source, []byte("\n-- "))
			f.Add(string(source), `{}`)
		}
	}
	for _, a := range attacks {
		f.Add(a.code, `{}`)
	}
	f.Fuzz(func(t *testing.T, source, args string) {
		p, err := luavm.Compile("fuzz", source)
		if err != nil {
			return
		}
		o := luavm.Options{LoadTime: 20 * time.Millisecond, Memory: 1 << 20}
		v := luavm.New(p, o)
		s := &luavmtest.Simulation{Answer: echo}
		start := time.Now()
		s.Run(t.Context(), v.Load())
		for _, tool := range v.Tools() {
			if !json.Valid(tool.Schema) {
				t.Errorf("tool %s has the schema %s", tool.Name, tool.Schema)
			}
			o.Tools = append(o.Tools, luavm.Tool{Name: tool.Name, Timeout: 20 * time.Millisecond})
		}
		v.Close()
		v = luavm.New(p, o)
		if r := s.Run(t.Context(), v.Load()); !r.Failed {
			for _, tool := range o.Tools[:min(len(o.Tools), 5)] {
				s.Run(t.Context(), v.Call(tool.Name, args))
			}
		}
		if err := v.Broken(); err != nil && strings.Contains(err.Error(), "internal error") {
			t.Error(err)
		}
		if took := time.Since(start); took > 5*time.Second {
			t.Errorf("took %v", took)
		}
		v.Close()
	})
}
