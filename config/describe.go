package config

import (
	"fmt"
	"strings"
)

// JSONSchema describes config.lua's table as JSON Schema, draft 2020-12.
func JSONSchema() map[string]any {
	s := tableSchema(Schema())
	s["$schema"] = "https://json-schema.org/draft/2020-12/schema"
	s["title"] = "config.lua of clm"
	profile := tableSchema(profileKeys())
	s["$defs"] = map[string]any{"profile": profile}
	for _, p := range []map[string]any{s, profile} {
		agents := p["properties"].(map[string]any)["agents"].(map[string]any)
		agents["additionalProperties"] = map[string]any{"$ref": "#/$defs/profile"}
	}
	return s
}

func tableSchema(keys []Key) map[string]any {
	props, required := map[string]any{}, []string{}
	for _, k := range keys {
		s := keySchema(&k)
		if k.Doc != "" {
			s["description"] = k.Doc
		}
		props[k.Name] = s
		if k.Required {
			required = append(required, k.Name)
		}
	}
	s := map[string]any{"type": "object", "properties": props, "additionalProperties": false}
	if len(required) > 0 {
		s["required"] = required
	}
	return s
}

func keySchema(k *Key) map[string]any {
	s := map[string]any{}
	switch k.Type {
	case String, SecretText:
		s["type"] = "string"
		if len(k.Enum) > 0 {
			s["enum"] = k.Enum
		}
	case Bool:
		s["type"] = "boolean"
	case Int, Number:
		s["type"], s["minimum"] = "number", k.Min
		if k.Type == Int {
			s["type"] = "integer"
		}
		if k.Max > 0 {
			s["maximum"] = k.Max
		}
	case List:
		s["type"], s["items"] = "array", keySchema(k.Elem)
	case Map:
		s["type"], s["additionalProperties"] = "object", keySchema(k.Elem)
	case Table:
		return tableSchema(k.Keys)
	}
	if k.Default != nil {
		s["default"] = k.Default
	}
	return s
}

// LuaLS describes the table of config.lua for the Lua language server.
func LuaLS() string {
	var b strings.Builder
	b.WriteString("---@meta clm-config\n\n-- The table that config.lua returns: annotate it with ---@type clm.Config.\n")
	luaClass(&b, "clm.Config", Schema())
	b.WriteString("\n-- A profile, agents/NAME.lua: the same keys but agent.\n")
	luaClass(&b, "clm.Profile", profileKeys())
	return b.String()
}

// luaClass writes a class and, after it, those that its fields need.
func luaClass(b *strings.Builder, class string, keys []Key) {
	fmt.Fprintf(b, "\n---@class %s\n", class)
	type nested struct {
		name string
		keys []Key
	}
	var more []nested
	for _, k := range keys {
		sub := class + "." + k.Name
		opt := "?"
		if k.Required {
			opt = ""
		}
		fmt.Fprintf(b, "---@field %s%s %s %s\n", k.Name, opt, luaType(&k, sub), k.Doc)
		for e := &k; e != nil; e = e.Elem {
			if e.Type == Table {
				more = append(more, nested{sub, e.Keys})
			}
		}
	}
	if class == "clm.Profile" {
		return // its fields' classes are those of clm.Config
	}
	for _, n := range more {
		luaClass(b, n.name, n.keys)
	}
}

func luaType(k *Key, class string) string {
	class = strings.Replace(class, "clm.Profile.", "clm.Config.", 1)
	switch k.Type {
	case String, SecretText:
		if len(k.Enum) > 0 {
			return `"` + strings.Join(k.Enum, `"|"`) + `"`
		}
		return "string"
	case Bool:
		return "boolean"
	case Int:
		return "integer"
	case Number:
		return "number"
	case List:
		return luaType(k.Elem, class) + "[]"
	case Map:
		if k.Name == "agents" {
			return "table<string, clm.Profile>"
		}
		return "table<string, " + luaType(k.Elem, class) + ">"
	case Table:
		return class
	}
	return "any"
}
