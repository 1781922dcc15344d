package syntax_test

import (
	"context"
	"fmt"
	"runtime/debug"
	"strings"
	"testing"

	lua "github.com/yuin/gopher-lua"

	"clm/luavm/internal/boxed"
	"clm/luavm/internal/stdlib"
	"clm/luavm/internal/syntax"
	"clm/luavm/internal/syntax/internal/reference"
)

func TestMain(m *testing.M) {
	lua.CompatVarArg = false
	debug.SetMaxStack(64 << 20) // deep recursion ends the test
	m.Run()
}

// A machine runs compiled chunks with the library and without limits: the least
// that shows what the front end made of a program.
type machine struct {
	root  *lua.LState
	out   strings.Builder
	left  int
	depth int
	rand  *stdlib.Rand
}

type thread struct {
	context.Context
	m    *machine
	L    *lua.LState
	hook *boxed.Hook
}

func (t thread) Meter() stdlib.Meter { return t.m }

// Done ends a program that does not end by itself.
func (t thread) Done() <-chan struct{} {
	if t.m.left--; t.m.left < 0 {
		panic("program does not end")
	}
	t.hook.Before(t.L)
	return nil
}

func newMachine() *machine {
	m := &machine{left: 20_000_000, rand: stdlib.NewRand(1, 2)}
	m.root = lua.NewState(lua.Options{SkipOpenLibs: true, CallStackSize: 200, RegistrySize: 1024, RegistryMaxSize: 65536})
	libs := stdlib.Libraries()
	libs.Base.ForEach(func(k, v lua.LValue) { m.root.G.Global.RawSet(k, v) })
	for name, t := range map[string]*lua.LTable{"string": libs.String, "table": libs.Table, "math": libs.Math, "utf8": libs.UTF8} {
		m.root.SetGlobal(name, t)
	}
	for _, v := range []lua.LValue{lua.LNil, lua.LTrue, lua.LNumber(0), &lua.LFunction{}, lua.LChannel(nil)} {
		if mt := libs.Types[v.Type()]; mt != nil {
			m.root.SetMetatable(v, mt)
		}
	}
	str := m.root.NewTable()
	libs.Types[lua.LTString].ForEach(func(k, v lua.LValue) { str.RawSet(k, v) })
	str.RawSetString("__index", libs.String)
	m.root.SetMetatable(lua.LString(""), str)
	return m
}

func (m *machine) thread() *lua.LState {
	L, _ := m.root.NewThread()
	L.SetContext(thread{context.Background(), m, L, &boxed.Hook{}})
	return L
}

// run returns what the chunk printed, and its error at the end.
func (m *machine) run(c *syntax.Chunk) string {
	L := m.thread()
	L.Push(L.NewFunctionFromProto(c.Proto))
	for _, h := range c.Helpers {
		L.Push(stdlib.Helpers()[h])
	}
	if err := L.PCall(len(c.Helpers), 0, nil); err != nil {
		m.Print(L, "error: "+errorText(L, err).String())
	}
	return m.out.String()
}

func errorText(L *lua.LState, err error) lua.LValue {
	if e, ok := err.(*lua.ApiError); ok && e.Object != nil {
		return e.Object
	}
	return lua.LString(err.Error())
}

func (m *machine) Charge(*lua.LState, int64)                  {}
func (m *machine) Store(*lua.LState, *lua.LTable, lua.LValue) {}
func (m *machine) Burn(*lua.LState, int64)                    {}
func (m *machine) Pin(int64)                                  {}
func (m *machine) Rand() *stdlib.Rand                         { return m.rand }
func (m *machine) Print(_ *lua.LState, s string)              { fmt.Fprintln(&m.out, s) }

func (m *machine) Protected(L *lua.LState, fn lua.LValue, args []lua.LValue, handler lua.LValue) ([]lua.LValue, lua.LValue, bool) {
	if m.depth > 150 {
		L.RaiseError("stack overflow")
	}
	m.depth++
	defer func() { m.depth-- }()
	t := m.thread()
	t.Push(fn)
	for _, a := range args {
		t.Push(a)
	}
	if err := t.PCall(len(args), lua.MultRet, nil); err != nil {
		value := errorText(L, err)
		if handler != lua.LNil {
			L.Push(handler)
			L.Push(value)
			L.Call(1, 1)
			value = L.Get(-1)
			L.Pop(1)
		}
		return nil, value, false
	}
	var out []lua.LValue
	for i := 1; i <= t.GetTop(); i++ {
		out = append(out, t.Get(i))
	}
	return out, lua.LNil, true
}

func execute(source string) string {
	c, err := syntax.Compile(reference.File, source)
	if err != nil {
		return "error: " + err.Error() + "\n"
	}
	return newMachine().run(c)
}
