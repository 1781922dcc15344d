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

func compiled(t *testing.T, raw string) *Schema {
	t.Helper()
	s, err := Compile(json.RawMessage(raw))
	if err != nil {
		t.Fatalf("%s: %v", raw, err)
	}
	return s
}

func TestCheck(t *testing.T) {
	for _, tc := range []struct {
		schema, args string
		want         []string // parts of the answer; none: the arguments are right
	}{
		{order, `{"id":9007199254740993}`, nil},
		{order, `{"id":1.0,"unit":"kg"}`, nil},
		{"{}", `{"anything":1}`, nil},
		{"{}", ``, nil},
		{"{}", ` `, nil},
		{order, ``, []string{"missing property 'id'"}},
		{order, `{"id":"1","lines":[1,"2",3,true],"x":1}`, []string{
			"at /id: got string, want integer", "at /lines/1: got string, want integer", "at /lines/3: got boolean", "unknown property 'x'; known are 'id', 'lines', 'unit'",
		}},
		{order, `{"id":1,"unit":"stone"}`, []string{"at /unit: got 'stone', want one of 'kg', 'lb'"}},
		{order, `[]`, []string{"must be a JSON object"}},
		{"{}", `null`, []string{"must be a JSON object"}},
		{order, `{"id":1}x`, []string{"no valid JSON"}},
		{order, `{"id":`, []string{"no valid JSON"}},
		{order, `{"id":1e999999999}`, []string{"out of range"}},
		{order, `{"id":` + strings.Repeat("9", 5000) + `}`, []string{"digits"}},
		{"{}", strings.Repeat(`{"a":`, 300) + "1" + strings.Repeat("}", 300), []string{"nested more than"}},
	} {
		got := compiled(t, tc.schema).Check(tc.args)
		if (got != "") != (tc.want != nil) {
			t.Errorf("%.80s: got %q", tc.args, got)
		}
		for _, part := range tc.want {
			if !strings.Contains(got, part) {
				t.Errorf("%.80s: got %q, without %q", tc.args, got, part)
			}
		}
	}
}

func TestErrorIsBounded(t *testing.T) {
	got := compiled(t, order).Check(`{"id":1,"lines":["` + strings.Repeat("x", 100_000) + `"` + strings.Repeat(`,"no"`, 1000) + `],"unit":"` + strings.Repeat("é", 10_000) + `"}`)
	if len(got) > maxErrorText || !strings.Contains(got, "more") {
		t.Errorf("got %d bytes: %s", len(got), got)
	}
}

// A hostile schema must not read files, whatever its error says.
func TestReachesNothingOutside(t *testing.T) {
	secret := filepath.Join(t.TempDir(), "secret.json")
	if err := os.WriteFile(secret, []byte(`{"const":"SECRET"}`), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, s := range []string{
		`{"$ref":"file://` + secret + `"}`,
		`{"properties":{"a":{"$ref":"file://` + secret + `"}}}`,
		`{"$schema":"file://` + secret + `"}`,
		`{"$schema":"https://example.com/own-dialect","type":"object"}`,
		`{"$id":"file:///etc/","$ref":"hosts"}`,
		`{"properties":{"a":{"$id":"file:///etc/","$ref":"#/hosts"}}}`,
		`{"$dynamicRef":"file://` + secret + `"}`,
	} {
		got, err := Compile(json.RawMessage(s))
		if err == nil || strings.Contains(err.Error(), "SECRET") {
			t.Errorf("%s: got %+v, %v", s, got, err)
		}
	}
}

func TestCannotCompile(t *testing.T) {
	for _, s := range []string{
		``, `{`, `5`, `{"type":"objekt"}`, `{"properties":{"a":{"pattern":"(?=x)"}}}`, `{"properties":{"a":{"maximum":1e999999999}}}`,
		`{"$ref":"#/$defs/none"}`, `{"required":null}`, strings.Repeat(`{"not":`, 1000) + `{}` + strings.Repeat("}", 1000),
		`{"properties":[]}`, `{"minLength":-1}`, `{"maxItems":1.5}`, `{"minimum":"1"}`, `{"multipleOf":0}`, `{"enum":5}`, `{"allOf":{}}`, `{"uniqueItems":1}`,
		`{"pattern":"` + strings.Repeat("a", maxPattern+1) + `"}`, `{"properties":{"` + strings.Repeat("a", 5000) + `":5}}`,
		`{"description":"` + strings.Repeat("x", maxSchema) + `"}`,
	} {
		if got, err := Compile(json.RawMessage(s)); err == nil || len(err.Error()) > 400 || strings.Contains(err.Error(), "\n") {
			t.Errorf("%.60s: got %+v, %v", s, got, err)
		}
	}
}

func many(text string, n int) string { return strings.TrimSuffix(strings.Repeat(text+",", n), ",") }

func numbered(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, `"a%d":1,`, i)
	}
	return b.String() + `"z":1`
}

// Schemas that would take a validator without bounds very long.
func TestChecksInBoundedTime(t *testing.T) {
	doubling := `{"$ref":"#/$defs/a0","$defs":{`
	for i := range 60 {
		doubling += fmt.Sprintf(`"a%d":{"allOf":[{"$ref":"#/$defs/a%d"},{"$ref":"#/$defs/a%d"}]},`, i, i+1, i+1)
	}
	doubling += `"a60":{"type":"object"}}}`
	nested := `{"allOf":[{"properties":{"x":{"$ref":"#"}}},{"properties":{"x":{"$ref":"#"}}}]}`
	loop := `{"$ref":"#/$defs/a","$defs":{"a":{"$ref":"#/$defs/b"},"b":{"$ref":"#/$defs/a"}}}`
	for _, tc := range [][2]string{
		{doubling, `{}`},
		{nested, strings.Repeat(`{"x":`, 100) + `{}` + strings.Repeat("}", 100)},
		{loop, `{}`},
		{`{"properties":{"a":{"anyOf":[` + many(`{"type":"string"}`, 10_000) + `]}}}`, `{"a":[` + many("1", 100_000) + `]}`},
		{`{"allOf":[` + many(`{"required":["x"],"minProperties":1,"additionalProperties":true}`, 3000) + `]}`, `{` + numbered(20_000) + `}`},
		{`{"properties":{"a":{"items":{"pattern":"` + strings.Repeat("(a|b|ab){9}", 100) + `c"}}}}`, `{"a":[` + many(`"`+strings.Repeat("ab", 500)+`"`, 500) + `]}`},
		{`{"properties":{"a":{"pattern":"(((a{30}){30}){30}){30}"}}}`, `{"a":""}`},
		{`{"properties":{"a":{"items":{"enum":[` + many("1e-400", 10_000) + `]}}}}`, `{"a":[` + many("1e400", 50_000) + `]}`},
		{`{"properties":{"a":{"uniqueItems":true}}}`, `{"a":[` + strings.Repeat(`{"b":1},`, 3000) + `{"b":2}]}`},
	} {
		begun := time.Now()
		if s, err := Compile(json.RawMessage(tc[0])); err == nil {
			s.Check(tc[1])
		}
		if took := time.Since(begun); took > time.Minute {
			t.Errorf("%.60s: took %v", tc[0], took)
		}
	}
}

func TestSharedByGoroutines(t *testing.T) {
	lazy := Lazy(json.RawMessage(order))
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for range 50 {
				s, err := lazy()
				if err != nil || s.Check(`{"id":1}`) != "" || s.Check(`{"id":"1"}`) == "" {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
}

func FuzzCheck(f *testing.F) {
	f.Add(order, `{"id":1}`)
	f.Add(`{"$ref":"#"}`, `{}`)
	f.Add(`{"required":null,"properties":[]}`, `{"a":[1e5]}`)
	f.Fuzz(func(t *testing.T, schema, args string) {
		if s, err := Compile(json.RawMessage(schema)); err == nil {
			if text := s.Check(args); len(text) > maxErrorText {
				t.Fatalf("an answer of %d bytes", len(text))
			}
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

func BenchmarkCompile(b *testing.B) {
	for b.Loop() {
		if _, err := Compile(json.RawMessage(order)); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkCheckFaults(b *testing.B) {
	s, _ := Compile(json.RawMessage(order))
	for b.Loop() {
		if text := s.Check(`{"id":"1","lines":[1,"2",3,true],"x":1}`); text == "" {
			b.Fatal("no fault found")
		}
	}
}

func BenchmarkCheck(b *testing.B) {
	s, _ := Compile(json.RawMessage(order))
	for b.Loop() {
		if text := s.Check(`{"id":1,"lines":[1,2,3],"unit":"kg"}`); text != "" {
			b.Fatal(text)
		}
	}
}
