package luavm

import (
	"fmt"
	"math"
	"slices"
	"time"

	lua "github.com/yuin/gopher-lua"

	"clm/luavm/internal/jsonlua"
	"clm/luavm/internal/number"
)

func clmFunctions() []apiFunction {
	return []apiFunction{
		{"tool_register", apiToolRegister},
		{"read_file", apiReadFile},
		{"write_file", apiWriteFile},
		{"sleep", apiSleep},
		{"call", apiCall},
		{"spawn", apiSpawn},
		{"wait_any", apiWaitAny},
		{"await_all", apiAwaitAll},
		{"try_all", apiTryAll},
	}
}

// jsonLibrary is the global json.
func jsonLibrary() *lua.LTable {
	t := library("json.", []apiFunction{
		{"encode", func(a api) int {
			if a.L.GetTop() == 0 {
				a.badArgument(1, "value")
			}
			text, err := jsonlua.Encode(a.L, a.L.Get(1))
			if err != nil {
				a.raise("json.encode: %v", err)
			}
			a.L.Push(lua.LString(text))
			return 1
		}},
		{"decode", func(a api) int {
			text, ok := number.ToString(a.L.Get(1))
			if !ok {
				return a.failed("json: a string expected, got " + a.typeName(1))
			}
			v, err := jsonlua.Decode(a.L, text)
			if err != nil {
				return a.failed(err.Error())
			}
			a.L.Push(v)
			return 1
		}},
		{"array", func(a api) int {
			t, ok := a.L.Get(1).(*lua.LTable)
			if !ok {
				a.badArgument(1, "table")
			}
			if t.Metatable != lua.LNil && t.Metatable != lua.LValue(jsonlua.ArrayMark()) {
				a.raise("json.array: the table has a metatable")
			}
			t.Metatable = jsonlua.ArrayMark()
			a.L.Push(t)
			return 1
		}},
	})
	t.RawSetString("null", jsonlua.Null())
	return t
}

// Limits of what a plugin may register.
const (
	maxTools       = 128
	maxDescription = 16 << 10
	maxSchema      = 128 << 10
	maxRegistered  = 1 << 20 // all descriptions and schemas
	maxTimeout     = 24 * time.Hour
)

func apiToolRegister(a api) int {
	if !a.c.loading {
		a.raise("clm.tool_register may only be called at load time")
	}
	if _, ok := a.L.Get(1).(lua.LString); !ok {
		a.badArgument(1, "string")
	}
	name := a.str(1)
	if problem := a.v.nameProblem(name); problem != "" {
		a.raise("clm.tool_register: %s", problem)
	}
	def, ok := a.L.Get(2).(*lua.LTable)
	if !ok {
		a.badArgument(2, "table")
	}
	invoke, ok := a.L.GetField(def, "invoke").(*lua.LFunction)
	if !ok {
		a.raise("clm.tool_register: invoke of tool %s is a %s, not a function", name, number.TypeName(a.L.GetField(def, "invoke")))
	}
	switch known := a.v.known(name); {
	case a.v.opts.Tools == nil: // learning
		a.v.tools = append(a.v.tools, a.definition(name, def))
		a.checkOptions(name, def)
	case known != nil:
		a.v.registered += known.size()
	default: // as when learning, if that refused it
		a.definition(name, def)
		a.raise("clm.tool_register: tool %s was not registered when the plugin was first loaded", name)
	}
	if a.v.invokes == nil {
		a.v.invokes = map[string]*lua.LFunction{}
	}
	a.v.invokes[name] = invoke
	return 0
}

// definition reads what the learning load tells of a tool. Later loads of the same file go by what it gave.
func (a api) definition(name string, def *lua.LTable) Tool {
	tool := Tool{Name: name}
	field := func(name string) lua.LValue { return a.L.GetField(def, name) }
	wrong := func(name, want string, got lua.LValue) {
		a.raise("clm.tool_register: %s of tool %s is a %s, not %s", name, tool.Name, number.TypeName(got), want)
	}
	flag := func(name string) bool {
		b, ok := field(name).(lua.LBool)
		if !ok && field(name) != lua.LNil {
			wrong(name, "a boolean", field(name))
		}
		return bool(b)
	}
	if d := field("description"); d != lua.LNil {
		text, ok := d.(lua.LString)
		if !ok {
			wrong("description", "a string", d)
		}
		if len(text) > maxDescription {
			a.raise("clm.tool_register: the description of tool %s is longer than %d bytes", tool.Name, maxDescription)
		}
		tool.Description = string(text)
	}
	if t := field("timeout_ms"); t != lua.LNil {
		ms, ok := number.ToFloat(t)
		if !ok {
			wrong("timeout_ms", "a number", t)
		}
		if math.IsNaN(ms) || ms < 1 || ms > float64(maxTimeout.Milliseconds()) {
			a.raise("clm.tool_register: timeout_ms of tool %s is %v, not 1 to %d", tool.Name, ms, maxTimeout.Milliseconds())
		}
		tool.Timeout = time.Duration(ms * float64(time.Millisecond))
	}
	tool.NoPrompt, tool.Hidden = flag("no_prompt"), flag("hidden")
	schema, err := schemaText(a.L, field("params_schema"))
	if err == nil && len(schema) > maxSchema {
		err = fmt.Errorf("params_schema has %d bytes, more than %d", len(schema), maxSchema)
	}
	if err != nil {
		a.raise("clm.tool_register: tool %s: %v", tool.Name, err)
	}
	tool.Schema = schema
	a.v.registered += tool.size()
	if a.v.registered > maxRegistered {
		a.raise("clm.tool_register: the descriptions and schemas of the plugin are longer than %d bytes", maxRegistered)
	}
	return tool
}

// validToolName reports whether every model server takes the name.
func validToolName(name string) bool {
	for i := range len(name) {
		c := name[i]
		if c|0x20 < 'a' || c|0x20 > 'z' {
			if (c < '0' || c > '9') && c != '_' && c != '-' {
				return false
			}
		}
	}
	return name != "" && len(name) <= 64
}

// nameProblem says why this plugin may not register a tool of that name.
func (v *VM) nameProblem(name string) string {
	switch {
	case !validToolName(name):
		return fmt.Sprintf("tool name %s: a name has 1 to 64 of the characters A-Z a-z 0-9 _ -", quote(name))
	case v.invokes[name] != nil:
		return fmt.Sprintf("tool %s is already registered by this plugin", name)
	case len(v.invokes) >= maxTools:
		return fmt.Sprintf("the plugin has registered %d tools, the limit", maxTools)
	}
	reason := v.opts.Refused[name]
	if v.opts.Tools == nil && v.opts.Reserved != nil {
		if reason = v.opts.Reserved(name); reason != "" {
			if v.refused == nil {
				v.refused = map[string]string{}
			}
			v.refused[name] = reason
		}
	}
	if reason != "" {
		return fmt.Sprintf("tool name %s is taken: %s", name, reason)
	}
	return ""
}

// known is the tool of that name which the learning load registered, if it is over.
func (v *VM) known(name string) *Tool {
	i := slices.IndexFunc(v.opts.Tools, func(t Tool) bool { return t.Name == name })
	if i < 0 {
		return nil
	}
	return &v.opts.Tools[i]
}

func (t *Tool) size() int { return len(t.Description) + len(t.Schema) }
