package schema_test

import (
	"encoding/json"
	"fmt"

	"clm/actors/internal/schema"
)

func ExampleNormalise() {
	raw, err := schema.Normalise(json.RawMessage(`{"$schema":"x","properties":{"n":{"type":["integer"]}},"required":null}`))
	fmt.Println(string(raw), err)
	s, err := schema.Compile(raw)
	fmt.Println(s.Check(`{"n":"one"}`), err)
	// Output:
	// {"properties":{"n":{"type":"integer"}},"type":"object"} <nil>
	// the arguments do not fit the tool's schema:
	// - at /n: got string, want integer <nil>
}
