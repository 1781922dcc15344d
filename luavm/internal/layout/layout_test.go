package layout

import (
	"reflect"
	"strings"
	"testing"

	lua "github.com/yuin/gopher-lua"
)

// Another gopher-lua is noticed when the process starts, by the name of what is missing.
func TestOtherLayout(t *testing.T) {
	type other struct {
		Idx int
		Fn  string
	}
	for name, f := range map[string]func(){
		"no ptr missing":    func() { field(reflect.TypeFor[lua.LState](), "missing", reflect.Pointer) },
		"no int stack":      func() { field(reflect.TypeFor[lua.LState](), "stack", reflect.Int) },
		"array is":          func() { typed(reflect.TypeFor[lua.LTable](), "array", reflect.TypeFor[[]int]()) },
		"has 2 fields":      func() { sameStruct(reflect.TypeFor[other](), reflect.TypeFor[Frame]()) },
		"field 1 of layout": func() { sameStruct(reflect.TypeFor[other](), reflect.TypeFor[struct{ Idx, Fn int }]()) },
	} {
		func() {
			defer func() {
				if r, _ := recover().(string); !strings.Contains(r, name) || !strings.Contains(r, "pinned version") {
					t.Errorf("%s: panic %q", name, r)
				}
			}()
			f()
		}()
	}
}

// Tables made here are what the interpreter would have made.
func TestTables(t *testing.T) {
	a, b, c := lua.LValue(lua.LString("a")), lua.LValue(lua.LString("b")), lua.LValue(lua.LString("c"))
	one := NewRecord([]lua.LValue{a, lua.LNumber(1), b, lua.LNumber(2)}, nil)
	two := NewRecord([]lua.LValue{a, lua.LNumber(3), b, lua.LNumber(4)}, one)
	if &Keys(one)[0] != &Keys(two)[0] {
		t.Error("equal records do not share their keys")
	}
	one.RawSetString("c", lua.LNumber(5))
	two.RawSetString("d", lua.LNumber(6))
	if Keys(one)[2] != c || Keys(two)[2] != lua.LValue(lua.LString("d")) || len(Index(two)) != 3 {
		t.Errorf("keys are %v and %v", Keys(one), Keys(two))
	}
	list := NewArray([]lua.LValue{a, b})
	list.Append(c)
	if list.Len() != 3 || list.RawGetInt(3) != c {
		t.Errorf("list is %v", Array(list))
	}
	empty := &lua.LTable{Metatable: lua.LNil}
	PrepareStrings(empty)
	PrepareArray(empty, 2)
	if Strings(empty) == nil || cap(Array(empty)) != 2 || empty.Len() != 0 {
		t.Error("a prepared table is not empty with parts")
	}
	if k, _ := empty.Next(lua.LNil); k != lua.LNil {
		t.Errorf("an empty table has the key %v", k)
	}
	empty.RawSetString("x", a)
	if k, v := empty.Next(lua.LNil); k != lua.LValue(lua.LString("x")) || v != a {
		t.Errorf("next gives %v, %v", k, v)
	}
	copied := &lua.LTable{Metatable: lua.LNil}
	one.RawSetString("a", lua.LNil)
	CopyFields(copied, one, 1)
	if len(Keys(copied)) != 2 || copied.RawGetString("b") != lua.LValue(lua.LNumber(2)) {
		t.Errorf("the copy has %v", Keys(copied))
	}
}

// Strings made here are those that Go makes, in one allocation if they are short, and do not keep what they are cut from.
func TestStrings(t *testing.T) {
	long := strings.Repeat("0123456789", 10)
	for n := range len(long) {
		got := NewString(long[:n])
		if got != lua.LValue(lua.LString(long[:n])) || got.Type() != lua.LTString {
			t.Errorf("%d bytes gave %q", n, got)
		}
		if n > 0 && StringAddress(string(got.(lua.LString))) == StringAddress(long) {
			t.Errorf("%d bytes are not a copy", n)
		}
	}
	var keep lua.LValue
	for n, most := range map[int]float64{1: 1, 16: 1, 17: 1, 32: 1, 33: 2} {
		if got := testing.AllocsPerRun(100, func() { keep = NewString(long[:n]) }); got > most {
			t.Errorf("%d bytes took %v allocations", n, got)
		}
	}
	if keep = StringOf([]byte("abc")); keep != lua.LValue(lua.LString("abc")) || StringOf(nil) != lua.LValue(lua.LString("")) {
		t.Errorf("got %q", keep)
	}
}

// Arguments and Push are what the state's methods give, also where the register file has to grow.
func TestRegisters(t *testing.T) {
	L := lua.NewState(lua.Options{SkipOpenLibs: true, RegistrySize: 32, RegistryMaxSize: 1024, RegistryGrowStep: 32})
	const results = 100
	L.Push(L.NewFunction(func(L *lua.LState) int {
		args := Arguments(L)
		if len(args) != 2 || args[0] != lua.LTrue || args[1] != lua.LValue(lua.LNumber(5)) {
			t.Errorf("the arguments are %v", args)
		}
		for i := range results {
			Push(L, lua.LNumber(i))
			if L.GetTop() != i+3 || L.Get(-1) != lua.LValue(lua.LNumber(i)) {
				t.Fatalf("push %d: top is %d, %v", i, L.GetTop(), L.Get(-1))
			}
		}
		return results
	}))
	L.Push(lua.LTrue)
	L.Push(lua.LNumber(5))
	L.Call(2, lua.MultRet)
	if L.GetTop() != results || L.Get(results) != lua.LValue(lua.LNumber(results-1)) {
		t.Errorf("%d results, the last is %v", L.GetTop(), L.Get(-1))
	}
}
