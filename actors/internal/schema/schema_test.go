package schema

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const order = `{"type":"object","properties":{"id":{"type":"integer"},"lines":{"type":"array","items":{"type":"integer"}},
"unit":{"enum":["kg","lb"]}},"required":["id"],"additionalProperties":false}`

func TestCheck(t *testing.T) {
	c := NewCache(10)
	for _, tc := range []struct {
		schema, args string
		want         []string // parts of the error; none: no error
	}{
		{order, `{"id":9007199254740993}`, nil},
		{order, `{"id":1.0,"unit":"kg"}`, nil},
		{"", `{"anything":1}`, nil},
		{"", ``, nil},
		{"{}", ` `, nil},
		{order, ``, []string{"missing property 'id'"}},
		{order, `{"id":"1","lines":[1,"2",3,true],"x":1}`, []string{
			"at '/id': got string, want integer", "at '/lines/1': got string", "at '/lines/3': got boolean", "'x' not allowed",
		}},
		{order, `{"id":1,"unit":"stone"}`, []string{"at '/unit'", "'kg'"}},
		{order, `[]`, []string{"must be a JSON object"}},
		{"", `null`, []string{"must be a JSON object"}},
		{order, `{"id":1}x`, []string{"no valid JSON"}},
		{order, `{"id":`, []string{"no valid JSON"}},
		{order, `{"id":1e999999999}`, []string{"out of range"}},
		{order, `{"id":` + strings.Repeat("9", 5000) + `}`, []string{"digits"}},
		{"", strings.Repeat(`{"a":`, 300) + "1" + strings.Repeat("}", 300), []string{"nested more than"}},
	} {
		s := c.Compile(json.RawMessage(tc.schema))
		if s.Warning() != "" {
			t.Errorf("%s: warning %s", tc.schema, s.Warning())
		}
		err := s.Check(tc.args)
		if (err != nil) != (tc.want != nil) {
			t.Errorf("%.80s: got %v", tc.args, err)
			continue
		}
		for _, part := range tc.want {
			if !strings.Contains(err.Error(), part) {
				t.Errorf("%.80s: got %q, without %q", tc.args, err, part)
			}
		}
	}
}

func TestErrorIsBounded(t *testing.T) {
	s := NewCache(1).Compile(json.RawMessage(order))
	err := s.Check(`{"id":1,"lines":["` + strings.Repeat("x", 100_000) + `"` + strings.Repeat(`,"no"`, 1000) + `],"unit":"` + strings.Repeat("é", 10_000) + `"}`)
	if err == nil || len(err.Error()) > maxErrorText || !strings.Contains(err.Error(), "more") {
		t.Errorf("got %d bytes: %v", len(err.Error()), err)
	}
}

// A hostile schema must not read files, whatever its error says.
func TestReachesNothingOutside(t *testing.T) {
	secret := filepath.Join(t.TempDir(), "secret.json")
	if err := os.WriteFile(secret, []byte(`{"const":"SECRET"}`), 0o600); err != nil {
		t.Fatal(err)
	}
	c := NewCache(10)
	for _, s := range []string{
		`{"$ref":"file://` + secret + `"}`,
		`{"properties":{"a":{"$ref":"file://` + secret + `"}}}`,
		`{"$schema":"file://` + secret + `"}`,
		`{"$schema":"https://example.com/own-dialect","type":"object"}`,
		`{"$id":"file:///etc/","$ref":"hosts"}`,
	} {
		got := c.Compile(json.RawMessage(s))
		err := got.Check(`{"a":"x"}`)
		if got.Warning() == "" || err != nil || strings.Contains(got.Warning(), "SECRET") {
			t.Errorf("%s: warning %q, error %v", s, got.Warning(), err)
		}
	}
}

func TestUnusable(t *testing.T) {
	c := NewCache(10)
	for _, s := range []string{
		`{`, `5`, `{"type":"objekt"}`, `{"properties":{"a":{"pattern":"(?=x)"}}}`, `{"properties":{"a":{"maximum":1e999999999}}}`,
		`{"$ref":"#/$defs/none"}`, `{"required":null}`, strings.Repeat(`{"not":`, 1000) + `{}` + strings.Repeat("}", 1000),
		`{"description":"` + strings.Repeat("x", maxSchema) + `"}`,
	} {
		got := c.Compile(json.RawMessage(s))
		if got.Warning() == "" || len(got.Warning()) > 500 {
			t.Errorf("%.60s: warning %q", s, got.Warning())
		}
		if err := got.Check(`{"a":1}`); err != nil {
			t.Errorf("%.60s: its tool cannot be called: %v", s, err)
		}
	}
}

// Schemas that would take the validator years.
func TestChecksInBoundedTime(t *testing.T) {
	doubling := `{"$ref":"#/$defs/a0","$defs":{`
	for i := range 60 {
		doubling += fmt.Sprintf(`"a%d":{"allOf":[{"$ref":"#/$defs/a%d"},{"$ref":"#/$defs/a%d"}]},`, i, i+1, i+1)
	}
	doubling += `"a60":{"type":"object"}}}`
	nested := `{"allOf":[{"properties":{"x":{"$ref":"#"}}},{"properties":{"x":{"$ref":"#"}}}]}`
	loop := `{"$ref":"#/$defs/a","$defs":{"a":{"$ref":"#/$defs/b"},"b":{"$ref":"#/$defs/a"}}}`
	c := NewCache(10)
	for _, tc := range [][2]string{
		{doubling, `{}`},
		{nested, strings.Repeat(`{"x":`, 100) + `{}` + strings.Repeat("}", 100)},
		{loop, `{}`},
		{`{"properties":{"a":{"uniqueItems":true}}}`, `{"a":[` + strings.Repeat(`{"b":1},`, 3000) + `{"b":2}]}`},
	} {
		begun := time.Now()
		_ = c.Compile(json.RawMessage(tc[0])).Check(tc[1])
		if took := time.Since(begun); took > 10*time.Second {
			t.Errorf("%.60s: took %v", tc[0], took)
		}
	}
}

func TestCacheIsSharedAndBounded(t *testing.T) {
	c := NewCache(3)
	var wg sync.WaitGroup
	for g := range 4 {
		wg.Go(func() {
			for i := range 50 {
				s := c.Compile(json.RawMessage(fmt.Sprintf(`{"properties":{"n":{"const":%d}}}`, i%5)))
				if err := s.Check(fmt.Sprintf(`{"n":%d}`, i%5)); err != nil {
					t.Error(g, err)
				}
				if s.Check(`{"n":99}`) == nil {
					t.Error("another schema was given")
				}
			}
		})
	}
	wg.Wait()
	if n := len(*c.seen.Load()); n > 3 {
		t.Errorf("%d schemas are kept", n)
	}
	if c.Compile(json.RawMessage(order)) != c.Compile(json.RawMessage(order)) {
		t.Error("a schema was compiled twice")
	}
}

func FuzzCheck(f *testing.F) {
	f.Add(order, `{"id":1}`)
	f.Add(`{"$ref":"#"}`, `{}`)
	f.Add(`{"required":null,"properties":[]}`, `{"a":[1e5]}`)
	c := NewCache(100)
	f.Fuzz(func(t *testing.T, schema, args string) {
		s := c.Compile(json.RawMessage(schema))
		if err := s.Check(args); err != nil && len(err.Error()) > maxErrorText {
			t.Fatalf("an error of %d bytes", len(err.Error()))
		}
		out, err := Normalise(json.RawMessage(schema))
		if err != nil {
			return
		}
		again, err := Normalise(out)
		if err != nil || string(again) != string(out) {
			t.Fatalf("%s becomes %s becomes %s, %v", schema, out, again, err)
		}
	})
}

func BenchmarkCheck(b *testing.B) {
	s := NewCache(1).Compile(json.RawMessage(order))
	for b.Loop() {
		if err := s.Check(`{"id":1,"lines":[1,2,3],"unit":"kg"}`); err != nil {
			b.Fatal(err)
		}
	}
}
