package wire

import (
	"encoding/json"

	"clm/llm/internal/jsonscan"
)

// AppendSchema appends a tool's schema in the form that every provider takes:
// an object of type "object" with properties. One bad schema would fail the
// request with all its tools, so what cannot be used is left out: members of
// null, a type or properties of another kind, and $schema.
func AppendSchema(dst []byte, schema json.RawMessage) []byte {
	dst = append(dst, `{"type":"object","properties":`...)
	if !json.Valid(schema) {
		return append(dst, "{}}"...)
	}
	var properties []byte
	for name, value := range jsonscan.Members(schema) {
		if string(name) == "properties" && value[0] == '{' {
			properties = value
		}
	}
	if properties == nil {
		properties = []byte("{}")
	}
	dst = append(dst, properties...)
	for name, value := range jsonscan.Members(schema) {
		switch string(name) {
		case "type", "properties", "$schema":
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
