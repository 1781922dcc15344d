// Package schema checks a tool call's arguments against the tool's JSON Schema,
// and makes a valid schema of whatever a tool's author gave. A $ref reaches
// nothing outside the schema: every load is refused.
package schema

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// maxText bounds what a model is told about its arguments, in bytes.
const maxText = 2000

// Schema is a compiled schema. It is immutable.
type Schema struct{ s *jsonschema.Schema }

// Compile compiles the schema of a tool's arguments.
func Compile(raw json.RawMessage) (*Schema, error) {
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(raw))
	if err != nil {
		return nil, fmt.Errorf("schema: %w", err)
	}
	c := jsonschema.NewCompiler()
	c.UseLoader(refuse{})
	if err := c.AddResource("tool:arguments", doc); err != nil {
		return nil, fmt.Errorf("schema: %w", err)
	}
	s, err := c.Compile("tool:arguments")
	if err != nil {
		return nil, fmt.Errorf("schema: %w", err)
	}
	return &Schema{s}, nil
}

type refuse struct{}

func (refuse) Load(url string) (any, error) {
	return nil, fmt.Errorf("%s: a schema may only refer to itself", url)
}

// Check says what is wrong with arguments, one fault a line in bounded text;
// "" when nothing is.
func (s *Schema) Check(args string) string {
	v, err := jsonschema.UnmarshalJSON(strings.NewReader(args))
	if err != nil {
		return fmt.Sprintf("the arguments are not valid JSON: %v", err)
	}
	err = s.s.Validate(v)
	var invalid *jsonschema.ValidationError
	switch {
	case err == nil:
		return ""
	case !errors.As(err, &invalid):
		return err.Error()
	}
	// The first line names the schema, which is of no use to a model.
	_, faults, _ := strings.Cut(invalid.Error(), "\n")
	text := "the arguments do not fit the tool's schema:\n" + faults
	if len(text) > maxText {
		text = strings.ToValidUTF8(text[:maxText], "") + "\n… and more"
	}
	return text
}

// Lazy compiles a schema at its first use; the returned function may be called
// from any goroutine.
func Lazy(raw json.RawMessage) func() (*Schema, error) {
	return sync.OnceValues(func() (*Schema, error) { return Compile(raw) })
}
