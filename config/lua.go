package config

import (
	"errors"
	"strings"

	"clm/luavm"
)

// luaParser is koanf's parser for a file that returns a table.
type luaParser struct {
	file    string
	globals map[string]any
}

// Unmarshal implements koanf.Parser.
func (p luaParser) Unmarshal(b []byte) (map[string]any, error) {
	v, err := evalLua(p.file, string(b), p.globals)
	if err != nil {
		return nil, err
	}
	m, ok := asMap(v)
	if list, is := v.([]any); is && len(list) > 0 {
		return nil, &Error{File: p.file, Line: keysOf(string(b)).line(nil), Text: "returns a list: a setting is a name and a value, return { NAME = … }"}
	}
	if !ok {
		return nil, &Error{File: p.file, Text: "must return a table: end the file with return { … }"}
	}
	return m, nil
}

// Marshal implements koanf.Parser; configuration is not written as Lua.
func (luaParser) Marshal(map[string]any) ([]byte, error) {
	return nil, &Error{Text: "configuration cannot be written as Lua"}
}

// evalLua runs configuration code under the plugin sandbox's limits and
// returns what it returns.
func evalLua(file, source string, globals map[string]any) (any, error) {
	v, err := luavm.EvalConfig(file, source, globals)
	var e *luavm.ConfigError
	if errors.As(err, &e) {
		out := &Error{File: e.File, Line: e.Line, Key: e.Path, Text: e.Msg}
		if out.Line == 0 && e.Path != "" {
			out.Line = keysOf(source).line(strings.FieldsFunc(e.Path, func(r rune) bool { return strings.ContainsRune(`.[]"`, r) }))
		}
		return nil, out
	}
	return v, err
}
