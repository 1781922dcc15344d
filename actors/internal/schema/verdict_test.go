package schema

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

type refuse struct{}

func (refuse) Load(string) (any, error) { return nil, errors.New("refused") }

// other gives the verdict of another validator, and false when it has none.
func other(raw, args string) (valid, ok bool) {
	doc, err := jsonschema.UnmarshalJSON(strings.NewReader(raw))
	if err != nil {
		return false, false
	}
	c := jsonschema.NewCompiler()
	c.UseLoader(refuse{})
	if err := c.AddResource("clm:test", doc); err != nil {
		return false, false
	}
	compiled, err := c.Compile("clm:test")
	if err != nil {
		return false, false
	}
	value, err := jsonschema.UnmarshalJSON(strings.NewReader(args))
	if err != nil {
		return false, false
	}
	return compiled.Validate(value) == nil, true
}

// sameVerdict compares ours with the other's, where both have one: old
// keywords are read here in every dialect.
func sameVerdict(t *testing.T, raw, args string) (compared bool) {
	t.Helper()
	for _, old := range []string{"$schema", "dependencies", "additionalItems", "\\u"} {
		if strings.Contains(raw, old) {
			return false
		}
	}
	s, err := Compile(json.RawMessage(raw))
	value, bad := decode(args)
	if err != nil || bad != nil {
		return false
	}
	v := visitor{left: maxSteps / 100, out: &faults{}, tracked: s.tracked}
	if v.visit(s.root, value, nil); v.left < 0 {
		return false
	}
	valid, ok := other(raw, args)
	if ok && valid != (v.out.count() == 0) {
		t.Errorf("%s\n%s\nvalid: %v, but found: %v", raw, args, valid, v.out)
	}
	return ok
}

// made makes random schemas that say something of the values that it makes.
type made struct{ *rand.Rand }

func (m made) pick(words ...string) string { return words[m.IntN(len(words))] }

func (m made) value(depth int) string {
	n := m.IntN(9)
	if depth <= 0 {
		n = m.IntN(7)
	}
	switch n {
	case 0, 1, 2:
		return m.pick("0", "1", "1.0", "2.5", "-3", "0.07", "9007199254740993", "18446744073709551616", "1e3")
	case 3, 4:
		return m.pick(`""`, `"a"`, `"bb"`, `"é"`, `"1"`, `"[1]"`)
	case 5:
		return m.pick("true", "false")
	case 6:
		return "null"
	case 7:
		return "[" + m.some(func() string { return m.value(depth - 1) }) + "]"
	}
	return "{" + m.some(func() string { return m.name() + ":" + m.value(depth-1) }) + "}"
}

func (m made) name() string { return m.pick(`"a"`, `"b"`, `"c"`, `"ab"`) }

func (m made) some(one func() string) string {
	parts := make([]string, m.IntN(4))
	for i := range parts {
		parts[i] = one()
	}
	return strings.Join(parts, ",")
}

func (m made) schema(depth int) string {
	if m.IntN(12) == 0 || depth <= 0 {
		return m.pick("true", "false", `{"type":"string"}`, `{"type":"integer"}`, `{"type":["null","number"]}`, "{}")
	}
	words := map[string]string{}
	for range 1 + m.IntN(3) {
		word, value := m.keyword(depth)
		words[word] = value
	}
	var parts []string
	for word, value := range words {
		parts = append(parts, fmt.Sprintf("%q:%s", word, value))
	}
	return "{" + strings.Join(parts, ",") + "}"
}

func (m made) keyword(depth int) (string, string) {
	sub := func() string { return m.schema(depth - 1) }
	list := func() string { return "[" + sub() + "," + sub() + "]" }
	named := func() string { return `{"a":` + sub() + `,"b":` + sub() + "}" }
	switch m.IntN(14) {
	case 0:
		return "type", m.pick(`"object"`, `"array"`, `"integer"`, `"number"`, `["string","object"]`, `["array","null","boolean"]`)
	case 1:
		return m.pick("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"), m.pick("0", "1", "2.5", "9007199254740992")
	case 2:
		return "multipleOf", m.pick("1", "0.01", "2.5", "3")
	case 3:
		return m.pick("minLength", "maxLength", "minItems", "maxItems", "minProperties", "maxProperties", "minContains", "maxContains"), m.pick("0", "1", "2", "1.0")
	case 4:
		return "enum", "[" + m.value(1) + "," + m.value(1) + "]"
	case 5:
		return "const", m.value(2)
	case 6:
		return m.pick("properties", "properties", "dependentSchemas"), named()
	case 7:
		return m.pick("prefixItems", "allOf", "anyOf", "oneOf"), list()
	case 8:
		return m.pick("items", "contains", "additionalProperties", "propertyNames", "not", "if"), sub()
	case 9:
		return m.pick("then", "else", "if", "unevaluatedProperties", "unevaluatedItems"), sub()
	case 10:
		return "patternProperties", `{"^a":` + sub() + `,"b$":` + sub() + "}"
	case 11:
		return m.pick("required", "required", "uniqueItems"), m.pick(`["a"]`, `["a","b"]`, "true")
	case 12:
		return "dependentRequired", m.pick(`{"a":["b"]}`, `{"b":["a","c"],"c":[]}`)
	}
	return m.pick("pattern", "$ref"), m.pick(`"^[a-b]*$"`, `"#/$defs/x"`, `"#"`)
}

func TestVerdicts(t *testing.T) {
	m := made{rand.New(rand.NewPCG(1, 2))}
	compared := 0
	for range 1000 {
		rest := m.pick("", "", `"unevaluatedProperties":false,`, `"unevaluatedItems":{"type":"string"},`)
		schema := "{" + rest + `"` + m.pick("allOf", "anyOf", "oneOf") + `":[` + m.schema(4) + "," + m.schema(3) + `],"$defs":{"x":` + m.schema(2) + `}}`
		for range 5 {
			if sameVerdict(t, schema, m.value(3)) {
				compared++
			}
		}
	}
	if compared < 2000 {
		t.Errorf("only %d verdicts could be compared", compared)
	}
}

func FuzzVerdict(f *testing.F) {
	f.Add(order, `{"id":1}`)
	f.Add(`{"anyOf":[{"type":"integer","maximum":9223372036854775807},{"type":"null"}]}`, `9223372036854775808`)
	f.Add(`{"allOf":[{"properties":{"a":true}}],"unevaluatedProperties":false}`, `{"a":1,"b":2}`)
	f.Fuzz(func(t *testing.T, raw, args string) {
		if len(raw) < 2000 && len(args) < 2000 {
			sameVerdict(t, raw, args)
		}
	})
}
