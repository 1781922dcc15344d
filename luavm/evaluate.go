package luavm

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"

	lua "github.com/yuin/gopher-lua"

	"clm/luavm/internal/layout"
	"clm/luavm/internal/number"
	"clm/luavm/internal/syntax"
)

// ConfigError is what is wrong with a configuration file.
type ConfigError struct {
	File string
	Line int    // 0: unknown
	Path string // of the value in question, like "providers.x[2]"; "" if it is not about one
	Msg  string
}

// Error is "file:line: path: message" without what is unknown.
func (e *ConfigError) Error() string {
	var b strings.Builder
	b.WriteString(e.File)
	if e.Line > 0 {
		fmt.Fprintf(&b, ":%d", e.Line)
	}
	b.WriteString(": ")
	if e.Path != "" {
		b.WriteString(e.Path + ": ")
	}
	b.WriteString(e.Msg)
	return b.String()
}

const (
	maxConfigDepth  = 64
	maxConfigValues = 100_000
)

// EvalConfig runs Lua 5.4 source as configuration, under a plugin's limits and with the safe libraries only, and
// gives what it returns as Go values: nil, bool, int64 (integral numbers in its range), float64, string, []any (a
// sequence 1..n, and the empty table), map[string]any. More results than one are ignored. globals are handed in as
// fresh tables. name is what messages show. The error is a *ConfigError; what is no data is refused with its path:
// functions, holes, mixed tables, other keys than strings and 1..n, NaN and infinities, cycles.
func EvalConfig(name, source string, globals map[string]any) (any, error) {
	root()
	chunk, err := syntax.Compile(name, source)
	if err != nil {
		var e *syntax.Error
		if errors.As(err, &e) {
			return nil, &ConfigError{File: name, Line: e.Line, Msg: e.Msg}
		}
		return nil, &ConfigError{File: name, Msg: err.Error()}
	}
	v := New(&Program{name: name, chunk: chunk}, Options{})
	for _, lib := range []string{"clm", "http", "json"} {
		v.g.Global.RawSetString(lib, lua.LNil)
	}
	for _, k := range sortedKeys(globals) {
		v.g.Global.RawSetString(k, goToLua(globals[k]))
	}
	c := v.Load()
	c.first = true
	y := c.main.Step(context.Background(), Answer{})
	if y.Result.Failed {
		return nil, runtimeError(name, y.Result.Text)
	}
	d := &dataReader{file: name}
	x, path, problem := d.read(c.main.value, 0)
	if problem != "" {
		return nil, &ConfigError{File: name, Path: strings.TrimPrefix(path, "."), Msg: problem}
	}
	return x, nil
}

// runtimeError takes the position that a message starts with apart.
func runtimeError(name, text string) *ConfigError {
	if rest, ok := strings.CutPrefix(text, name+":"); ok {
		if line, msg, ok := strings.Cut(rest, ":"); ok {
			if n, err := strconv.Atoi(line); err == nil {
				return &ConfigError{File: name, Line: n, Msg: strings.TrimSpace(msg)}
			}
		}
	}
	return &ConfigError{File: name, Msg: text}
}

// dataReader makes Go values of Lua values that are data.
type dataReader struct {
	file   string
	values int
	open   []*lua.LTable
}

func (d *dataReader) read(v lua.LValue, depth int) (x any, path, problem string) {
	if d.values++; d.values > maxConfigValues {
		return nil, "", fmt.Sprintf("more than %d values", maxConfigValues)
	}
	switch v := v.(type) {
	case nil, *lua.LNilType:
		return nil, "", ""
	case lua.LBool:
		return bool(v), "", ""
	case lua.LString:
		return string(v), "", ""
	case lua.LNumber:
		f := float64(v)
		if math.IsNaN(f) || math.IsInf(f, 0) {
			return nil, "", number.Format(v) + " is not a usable number"
		}
		if n, ok := number.ToInt(v); ok {
			return n, "", ""
		}
		return f, "", ""
	case number.Int:
		return int64(v), "", ""
	case *lua.LTable:
		return d.table(v, depth)
	}
	return nil, "", "a " + number.TypeName(v) + " is not data"
}

func (d *dataReader) table(t *lua.LTable, depth int) (x any, path, problem string) {
	for _, o := range d.open {
		if o == t {
			return nil, "", "the table contains itself"
		}
	}
	if depth >= maxConfigDepth {
		return nil, "", fmt.Sprintf("nested deeper than %d levels", maxConfigDepth)
	}
	d.open = append(d.open, t)
	defer func() { d.open = d.open[:len(d.open)-1] }()
	arr := layout.Array(t)
	n := t.Len()
	if n == 0 && len(layout.Strings(t)) > 0 {
		return d.record(t, depth)
	}
	list := make([]any, 0, n)
	for i, e := range arr[:n] {
		if e == lua.LNil {
			return nil, "", fmt.Sprintf("element %d is missing", i+1)
		}
		x, path, problem := d.read(e, depth+1)
		if problem != "" {
			return nil, fmt.Sprintf("[%d]%s", i+1, path), problem
		}
		list = append(list, x)
	}
	if len(layout.Strings(t)) > 0 {
		return nil, "", "the table has both elements and named fields"
	}
	for k := range layout.Dict(t) {
		return nil, "", "the key " + k.String() + " is neither a string nor one of 1, 2, 3, …"
	}
	return list, "", ""
}

func (d *dataReader) record(t *lua.LTable, depth int) (x any, path, problem string) {
	for k := range layout.Dict(t) {
		return nil, "", "the key " + k.String() + " is neither a string nor one of 1, 2, 3, …"
	}
	m := make(map[string]any, len(layout.Strings(t)))
	for _, key := range layout.Keys(t) {
		name := string(key.(lua.LString))
		v, ok := layout.Strings(t)[name]
		if !ok {
			continue
		}
		x, path, problem := d.read(v, depth+1)
		if problem != "" {
			return nil, "." + name + path, problem
		}
		m[name] = x
	}
	return m, "", ""
}
