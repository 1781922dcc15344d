package schema

import (
	"encoding/json"
	"errors"
)

// Normalise makes a schema that every model server takes: an object schema
// with properties, without null members and without a dialect of its own.
func Normalise(raw json.RawMessage) (json.RawMessage, error) {
	if len(raw) == 0 || string(raw) == "null" {
		return json.RawMessage(`{"type":"object","properties":{}}`), nil
	}
	var m map[string]any
	if err := json.Unmarshal(raw, &m); err != nil || m == nil {
		return nil, errors.New("the schema is not a JSON object")
	}
	delete(m, "$schema")
	delete(m, "$id")
	switch m["type"].(type) {
	case string:
		if m["type"] != "object" {
			return nil, errors.New("the schema's type is not object: arguments are an object")
		}
	default: // none, or a list such as ["object", "null"]
		m["type"] = "object"
	}
	if p, ok := m["properties"].(map[string]any); !ok || p == nil {
		m["properties"] = map[string]any{}
	}
	if _, ok := m["required"].([]any); !ok {
		delete(m, "required")
	}
	return json.Marshal(m)
}
