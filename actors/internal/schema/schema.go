package schema

import (
	"encoding/json"
	"fmt"
	"strings"
	"sync"

	"clm/llm"
)

const maxSchema = 256 << 10 // bytes of a schema

// Schema is a compiled schema. It is immutable, and shared by all agents.
type Schema struct {
	root    *node
	tracked bool
}

// Lazy compiles a schema at its first use; the returned function may be called
// from any goroutine.
func Lazy(raw json.RawMessage) func() (*Schema, error) {
	return sync.OnceValues(func() (*Schema, error) { return Compile(raw) })
}

// Compile compiles the schema of a tool's arguments. An error, of one line,
// means that arguments cannot be checked against it; it is no reason not to
// offer the tool.
func Compile(raw json.RawMessage) (s *Schema, err error) {
	defer func() {
		if err != nil {
			s, err = nil, fmt.Errorf("schema: %s", llm.OneLine(err.Error(), maxErrorLine))
		}
	}()
	if len(raw) > maxSchema {
		return nil, fmt.Errorf("it is larger than %d bytes", maxSchema)
	}
	doc, err := decode(string(raw))
	if err != nil {
		return nil, err
	}
	c := &compiler{doc: doc, done: map[uintptr]*node{}}
	if root, ok := doc.(map[string]any); ok {
		dialect, _ := root["$schema"].(string)
		c.alone = strings.Contains(dialect, "/draft-0")
	}
	root, err := c.schema(doc)
	return &Schema{root, c.tracked}, err
}

// Check checks the raw text of a call's arguments; empty text means {}. It
// says what is wrong with them in bounded text for the model; "" when nothing
// is.
func (s *Schema) Check(args string) string {
	if strings.TrimSpace(args) == "" {
		args = "{}"
	}
	value, err := decode(args)
	if err != nil {
		return "the arguments are no valid JSON: " + llm.OneLine(err.Error(), maxErrorLine)
	}
	if _, ok := value.(map[string]any); !ok {
		return "the arguments must be a JSON object"
	}
	c := visitor{left: maxSteps, out: &faults{}, tracked: s.tracked}
	c.visit(s.root, value, nil)
	if c.left < 0 {
		return "" // see the package's guarantees: no reason to lose the tool
	}
	return c.out.String()
}
