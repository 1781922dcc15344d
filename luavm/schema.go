package luavm

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	lua "github.com/yuin/gopher-lua"

	"clm/luavm/internal/jsonlua"
	"clm/luavm/internal/layout"
	"clm/luavm/internal/number"
)

// maxSchemaDepth is how deep schemas may nest in one another.
const maxSchemaDepth = 32

// emptySchema is what a tool without params_schema takes: any object.
const emptySchema = `{"type":"object","properties":{}}`

// schemaText makes a JSON Schema of a params_schema table. Lua cannot tell {} the object from {} the array; a schema's
// keywords can. The error names the place of what no schema may hold.
func schemaText(L *lua.LState, v lua.LValue) (json.RawMessage, error) {
	if v == lua.LNil {
		return json.RawMessage(emptySchema), nil
	}
	t, ok := v.(*lua.LTable)
	if !ok {
		return nil, fmt.Errorf("params_schema is a %s, not a table", number.TypeName(v))
	}
	s := &schemaWriter{L: L}
	switch typ := t.RawGetString("type").(type) {
	case lua.LString:
		if typ != "object" {
			return nil, fmt.Errorf("params_schema.type is %s, not \"object\"", quote(string(typ)))
		}
	case *lua.LNilType:
	default:
		return nil, fmt.Errorf("params_schema.type is a %s, not \"object\"", number.TypeName(typ))
	}
	if err := s.schema("params_schema", t, 0); err != nil {
		return nil, err
	}
	return json.RawMessage(s.b.String()), nil
}

type schemaWriter struct {
	L *lua.LState
	b strings.Builder
}

// kind is what a keyword's value must be.
type kind uint8

const (
	anyValue kind = iota
	oneSchema
	schemaMap
	schemaList
	schemaOrList
	stringList
	stringListMap
	valueList
	typeNames
	text
	reference
	numeric
	positive
	count
	boolean
)

var keywords = map[string]kind{
	"properties": schemaMap, "patternProperties": schemaMap, "$defs": schemaMap, "definitions": schemaMap,
	"dependentSchemas": schemaMap, "additionalProperties": oneSchema, "unevaluatedProperties": oneSchema,
	"unevaluatedItems": oneSchema, "additionalItems": oneSchema, "contains": oneSchema, "propertyNames": oneSchema,
	"not": oneSchema, "if": oneSchema, "then": oneSchema, "else": oneSchema, "items": schemaOrList,
	"allOf": schemaList, "anyOf": schemaList, "oneOf": schemaList, "prefixItems": schemaList,
	"required": stringList, "dependentRequired": stringListMap, "enum": valueList, "examples": valueList,
	"type": typeNames, "title": text, "description": text, "format": text, "pattern": text, "$ref": reference,
	"$dynamicRef": reference, "$comment": text, "$anchor": text, "minimum": numeric, "maximum": numeric, "exclusiveMinimum": numeric,
	"exclusiveMaximum": numeric, "multipleOf": positive, "minLength": count, "maxLength": count, "minItems": count,
	"maxItems": count, "minProperties": count, "maxProperties": count, "minContains": count, "maxContains": count,
	"uniqueItems": boolean, "deprecated": boolean, "readOnly": boolean, "writeOnly": boolean,
}

var schemaTypes = []string{"object", "array", "string", "number", "integer", "boolean", "null"}

func (s *schemaWriter) schema(path string, v lua.LValue, depth int) error {
	t, ok := v.(*lua.LTable)
	if !ok {
		if b, isBool := v.(lua.LBool); isBool && depth > 0 {
			s.b.WriteString(b.String())
			return nil
		}
		return fmt.Errorf("%s is a %s, not a schema", path, number.TypeName(v))
	}
	if depth > maxSchemaDepth {
		return fmt.Errorf("%s is nested deeper than %d levels", path, maxSchemaDepth)
	}
	if len(elements(t)) > 0 {
		return fmt.Errorf("%s is an array, not a schema", path)
	}
	if s.b.Len() > maxSchema {
		return fmt.Errorf("params_schema is longer than %d bytes", maxSchema)
	}
	s.b.WriteByte('{')
	first := true
	if depth == 0 {
		s.b.WriteString(`"type":"object"`)
		first = false
		if t.RawGetString("properties") == lua.LNil {
			s.b.WriteString(`,"properties":{}`)
		}
	}
	err := s.fields(path, t, func(name string, v lua.LValue) error {
		if depth == 0 && name == "type" || name == "$schema" || name == "$id" || isEmptyChoice(name, v) {
			return nil
		}
		s.comma(&first)
		s.key(name)
		return s.keyword(path+"."+name, keywords[name], v, depth)
	})
	s.b.WriteByte('}')
	return err
}

// isEmptyChoice tells the keywords that must not be empty lists: none of nothing would hold.
func isEmptyChoice(name string, v lua.LValue) bool {
	t, ok := v.(*lua.LTable)
	if !ok || len(elements(t)) > 0 || len(layout.Strings(t)) > 0 {
		return false
	}
	return keywords[name] == schemaList || name == "enum"
}

// elements is the array part of t up to its last value.
func elements(t *lua.LTable) []lua.LValue {
	arr := layout.Array(t)
	for len(arr) > 0 && arr[len(arr)-1] == lua.LNil {
		arr = arr[:len(arr)-1]
	}
	return arr
}

func (s *schemaWriter) comma(first *bool) {
	if !*first {
		s.b.WriteByte(',')
	}
	*first = false
}

func (s *schemaWriter) key(name string) {
	text, _ := jsonlua.Encode(s.L, lua.LString(strings.ToValidUTF8(name, "\uFFFD")))
	s.b.WriteString(text)
	s.b.WriteByte(':')
}

// fields visits the string keys of t in the order in which they were written.
func (s *schemaWriter) fields(path string, t *lua.LTable, f func(name string, v lua.LValue) error) error {
	for _, key := range layout.Keys(t) {
		v := t.RawGetH(key)
		if v == lua.LNil {
			continue
		}
		name, ok := key.(lua.LString)
		if !ok {
			return fmt.Errorf("%s has a key that is a %s", path, number.TypeName(key))
		}
		if err := f(string(name), v); err != nil {
			return err
		}
	}
	return nil
}

func (s *schemaWriter) keyword(path string, k kind, v lua.LValue, depth int) error {
	switch k {
	case oneSchema:
		return s.schema(path, v, depth+1)
	case schemaOrList:
		if t, ok := v.(*lua.LTable); ok && len(elements(t)) > 0 {
			return s.list(path, v, func(p string, e lua.LValue) error { return s.schema(p, e, depth+1) })
		}
		return s.schema(path, v, depth+1)
	case schemaList:
		return s.list(path, v, func(p string, e lua.LValue) error { return s.schema(p, e, depth+1) })
	case schemaMap:
		return s.object(path, v, func(p string, e lua.LValue) error { return s.schema(p, e, depth+1) })
	case stringListMap:
		return s.object(path, v, func(p string, e lua.LValue) error { return s.names(p, e) })
	case stringList:
		return s.names(path, v)
	case valueList:
		return s.list(path, v, s.value)
	case typeNames:
		if t, ok := v.(*lua.LTable); ok && len(elements(t)) > 0 {
			return s.list(path, v, s.typeName)
		}
		return s.typeName(path, v)
	case text:
		return s.text(path, v)
	case reference:
		if ref, ok := v.(lua.LString); !ok || !strings.HasPrefix(string(ref), "#") {
			return fmt.Errorf("%s does not begin with #: a reference stays within the schema", path)
		}
		return s.text(path, v)
	}
	return s.scalar(path, k, v)
}

func (s *schemaWriter) scalar(path string, k kind, v lua.LValue) error {
	switch k {
	case numeric:
		if _, ok := number.ToFloat(v); !ok {
			return fmt.Errorf("%s is a %s, not a number", path, number.TypeName(v))
		}
	case positive:
		if n, ok := number.ToFloat(v); !ok || !(n > 0) {
			return fmt.Errorf("%s is not a number above 0", path)
		}
	case count:
		if n, ok := number.ToInt(v); !ok || n < 0 {
			return fmt.Errorf("%s is not a count", path)
		}
	case boolean:
		if _, ok := v.(lua.LBool); !ok {
			return fmt.Errorf("%s is a %s, not a boolean", path, number.TypeName(v))
		}
	}
	return s.value(path, v)
}

func (s *schemaWriter) typeName(path string, v lua.LValue) error {
	name, ok := v.(lua.LString)
	if !ok || !slices.Contains(schemaTypes, string(name)) {
		return fmt.Errorf("%s is not one of %s", path, strings.Join(schemaTypes, ", "))
	}
	return s.text(path, v)
}

func (s *schemaWriter) text(path string, v lua.LValue) error {
	str, ok := v.(lua.LString)
	if !ok {
		return fmt.Errorf("%s is a %s, not a string", path, number.TypeName(v))
	}
	return s.value(path, lua.LString(strings.ToValidUTF8(string(str), "\uFFFD")))
}

// value writes what a schema does not interpret.
func (s *schemaWriter) value(path string, v lua.LValue) error {
	out, err := jsonlua.Encode(s.L, v)
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	s.b.WriteString(strings.ToValidUTF8(out, "\uFFFD"))
	return nil
}

// names writes a list of strings, each once.
func (s *schemaWriter) names(path string, v lua.LValue) error {
	t, ok := v.(*lua.LTable)
	if !ok || len(layout.Strings(t))+len(layout.Dict(t)) > 0 {
		return s.list(path, v, s.text)
	}
	var once []lua.LValue
	for _, e := range elements(t) {
		if !slices.Contains(once, e) {
			once = append(once, e)
		}
		if len(once) > 1000 {
			return fmt.Errorf("%s has more than 1000 names", path)
		}
	}
	return s.list(path, layout.NewArray(once), s.text)
}

func (s *schemaWriter) list(path string, v lua.LValue, write func(string, lua.LValue) error) error {
	t, ok := v.(*lua.LTable)
	if !ok || len(layout.Strings(t))+len(layout.Dict(t)) > 0 {
		return fmt.Errorf("%s is not an array", path)
	}
	s.b.WriteByte('[')
	for i, e := range elements(t) {
		if i > 0 {
			s.b.WriteByte(',')
		}
		if err := write(fmt.Sprintf("%s[%d]", path, i+1), e); err != nil {
			return err
		}
	}
	s.b.WriteByte(']')
	return nil
}

func (s *schemaWriter) object(path string, v lua.LValue, write func(string, lua.LValue) error) error {
	t, ok := v.(*lua.LTable)
	if !ok || len(elements(t)) > 0 {
		return fmt.Errorf("%s is not an object", path)
	}
	s.b.WriteByte('{')
	first := true
	err := s.fields(path, t, func(name string, v lua.LValue) error {
		s.comma(&first)
		s.key(name)
		return write(path+"."+name, v)
	})
	s.b.WriteByte('}')
	return err
}
