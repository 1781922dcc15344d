package wire

import (
	"encoding/json"

	"clm/llm/internal/jsonscan"
)

// AppendSchema appends a tool's schema in the form that every provider takes:
// an object of type "object" with properties. One bad schema would fail the
// request with all its tools, so what cannot be used is left out: members of
// null, a type or properties of another kind, $schema, and the combinations that
// providers refuse at the top level, whose properties are kept.
func AppendSchema(dst []byte, schema json.RawMessage) []byte {
	dst = append(dst, `{"type":"object","properties":`...)
	if !json.Valid(schema) {
		return append(dst, "{}}"...)
	}
	dst = appendProperties(dst, schema)
	for name, value := range jsonscan.Members(schema) {
		switch string(name) {
		case "type", "properties", "$schema", "oneOf", "anyOf", "allOf", "enum", "not":
			continue
		case "required":
			if value[0] != '[' {
				continue
			}
		}
		if jsonscan.IsNull(value) {
			continue
		}
		dst = append(jsonscan.AppendString(append(dst, ','), string(name)), ':')
		dst = append(dst, value...)
	}
	return append(dst, '}')
}

// appendProperties appends the object of a schema's properties, then those that
// only its alternatives or parts have.
func appendProperties(dst []byte, schema []byte) []byte {
	properties := jsonscan.Member(schema, "properties")
	alone := true
	for name, value := range jsonscan.Members(schema) {
		alone = alone && (!isCombination(name) || value[0] != '[')
	}
	switch {
	case alone && len(properties) > 0 && properties[0] == '{':
		return append(dst, properties...)
	case alone:
		return append(dst, "{}"...)
	}
	start := len(dst)
	seen := map[string]bool{}
	add := func(properties []byte) {
		for name, value := range jsonscan.Members(properties) {
			if !seen[string(name)] && !jsonscan.IsNull(value) {
				seen[string(name)] = true
				dst = append(jsonscan.AppendString(append(dst, ','), string(name)), ':')
				dst = append(dst, value...)
			}
		}
	}
	add(properties)
	for name, value := range jsonscan.Members(schema) {
		if isCombination(name) {
			for part := range jsonscan.Elements(value) {
				add(jsonscan.Member(part, "properties"))
			}
		}
	}
	if len(dst) == start {
		dst = append(dst, '{')
	}
	dst[start] = '{' // in the place of the first comma
	return append(dst, '}')
}

func isCombination(name []byte) bool {
	return string(name) == "oneOf" || string(name) == "anyOf" || string(name) == "allOf"
}
