package config

import (
	"context"
	"errors"
	"fmt"
	"math"
	"regexp"
	"strconv"
	"time"

	lua "github.com/yuin/gopher-lua"
)

// luaParser is koanf's parser for a file that returns a table. Its position
// information is kept beside it, as koanf has no place for it.
type luaParser struct {
	file    string
	globals map[string]any
}

// Unmarshal implements koanf.Parser.
func (p luaParser) Unmarshal(b []byte) (map[string]any, error) {
	v, err := evalLua(p.file, string(b), p.globals)
	if err != nil {
		var e *Error
		if errors.As(err, &e) && e.File == "" {
			e.File = p.file
		}
		return nil, err
	}
	m, ok := asMap(v)
	if !ok {
		return nil, &Error{File: p.file, Text: "must return a table: end the file with return { … }"}
	}
	return m, nil
}

// Marshal implements koanf.Parser; configuration is not written as Lua.
func (luaParser) Marshal(map[string]any) ([]byte, error) {
	return nil, &Error{Text: "configuration cannot be written as Lua"}
}

// luaPlace matches the place that begins a Lua error.
var luaPlace = regexp.MustCompile(`^(?:.*?):(\d+):\s*(.*)`)

// evalLua runs configuration code and returns what it returns.
func evalLua(file, source string, globals map[string]any) (any, error) {
	L := lua.NewState(lua.Options{SkipOpenLibs: true, RegistrySize: 1024, RegistryMaxSize: 1 << 16, CallStackSize: 128})
	defer L.Close()
	for name, open := range map[string]lua.LGFunction{"": lua.OpenBase, "string": lua.OpenString, "table": lua.OpenTable, "math": lua.OpenMath} {
		L.Push(L.NewFunction(open))
		L.Push(lua.LString(name))
		L.Call(1, 0)
	}
	for _, name := range []string{"dofile", "loadfile", "load", "loadstring", "require", "module", "collectgarbage", "print"} {
		L.SetGlobal(name, lua.LNil)
	}
	for name, v := range globals {
		L.SetGlobal(name, toLua(L, v))
	}
	ctx, cancel := context.WithTimeout(context.Background(), 500*time.Millisecond)
	defer cancel()
	L.SetContext(ctx)
	fn, err := L.LoadString(source)
	if err != nil {
		return nil, luaError(file, err)
	}
	L.Push(fn)
	if err := L.PCall(0, 1, nil); err != nil {
		return nil, luaError(file, err)
	}
	return fromLua(L.Get(-1), 0)
}

func luaError(file string, err error) error {
	text, line := err.Error(), 0
	if e, ok := err.(*lua.ApiError); ok {
		text = e.Object.String()
	}
	if m := luaPlace.FindStringSubmatch(text); m != nil {
		line, _ = strconv.Atoi(m[1])
		text = m[2]
	}
	return &Error{File: file, Line: line, Text: text, Err: err}
}

func toLua(L *lua.LState, v any) lua.LValue {
	switch v := v.(type) {
	case string:
		return lua.LString(v)
	case bool:
		return lua.LBool(v)
	case int64:
		return lua.LNumber(v)
	case float64:
		return lua.LNumber(v)
	case []any:
		t := L.NewTable()
		for _, e := range v {
			t.Append(toLua(L, e))
		}
		return t
	case map[string]any:
		t := L.NewTable()
		for k, e := range v {
			t.RawSetString(k, toLua(L, e))
		}
		return t
	}
	return lua.LNil
}

func fromLua(v lua.LValue, depth int) (any, error) {
	if depth > 64 {
		return nil, &Error{Text: "tables are nested deeper than 64 or hold themselves"}
	}
	switch v := v.(type) {
	case *lua.LNilType:
		return nil, nil
	case lua.LString:
		return string(v), nil
	case lua.LBool:
		return bool(v), nil
	case lua.LNumber:
		f := float64(v)
		if f == math.Trunc(f) && math.Abs(f) < 1<<53 {
			return int64(f), nil
		}
		return f, nil
	case *lua.LTable:
		return fromTable(v, depth)
	}
	return nil, &Error{Text: "holds a " + v.Type().String()}
}

func fromTable(t *lua.LTable, depth int) (any, error) {
	list, m, err := []any{}, map[string]any{}, error(nil)
	t.ForEach(func(k, v lua.LValue) {
		if err != nil {
			return
		}
		var value any
		if value, err = fromLua(v, depth+1); err != nil {
			return
		}
		switch k := k.(type) {
		case lua.LString:
			m[string(k)] = value
		case lua.LNumber:
			if int(k) != len(list)+1 {
				err = &Error{Text: fmt.Sprintf("a list has a hole before [%v]", k)}
			}
			list = append(list, value)
		default:
			err = &Error{Text: "a key is a " + k.Type().String()}
		}
	})
	if err == nil && len(m) > 0 && len(list) > 0 {
		err = &Error{Text: "a table mixes list entries and keys"}
	}
	if err != nil || len(m) > 0 {
		return m, err
	}
	return list, nil
}
