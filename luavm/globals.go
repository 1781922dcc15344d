package luavm

import (
	"maps"
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
	types   map[int]lua.LValue     // metatables by type
	ctx     *lua.LTable            // metatables of userdata
	task    *lua.LTable
	tables  map[*lua.LTable]bool // all of the above: what a walk does not count
	helpers *[syntax.NumHelpers]*lua.LFunction
}

var shared = sync.OnceValue(func() *sharedLibs {
	root() // sets the interpreter's process-wide options first
	std := stdlib.Libraries()
	s := &sharedLibs{
		base: &lua.LTable{Metatable: lua.LNil}, proxies: map[string]*lua.LTable{}, types: map[int]lua.LValue{}, tables: map[*lua.LTable]bool{},
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
		if typ == lua.LTString {
			mt = stringMeta(mt, std.String)
		}
		s.types[int(typ)] = mt
		s.tables[mt] = true
	}
	layout.CopyFields(s.base, std.Base, 0)
	s.base.RawSetString("getmetatable", getMetatable(std.Base))
	behind := &lua.LTable{Metatable: lua.LNil}
	behind.RawSetString("__index", goFunction(clmIndex))
	s.proxies["clm"].RawGetString("__index").(*lua.LTable).Metatable = behind
	for _, t := range []*lua.LTable{behind, s.base, s.ctx, s.task, jsonlua.ArrayMark()} {
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
		v := L.Context().(*thread).vm
		if own == v.clm {
			v.openConfig()
		}
		merged := &lua.LTable{Metatable: lua.LNil}
		v.Charge(L, int64(len(layout.Keys(lib)))*keyBytes)
		layout.CopyFields(merged, lib, 1)
		if own != nil {
			v.Charge(L, int64(len(layout.Keys(own))+len(layout.Array(own)))*keyBytes)
			for key, value := own.Next(lua.LNil); key != lua.LNil; key, value = own.Next(key) {
				merged.RawSet(key, value)
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
	libs := make([]lua.LTable, len(libraryNames))
	for i, name := range libraryNames {
		libs[i].Metatable = s.proxies[name]
		g.RawSetString(name, &libs[i])
	}
	v.strings, v.clm = &libs[0], &libs[len(libs)-1]
	v.g = &lua.Global{MainThread: root(), CurrentThread: root(), Registry: &lua.LTable{Metatable: lua.LNil}, Global: g}
	*layout.TypeMetatables(v.g) = s.types
}

// stringMeta is the metatable of strings: from's fields, and methods from index.
func stringMeta(from, index *lua.LTable) *lua.LTable {
	mt := &lua.LTable{Metatable: lua.LNil}
	layout.CopyFields(mt, from, 1)
	mt.RawSetString("__index", index)
	return mt
}

// ownStrings gives the VM a metatable of strings of its own, whose methods come from its own string table. Until the
// plugin adds to that table or asks for the metatable, the VMs share one.
func (v *VM) ownStrings() {
	if v.stringsOwn {
		return
	}
	v.stringsOwn = true
	types := maps.Clone(v.shared.types)
	types[int(lua.LTString)] = stringMeta(types[int(lua.LTString)].(*lua.LTable), v.strings)
	*layout.TypeMetatables(v.g) = types
}

// getMetatable is the library's getmetatable, which hands out only metatables that belong to the VM.
func getMetatable(base *lua.LTable) *lua.LFunction {
	original := base.RawGetString("getmetatable").(*lua.LFunction)
	return stdlib.Instead(original, func(L *lua.LState) int {
		if L.Get(1).Type() == lua.LTString {
			L.Context().(*thread).vm.ownStrings()
		}
		return original.GFunction(L)
	})
}

// clmIndex reads a field of clm that is no function: config, which is made when it is first read.
func clmIndex(L *lua.LState) int {
	if L.Get(2) != lua.LString("config") {
		L.Push(lua.LNil)
		return 1
	}
	L.Push(L.Context().(*thread).vm.openConfig())
	return 1
}

// openConfig makes clm.config unless it is there.
func (v *VM) openConfig() lua.LValue {
	config := v.clm.RawGetString("config")
	if config == lua.LNil {
		config = v.toLua(v.opts.Config)
		v.clm.RawSetString("config", config)
	}
	return config
}

var libraryNames = []string{"string", "table", "math", "utf8", "json", "http", "clm"}

// mainFunction is the program's main function in this VM, with its arguments, the helpers that it asks for.
func (v *VM) mainFunction() (fn *lua.LFunction, args []lua.LValue) {
	for _, h := range v.program.chunk.Helpers {
		args = append(args, v.shared.helpers[h])
	}
	proto := v.program.chunk.Proto
	return &lua.LFunction{Env: v.g.Global, Proto: proto, Upvalues: make([]*lua.Upvalue, proto.NumUpvalues)}, args
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
