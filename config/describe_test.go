package config

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// TestJSONSchema compiles the schema and holds that it judges as Load does.
func TestJSONSchema(t *testing.T) {
	b, err := json.Marshal(JSONSchema())
	if err != nil {
		t.Fatal(err)
	}
	doc, err := jsonschema.UnmarshalJSON(strings.NewReader(string(b)))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource("config.json", doc); err != nil {
		t.Fatal(err)
	}
	schema, err := c.Compile("config.json")
	if err != nil {
		t.Fatal(err)
	}
	for text, ok := range map[string]bool{
		`{}`: true,
		`{"model":"a/b","providers":{"a":{"kind":"demo","models":{"x/y.z":{"context_size":1,"price":{"input":0.5}}}}}}`: true,
		`{"agents":{"p":{"model":"x"}}}`: true,
		`{"agents":{"p":{"agent":"x"}}}`: false,
		`{"modle":"x"}`:                  false,
		`{"max_iterations":-1}`:          false,
		`{"max_iterations":1.5}`:         false,
		`{"autocompact_pct":101}`:        false,
		`{"autocompact_pct":0}`:          true,
		`{"mcp_servers":[{}]}`:           false,
	} {
		v, err := jsonschema.UnmarshalJSON(strings.NewReader(text))
		if err != nil {
			t.Fatal(err)
		}
		if err := schema.Validate(v); (err == nil) != ok {
			t.Errorf("%s: %v", text, err)
		}
	}
}

// TestLuaLS holds that every class that a field names is there.
func TestLuaLS(t *testing.T) {
	text := LuaLS()
	for _, k := range Schema() {
		if !strings.Contains(text, "---@field "+k.Name+"? ") {
			t.Errorf("%s is missing", k.Name)
		}
	}
	for _, m := range regexp.MustCompile(`---@field \S+ (?:table<string, )*(clm\.[\w.]+)`).FindAllStringSubmatch(text, -1) {
		if !strings.Contains(text, "---@class "+m[1]+"\n") {
			t.Errorf("%s is not a class", m[1])
		}
	}
}

// TestEveryKeyHasADoc holds that each key can be described.
func TestEveryKeyHasADoc(t *testing.T) {
	var walk func(path string, keys []Key)
	walk = func(path string, keys []Key) {
		for _, k := range keys {
			if !strings.HasSuffix(k.Doc, ".") {
				t.Errorf("%s%s: the doc %q is not a sentence", path, k.Name, k.Doc)
			}
			for e := &k; e != nil; e = e.Elem {
				walk(path+k.Name+".", e.Keys)
			}
		}
	}
	walk("", Schema())
}

func TestFilesThatCannotBeRead(t *testing.T) {
	home := t.TempDir()
	dir := filepath.Join(home, "clm")
	if err := os.MkdirAll(filepath.Join(dir, "config.lua"), 0o755); err != nil {
		t.Fatal(err)
	}
	writeFile(t, filepath.Join(dir, "secrets.lua"), "return {}")
	if err := os.Chmod(filepath.Join(dir, "secrets.lua"), 0o644); err != nil {
		t.Fatal(err)
	}
	_, warns, err := Load(Options{Env: []string{"XDG_CONFIG_HOME=" + home}})
	if err == nil || !strings.Contains(err.Error(), "config.lua: is not a regular file") {
		t.Errorf("a folder as config.lua: %v", err)
	}
	if len(warns) != 1 || !strings.Contains(warns[0].String(), "chmod 600") {
		t.Errorf("readable secrets: %v", warns)
	}
	if err := os.Remove(filepath.Join(dir, "config.lua")); err != nil {
		t.Fatal(err)
	}
	writeFile(t, filepath.Join(dir, "config.lua"), "return {}--"+strings.Repeat("x", maxFile))
	if _, _, err = Load(Options{Env: []string{"XDG_CONFIG_HOME=" + home}}); err == nil || !strings.Contains(err.Error(), "larger than") {
		t.Errorf("a huge file: %v", err)
	}
	if _, _, err = Load(Options{}); err == nil || !strings.Contains(err.Error(), "HOME") {
		t.Errorf("no home: %v", err)
	}
}

// BenchmarkLoad reads a configuration as clm setup writes it: a dozen
// providers, secrets, a profile.
func BenchmarkLoad(b *testing.B) {
	home := b.TempDir()
	var providers, secrets strings.Builder
	for i := range 12 {
		fmt.Fprintf(&providers, "p%d = { url = 'http://h%d/v1', api_key = clm.secrets.k%d, models = { ['org/model-%d.1'] = { context_size = 100000 } } },\n", i, i, i, i)
		fmt.Fprintf(&secrets, "k%d = 'sk-key-number-%d',\n", i, i)
	}
	writeFile(b, home+"/clm/config.lua", "return { agent = 'a', model = 'p1/x', providers = {\n"+providers.String()+"} }")
	writeFile(b, home+"/clm/secrets.lua", "return {\n"+secrets.String()+"}")
	writeFile(b, home+"/clm/agents/a.lua", "return { system_prompt = 'x', tools = { a = { b = 1 } } }")
	o := Options{Env: []string{"XDG_CONFIG_HOME=" + home}}
	for b.Loop() {
		if _, _, err := Load(o); err != nil {
			b.Fatal(err)
		}
	}
}

func Example() {
	home, _ := os.MkdirTemp("", "")
	defer os.RemoveAll(home)
	_ = os.MkdirAll(filepath.Join(home, "clm"), 0o700)
	_ = os.WriteFile(filepath.Join(home, "clm", "config.lua"), []byte(`return {
	  model = "lab/org/model-4.1",
	  providers = { lab = { url = "https://lab.example/v1", api_key = "sk-1234" } },
	}`), 0o600)

	cfg, warnings, err := Load(Options{Env: []string{"XDG_CONFIG_HOME=" + home}})
	if err != nil {
		fmt.Println(err)
		return
	}
	target, err := cfg.Target(Choice{})
	fmt.Println(len(warnings), target.URL, target.Model, target.APIKey, err)
	// Output: 0 https://lab.example/v1 org/model-4.1 [secret] <nil>
}
