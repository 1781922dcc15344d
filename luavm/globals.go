package luavm

import (
	"slices"
	"sync"

	lua "github.com/yuin/gopher-lua"

	"clm/luavm/internal/jsonlua"
	"clm/luavm/internal/layout"
	"clm/luavm/internal/stdlib"
	"clm/luavm/internal/syntax"
)

// sharedLibs is everything that all VMs have in common. It is built once and never changed afterwards; no script can
// reach one of its tables.
type sharedLibs struct {
	base    *lua.LTable            // of _G: copied into each VM
	proxies map[string]*lua.LTable // by library, the metatable of each VM's own empty table in front of it
	types   map[int]lua.LValue     // metatables by type, without the one of strings
	strings *lua.LTable            // the metatable of strings without __index
	ctx     *lua.LTable            // metatables of userdata
	task    *lua.LTable
	tables  map[*lua.LTable]bool // all of the above: what a walk does not count
	helpers *[syntax.NumHelpers]*lua.LFunction
}

var shared = sync.OnceValue(func() *sharedLibs {
	root() // sets the interpreter's process-wide options first
	std := stdlib.Libraries()
	s := &sharedLibs{
		base: std.Base, proxies: map[string]*lua.LTable{}, types: map[int]lua.LValue{}, tables: map[*lua.LTable]bool{},
		ctx: methods("ctx", ctxMethods()), task: methods("task", taskMethods()), helpers: stdlib.Helpers(),
	}
	for name, lib := range map[string]*lua.LTable{
		"string": std.String, "table": std.Table, "math": std.Math, "utf8": std.UTF8,
		"json": jsonLibrary(), "http": library("http.", httpFunctions()), "clm": library("clm.", clmFunctions()),
	} {
		s.proxies[name] = proxy(lib)
		s.tables[lib], s.tables[s.proxies[name]] = true, true
	}
	for typ, mt := range std.Types {
		s.tables[mt] = true
		if typ == lua.LTString {
			s.strings = mt
		} else {
			s.types[int(typ)] = mt
		}
	}
	for _, t := range []*lua.LTable{s.base, s.ctx, s.task, jsonlua.ArrayMark()} {
		s.tables[t] = true
	}
	return s
})

// proxy is the metatable of an empty table that stands in front of lib: reads fall through, writes stay in the VM.
func proxy(lib *lua.LTable) *lua.LTable {
	mt := &lua.LTable{Metatable: lua.LNil}
	mt.RawSetString("__index", lib)
	mt.RawSetString("__metatable", lua.LFalse)
	mt.RawSetString("__pairs", goFunction(func(L *lua.LState) int {
		own, _ := L.Get(1).(*lua.LTable)
		merged := &lua.LTable{Metatable: lua.LNil}
		stdlib.MeterOf(L).Charge(L, int64(len(layout.Keys(lib)))*keyBytes)
		for _, t := range []*lua.LTable{lib, own} {
			if t != nil {
				t.ForEach(merged.RawSet)
			}
		}
		L.Push(stdlib.Libraries().Base.RawGetString("next"))
		L.Push(merged)
		L.Push(lua.LNil)
		return 3
	}))
	return mt
}

// goFunction makes a function that all VMs share. Its Env stays nil, which is how a walk knows it.
func goFunction(f lua.LGFunction) *lua.LFunction { return &lua.LFunction{IsG: true, GFunction: f} }

// apiFunction is a function of the plugin API; name is how errors call it.
type apiFunction struct {
	name string
	call func(api) int
}

// api is one call of an API function.
type api struct {
	L    *lua.LState
	v    *VM
	t    *Task
	c    *Call
	name string
}

func (f apiFunction) bind(prefix string) *lua.LFunction {
	full := prefix + f.name
	return goFunction(func(L *lua.LState) int {
		v := L.Context().(*thread).vm
		return f.call(api{L: L, v: v, t: v.task, c: v.task.call, name: full})
	})
}

func library(prefix string, functions []apiFunction) *lua.LTable {
	t := &lua.LTable{Metatable: lua.LNil}
	for _, f := range functions {
		t.RawSetString(f.name, f.bind(prefix))
	}
	return t
}

// methods is the locked metatable of a userdata type.
func methods(typeName string, functions []apiFunction) *lua.LTable {
	mt := &lua.LTable{Metatable: lua.LNil}
	mt.RawSetString("__index", library(typeName+":", functions))
	mt.RawSetString("__metatable", lua.LString(typeName))
	mt.RawSetString("__name", lua.LString(typeName))
	mt.RawSetString("__newindex", apiFunction{"field", func(a api) int {
		a.raise("a %s has no fields that can be set", typeName)
		return 0
	}}.bind(""))
	return mt
}

// openGlobals builds the VM's own environment over the shared libraries.
func (v *VM) openGlobals() {
	s := v.shared
	g := &lua.LTable{Metatable: lua.LNil}
	layout.CopyFields(g, s.base, len(s.proxies)+1)
	g.RawSetString("_G", g)
	libs := map[string]*lua.LTable{}
	for _, name := range libraryNames {
		libs[name] = &lua.LTable{Metatable: s.proxies[name]}
		g.RawSetString(name, libs[name])
	}
	v.clm = libs["clm"]
	layout.PrepareStrings(v.clm)
	v.clm.RawSetString("config", v.toLua(v.opts.Config))

	strings := &lua.LTable{Metatable: lua.LNil}
	if s.strings != nil {
		layout.CopyFields(strings, s.strings, 1)
	}
	layout.PrepareStrings(strings)
	strings.RawSetString("__index", libs["string"])
	v.g = &lua.Global{MainThread: root(), CurrentThread: root(), Registry: &lua.LTable{Metatable: lua.LNil}, Global: g}
	types := make(map[int]lua.LValue, len(s.types)+1)
	for typ, mt := range s.types {
		types[typ] = mt
	}
	types[int(lua.LTString)] = strings
	*layout.TypeMetatables(v.g) = types
}

var libraryNames = []string{"string", "table", "math", "utf8", "json", "http", "clm"}

// mainFunction is the program's main function in this VM; its arguments are the helpers that it asks for.
func (v *VM) mainFunction(args *[]lua.LValue) lua.LValue {
	for _, h := range v.program.chunk.Helpers {
		*args = append(*args, v.shared.helpers[h])
	}
	proto := v.program.chunk.Proto
	return &lua.LFunction{Env: v.g.Global, Proto: proto, Upvalues: make([]*lua.Upvalue, proto.NumUpvalues)}
}

// toLua makes a table of configuration values; nil makes an empty one.
func (v *VM) toLua(m map[string]any) *lua.LTable {
	t, _ := goToLua(m).(*lua.LTable)
	if t == nil {
		t = &lua.LTable{Metatable: lua.LNil}
	}
	return t
}

// sortedKeys gives configuration a fixed order.
func sortedKeys(m map[string]any) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}
