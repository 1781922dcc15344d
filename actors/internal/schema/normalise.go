package schema

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// shape says what the value of a keyword is made of.
type shape int

const (
	plain    shape = iota // anything but null
	anything              // null too
	one                   // a schema
	list                  // a list of schemas
	named                 // schemas by name
	oneList               // a schema or a list of schemas
	words                 // a list of words
)

// keywords are those that models and their servers know. Others are dropped:
// a server that meets an unknown one refuses the request with all its tools.
var keywords = map[string]shape{
	"type": plain, "enum": anything, "const": anything, "default": anything, "examples": anything,
	"title": plain, "description": plain, "format": plain, "deprecated": plain, "readOnly": plain, "writeOnly": plain,
	"multipleOf": plain, "maximum": plain, "exclusiveMaximum": plain, "minimum": plain, "exclusiveMinimum": plain,
	"maxLength": plain, "minLength": plain, "pattern": plain, "maxItems": plain, "minItems": plain, "uniqueItems": plain,
	"maxContains": plain, "minContains": plain, "maxProperties": plain, "minProperties": plain,
	"required": words, "dependentRequired": plain, "$ref": plain,
	"properties": named, "patternProperties": named, "dependentSchemas": named, "$defs": named, "definitions": named,
	"additionalProperties": one, "propertyNames": one, "unevaluatedProperties": one, "unevaluatedItems": one,
	"items": oneList, "prefixItems": list, "contains": one,
	"allOf": list, "anyOf": list, "oneOf": list, "not": one, "if": one, "then": one, "else": one,
}

var types = []string{"string", "number", "integer", "boolean", "object", "array", "null"}

// Normalise makes a tool's schema fit for every model server: an object of
// type object with properties, without null where the language has none,
// without keywords of other dialects, without a $ref that leaves it, and
// without choices at the top, whose properties are merged. Empty and null
// schemas become that of a tool without arguments. It is an error when the
// schema is no JSON, too large or too deep, or describes something that is no
// object: such a tool cannot be offered.
func Normalise(raw json.RawMessage) (json.RawMessage, error) {
	if len(raw) == 0 {
		raw = json.RawMessage("{}")
	}
	if len(raw) > maxSchema {
		return nil, fmt.Errorf("the schema is larger than %d bytes", maxSchema)
	}
	value, err := decode(string(raw))
	if err != nil {
		return nil, fmt.Errorf("the schema is no valid JSON: %w", err)
	}
	root, err := rootOf(value)
	if err != nil {
		return nil, err
	}
	out := schema(root)
	out["type"] = "object"
	if _, ok := out["properties"]; !ok {
		out["properties"] = map[string]any{}
	}
	flatten(out)
	return json.Marshal(out)
}

// rootOf gives the object that a whole schema is.
func rootOf(value any) (map[string]any, error) {
	switch v := value.(type) {
	case map[string]any:
		if !isObject(v["type"]) {
			return nil, fmt.Errorf("the schema is of type %v, not object: arguments are an object", v["type"])
		}
		return v, nil
	case bool:
		if v { // anything goes
			return map[string]any{}, nil
		}
	case []any:
		if len(v) == 0 { // how Lua writes an empty object
			return map[string]any{}, nil
		}
	case nil:
		return map[string]any{}, nil
	}
	return nil, errors.New("the schema is not a JSON object")
}

// isObject tells whether a type allows an object.
func isObject(t any) bool {
	switch t := t.(type) {
	case string:
		return t == "object" || t == ""
	case []any:
		return len(t) == 0 || slices.Contains(t, any("object"))
	}
	return t == nil
}

// schema normalises a schema at any place.
func schema(in map[string]any) map[string]any {
	out := map[string]any{}
	for key, value := range in {
		shape, known := keywords[key]
		if !known || value == nil && shape != anything {
			continue
		}
		if v, ok := convert(shape, value); ok {
			out[key] = v
		}
	}
	if tuple, ok := out["items"].([]any); ok { // as it was before draft 2020-12
		out["prefixItems"] = tuple
		delete(out, "items")
	}
	if ref, ok := out["$ref"].(string); !ok || ref != "#" && !strings.HasPrefix(ref, "#/") {
		delete(out, "$ref")
	}
	if t, ok := typeOf(out["type"]); ok {
		out["type"] = t
	} else {
		delete(out, "type")
	}
	return out
}

// convert gives the normal form of a keyword's value, and false for one that
// means nothing.
func convert(s shape, value any) (any, bool) {
	switch s {
	case one:
		return sub(value)
	case list:
		return subs(value)
	case oneList:
		if v, ok := value.([]any); ok && len(v) > 0 {
			return subs(v)
		}
		return sub(value)
	case named:
		byName := map[string]any{}
		in, _ := value.(map[string]any)
		for name, v := range in {
			if s, ok := sub(v); ok {
				byName[name] = s
			} else {
				byName[name] = map[string]any{}
			}
		}
		return byName, true
	case words:
		return wordsOf(value)
	}
	return value, true
}

// sub normalises a value where a schema belongs.
func sub(value any) (any, bool) {
	switch v := value.(type) {
	case map[string]any:
		return schema(v), true
	case bool:
		return v, true
	case []any:
		return map[string]any{}, len(v) == 0
	}
	return nil, false
}

func subs(value any) (any, bool) {
	in, _ := value.([]any)
	out := []any{}
	for _, v := range in {
		if s, ok := sub(v); ok {
			out = append(out, s)
		}
	}
	return out, len(out) > 0
}

func wordsOf(value any) (any, bool) {
	in, _ := value.([]any)
	out := []string{}
	for _, v := range in {
		if w, ok := v.(string); ok && !slices.Contains(out, w) {
			out = append(out, w)
		}
	}
	return out, len(out) > 0
}

// typeOf keeps the types that exist: a word, or a list of several.
func typeOf(value any) (any, bool) {
	if w, ok := value.(string); ok {
		return w, slices.Contains(types, w)
	}
	found, ok := wordsOf(value)
	if !ok {
		return nil, false
	}
	names := slices.DeleteFunc(found.([]string), func(w string) bool { return !slices.Contains(types, w) })
	switch len(names) {
	case 0:
		return nil, false
	case 1:
		return names[0], true
	}
	return names, true
}

// flatten merges the choices at the top of a schema into its properties:
// servers refuse them there. Which properties must be given together is lost
// to the model, not to the tool.
func flatten(root map[string]any) {
	props := root["properties"].(map[string]any)
	for _, key := range []string{"allOf", "anyOf", "oneOf"} {
		branches, _ := root[key].([]any)
		delete(root, key)
		for _, b := range branches {
			branch, _ := b.(map[string]any)
			more, _ := branch["properties"].(map[string]any)
			for name, s := range more {
				if _, taken := props[name]; !taken {
					props[name] = s
				}
			}
			if req, ok := branch["required"].([]string); ok && key == "allOf" {
				have, _ := root["required"].([]string)
				root["required"] = slices.Compact(slices.Sorted(slices.Values(append(slices.Clone(have), req...))))
			}
		}
	}
	maps.DeleteFunc(root, func(key string, _ any) bool {
		return slices.Contains([]string{"not", "if", "then", "else", "enum", "const"}, key)
	})
}
