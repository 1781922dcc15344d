package luavm_test

import (
	"bytes"
	"os"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// What the schema cases give is valid JSON Schema.
func TestSchemasAreValid(t *testing.T) {
	text, err := os.ReadFile("testdata/schema.txt")
	if err != nil {
		t.Fatal(err)
	}
	_, tools, _ := strings.Cut(string(text), "-- tools --\n")
	tools, _, _ = strings.Cut(tools, "-- call")
	n := 0
	for line := range strings.Lines(tools) {
		name, schema, _ := strings.Cut(line, " ")
		doc, err := jsonschema.UnmarshalJSON(bytes.NewReader([]byte(schema)))
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		c := jsonschema.NewCompiler()
		if err := c.AddResource("schema.json", doc); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if _, err := c.Compile("schema.json"); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		n++
	}
	if n < 10 {
		t.Errorf("only %d schemas", n)
	}
}
