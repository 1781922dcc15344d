package stdlib

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	lua "github.com/yuin/gopher-lua"

	"clm/luavm/internal/boxed"
	"clm/luavm/internal/layout"
	"clm/luavm/internal/syntax"
)

// testVM is the smallest VM that can run the library: it adds up what is charged
// (nothing is ever freed), stops at a deadline, and calls under protection.
type testVM struct {
	root     *lua.LState // has no context, so that its threads get ours
	L        *lua.LState
	limit    int64 // bytes
	used     int64
	pinned   int64
	burned   int64
	deadline time.Time
	dead     error // why the run was aborted
	fault    error // a Go panic that is no Lua error
	ticks    int
	depth    int
	calling  *lua.LState // whose protected call begins
	out      strings.Builder
	rand     *Rand
}

var (
	errMemory = errors.New("not enough memory")
	errTime   = errors.New("timed out")
)

// TestMain sets what a VM sets once a process.
func TestMain(m *testing.M) {
	lua.CompatVarArg = false
	lua.MaxArrayIndex = 1 << 20
	os.Exit(m.Run())
}

func newTestVM() *testVM {
	v := &testVM{limit: 1 << 40, deadline: time.Now().Add(20 * time.Second), rand: NewRand(1, 2)}
	v.root = lua.NewState(lua.Options{
		SkipOpenLibs: true, CallStackSize: 200, RegistrySize: 1024, RegistryMaxSize: 65536, RegistryGrowStep: 256,
	})
	libs := Libraries()
	g := v.root.G.Global
	libs.Base.ForEach(g.RawSet)
	for name, lib := range map[string]*lua.LTable{"string": libs.String, "table": libs.Table, "math": libs.Math, "utf8": libs.UTF8} {
		t := v.root.NewTable()
		lib.ForEach(t.RawSet)
		g.RawSetString(name, t)
	}
	g.RawSetString("_G", g)
	for typ, mt := range libs.Types {
		v.setTypeMeta(typ, mt)
	}
	v.L = v.thread()
	return v
}

// setTypeMeta installs a metatable by way of some value of the type.
func (v *testVM) setTypeMeta(typ lua.LValueType, mt *lua.LTable) {
	if typ == lua.LTString {
		own := v.root.NewTable()
		mt.ForEach(own.RawSet)
		own.RawSetString("__index", v.root.G.Global.RawGetString("string"))
		mt = own
	}
	values := map[lua.LValueType]lua.LValue{
		lua.LTNil: lua.LNil, lua.LTBool: lua.LTrue, lua.LTNumber: lua.LNumber(0), lua.LTString: lua.LString(""),
		lua.LTFunction: &lua.LFunction{}, lua.LTChannel: lua.LChannel(nil),
	}
	v.root.SetMetatable(values[typ], mt)
}

func (v *testVM) thread() *lua.LState {
	t, _ := v.root.NewThread()
	t.SetContext(&testContext{context.Background(), v, t, &boxed.Hook{}, v.calling})
	t.Panic = func(L *lua.LState) { Raise(L, lua.LString(Reword(L.Get(-1).String()))) }
	return t
}

// testContext counts instructions by the calls of Done that gopher-lua makes.
type testContext struct {
	context.Context
	v    *testVM
	L    *lua.LState
	hook *boxed.Hook
	from *lua.LState
}

func (c *testContext) Below() *lua.LState { return c.from }

func (c *testContext) Meter() Meter { return c.v }

func (c *testContext) Done() <-chan struct{} {
	c.v.Burn(c.L, 1)
	c.hook.Before(c.L)
	return nil
}

func (v *testVM) abort(L *lua.LState, err error) {
	v.dead = err
	L.RaiseError("%s", err.Error())
}

func (v *testVM) Charge(L *lua.LState, n int64) {
	v.used += n
	if n < 0 || v.used > v.limit {
		v.abort(L, errMemory)
	}
}

func (v *testVM) Store(L *lua.LState, t *lua.LTable, key lua.LValue) {
	n, ok := key.(lua.LNumber)
	if room := cap(layout.Array(t)); ok && n > lua.LNumber(room) && n < lua.LNumber(lua.MaxArrayIndex) {
		v.Charge(L, 16*4*int64(n)) // gopher-lua grows it one element at a time
		return
	}
	v.Charge(L, 48)
}

func (v *testVM) Burn(L *lua.LState, n int64) {
	v.burned += n
	v.ticks -= int(min(n, 1<<20))
	if v.ticks <= 0 || v.dead != nil {
		v.ticks = 5000
		if v.dead == nil && time.Now().After(v.deadline) {
			v.dead = errTime
		}
		if v.dead != nil {
			v.abort(L, v.dead)
		}
	}
}

func (v *testVM) Pin(n int64) { v.pinned += n }

func (v *testVM) Print(_ *lua.LState, text string) { v.out.WriteString(text + "\n") }

func (v *testVM) Rand() *Rand { return v.rand }

func (v *testVM) Protected(L *lua.LState, fn lua.LValue, args []lua.LValue, handler lua.LValue) ([]lua.LValue, lua.LValue, bool) {
	if v.depth > 150 {
		return nil, lua.LString("stack overflow"), false
	}
	v.Charge(L, 24<<10) // the thread
	v.depth++
	pinned := v.pinned
	v.calling = L
	results, err, ok := v.call(fn, args...)
	v.depth--
	if v.dead != nil {
		v.abort(L, v.dead)
	}
	if ok {
		return results, nil, true
	}
	v.pinned = pinned
	if handler != lua.LNil {
		results, _, _ = v.Protected(L, handler, []lua.LValue{err}, lua.LNil)
		if err = lua.LNil; len(results) > 0 {
			err = results[0]
		}
	}
	return nil, err, false
}

// call runs fn on a new thread.
func (v *testVM) call(fn lua.LValue, args ...lua.LValue) ([]lua.LValue, lua.LValue, bool) {
	t := v.thread()
	t.Push(fn)
	for _, x := range args {
		t.Push(x)
	}
	err, failed := recovered(func() { t.Call(len(args), lua.MultRet) })
	if failed {
		if e, ok := err.(*lua.ApiError); ok && e.Object != nil {
			return nil, e.Object, false
		}
		v.fault = fmt.Errorf("%v", err)
		return nil, lua.LString(v.fault.Error()), false
	}
	results := make([]lua.LValue, t.GetTop())
	for i := range results {
		results[i] = t.Get(i + 1)
	}
	return results, nil, true
}

// recovered runs f and tells what it panicked with. PCall would take the place of
// the thread's Panic.
func recovered(f func()) (what any, failed bool) {
	defer func() {
		if failed {
			what = recover()
		}
	}()
	failed = true
	f()
	return nil, false
}

// load compiles a chunk and returns it ready to be called with args.
func (v *testVM) load(code string) (fn lua.LValue, args []lua.LValue, err error) {
	chunk, err := syntax.Compile("t", code)
	if err != nil {
		return nil, nil, err
	}
	for _, h := range chunk.Helpers {
		args = append(args, Helpers()[h])
	}
	return v.root.NewFunctionFromProto(chunk.Proto), args, nil
}

// run runs a chunk; an error of its own is a Lua value, one of the VM is dead.
func (v *testVM) run(tb testing.TB, code string) ([]lua.LValue, lua.LValue, bool) {
	tb.Helper()
	fn, args, err := v.load(code)
	if err != nil {
		return nil, lua.LString(err.Error()), false
	}
	results, e, ok := v.call(fn, args...)
	if v.fault != nil {
		tb.Fatalf("%s\n%v", code, v.fault)
	}
	return results, e, ok
}
