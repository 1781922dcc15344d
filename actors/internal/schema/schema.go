package schema

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"clm/llm"
)

const (
	maxSchema    = 256 << 10 // bytes of a schema
	maxErrorText = 2 << 10   // bytes of what a model is told
	maxErrorLine = 300
	maxErrors    = 30
)

// Schema is a compiled schema. It is immutable, and shared by all agents.
type Schema struct{ compiled *jsonschema.Schema }

// Lazy compiles a schema at its first use; the returned function may be called
// from any goroutine.
func Lazy(raw json.RawMessage) func() (*Schema, error) {
	return sync.OnceValues(func() (*Schema, error) { return Compile(raw) })
}

type refuse struct{}

func (refuse) Load(string) (any, error) {
	return nil, errors.New("a $ref may only point into the schema itself")
}

// Compile compiles the schema of a tool's arguments. An error, of one line,
// means that arguments cannot be checked against it; it is no reason not to
// offer the tool.
func Compile(raw json.RawMessage) (s *Schema, err error) {
	// The compiler is a library that meets foreign schemas.
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("the schema compiler fails: %v", r)
		}
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
	const name = "clm:tool"
	c := jsonschema.NewCompiler()
	c.UseLoader(refuse{})
	if err := c.AddResource(name, doc); err != nil {
		return nil, err
	}
	compiled, err := c.Compile(name)
	return &Schema{compiled}, err
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
	if b := (budget{left: maxVisits}); !b.visit(s.compiled, value, 0) {
		return "" // see the package's guarantees: no reason to lose the tool
	}
	return explain(s.validate(value))
}

func (s *Schema) validate(value any) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = nil // as for a schema that does not compile
		}
	}()
	return s.compiled.Validate(value)
}

// explain flattens an error of the library to one line a fault.
func explain(err error) string {
	var ve *jsonschema.ValidationError
	switch {
	case err == nil:
		return ""
	case !errors.As(err, &ve):
		return llm.OneLine(err.Error(), maxErrorLine)
	}
	lines, more := leaves(ve, nil)
	var b strings.Builder
	b.WriteString("the arguments do not fit the tool's schema:")
	for i, line := range lines {
		if b.Len()+len(line) > maxErrorText-60 {
			more += len(lines) - i
			break
		}
		b.WriteString("\n- " + line)
	}
	if more > 0 {
		fmt.Fprintf(&b, "\n- and %d more", more)
	}
	return b.String()
}

// leaves lists the faults without the nesting around them, and counts those
// beyond maxErrors.
func leaves(e *jsonschema.ValidationError, lines []string) ([]string, int) {
	if len(e.Causes) == 0 {
		if len(lines) >= maxErrors {
			return lines, 1
		}
		return append(lines, llm.OneLine(e.Error(), maxErrorLine)), 0
	}
	more := 0
	for _, cause := range e.Causes {
		var n int
		lines, n = leaves(cause, lines)
		more += n
	}
	return lines, more
}
