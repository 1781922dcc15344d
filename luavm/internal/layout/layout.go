package layout

import (
	"fmt"
	"reflect"
	"unsafe"

	lua "github.com/yuin/gopher-lua"
)

// Frame mirrors gopher-lua's callFrame; offsets compares the two field by field.
type Frame struct {
	Idx        int
	Fn         *lua.LFunction
	Parent     *Frame
	Pc         int
	Base       int
	LocalBase  int
	ReturnBase int
	NArgs      int
	NRet       int
	TailCall   int
}

// registers mirrors the beginning of gopher-lua's registry.
type registers struct {
	array []lua.LValue
	top   int
}

type fields struct {
	curFrame, reg, stack, uvcache                uintptr // lua.LState
	tabArray, tabDict, tabStr, tabKeys, tabIndex uintptr // lua.LTable
	uvNext, uvReg                                uintptr // lua.Upvalue
	builtinMts                                   uintptr // lua.Global
	stackType                                    reflect.Type
}

var off = offsets()

func offsets() fields {
	state := reflect.TypeFor[lua.LState]()
	table := reflect.TypeFor[lua.LTable]()
	values := reflect.TypeFor[[]lua.LValue]()
	frame := field(state, "currentFrame", reflect.TypeFor[*Frame]().Kind())
	sameStruct(frame.Type.Elem(), reflect.TypeFor[Frame]())
	reg := field(state, "reg", reflect.Pointer)
	sameFields(reg.Type.Elem(), reflect.TypeFor[registers]())
	stack := field(state, "stack", reflect.Interface)
	return fields{
		curFrame:   frame.Offset,
		reg:        reg.Offset,
		stack:      stack.Offset,
		stackType:  stack.Type,
		uvcache:    typed(state, "uvcache", reflect.TypeFor[*lua.Upvalue]()),
		tabArray:   typed(table, "array", values),
		tabDict:    typed(table, "dict", reflect.TypeFor[map[lua.LValue]lua.LValue]()),
		tabStr:     typed(table, "strdict", reflect.TypeFor[map[string]lua.LValue]()),
		tabKeys:    typed(table, "keys", values),
		tabIndex:   typed(table, "k2i", reflect.TypeFor[map[lua.LValue]int]()),
		uvReg:      field(reflect.TypeFor[lua.Upvalue](), "reg", reflect.Pointer).Offset,
		uvNext:     typed(reflect.TypeFor[lua.Upvalue](), "next", reflect.TypeFor[*lua.Upvalue]()),
		builtinMts: typed(reflect.TypeFor[lua.Global](), "builtinMts", reflect.TypeFor[map[int]lua.LValue]()),
	}
}

func field(t reflect.Type, name string, kind reflect.Kind) reflect.StructField {
	f, ok := t.FieldByName(name)
	if !ok || f.Type.Kind() != kind {
		panic(fmt.Sprintf("layout: gopher-lua is not the pinned version: %v has no %v %s", t, kind, name))
	}
	return f
}

func typed(t reflect.Type, name string, want reflect.Type) uintptr {
	f := field(t, name, want.Kind())
	if f.Type != want {
		panic(fmt.Sprintf("layout: gopher-lua is not the pinned version: %v.%s is %v, not %v", t, name, f.Type, want))
	}
	return f.Offset
}

func sameStruct(got, want reflect.Type) {
	if got.NumField() != want.NumField() {
		panic(fmt.Sprintf("layout: gopher-lua is not the pinned version: %v has %d fields, not %d", got, got.NumField(), want.NumField()))
	}
	sameFields(got, want)
}

// sameFields checks that got begins with the fields of want.
func sameFields(got, want reflect.Type) {
	for i := range want.NumField() {
		a, b := got.Field(i), want.Field(i)
		if a.Name != b.Name || a.Offset != b.Offset || a.Type.Kind() != b.Type.Kind() {
			panic(fmt.Sprintf("layout: gopher-lua is not the pinned version: field %d of %v is %s", i, got, a.Name))
		}
	}
}

func at[T any](base unsafe.Pointer, offset uintptr) *T { return (*T)(unsafe.Add(base, offset)) }

// CurrentFrame is the innermost frame of L, nil when L runs nothing.
func CurrentFrame(L *lua.LState) *Frame {
	return *(**Frame)(unsafe.Add(unsafe.Pointer(L), off.curFrame))
}

// ClearFrame forgets L's frames after the stack was cut to nothing.
func ClearFrame(L *lua.LState) { *at[*Frame](unsafe.Pointer(L), off.curFrame) = nil }

func registersOf(L *lua.LState) *registers {
	return *(**registers)(unsafe.Add(unsafe.Pointer(L), off.reg))
}

// Registers is the whole register file of L.
func Registers(L *lua.LState) []lua.LValue { return registersOf(L).array }

// Top is the number of registers of L in use.
func Top(L *lua.LState) int { return registersOf(L).top }

// Push puts v on top of L's registers, as its method does, which is not inlined.
func Push(L *lua.LState, v lua.LValue) {
	if r := registersOf(L); r.top < len(r.array) {
		r.array[r.top] = v
		r.top++
		return
	}
	L.Push(v)
}

// Arguments is the registers of the Go function that runs on L, with its arguments.
func Arguments(L *lua.LState) []lua.LValue {
	r := registersOf(L)
	return r.array[CurrentFrame(L).LocalBase:r.top:r.top]
}

// Stack is the call stack of a thread; SetSp(0) unwinds it.
type Stack interface {
	SetSp(int)
	Sp() int
}

// StackOf returns L's call stack.
func StackOf(L *lua.LState) Stack {
	v := reflect.NewAt(off.stackType, unsafe.Add(unsafe.Pointer(L), off.stack)).Elem()
	return v.Interface().(Stack)
}

// CloseUpvalues cuts every open upvalue of L loose from its registers, so that they may be used again.
func CloseUpvalues(L *lua.LState) {
	head := at[*lua.Upvalue](unsafe.Pointer(L), off.uvcache)
	for uv := *head; uv != nil; {
		uv.Close()
		next := at[*lua.Upvalue](unsafe.Pointer(uv), off.uvNext)
		uv, *next = *next, nil // one of them must not keep the others
	}
	*head = nil
}

// OpenUpvalues counts the upvalues of L that still refer to registers.
func OpenUpvalues(L *lua.LState) (n int) {
	for uv := *at[*lua.Upvalue](unsafe.Pointer(L), off.uvcache); uv != nil; uv = *at[*lua.Upvalue](unsafe.Pointer(uv), off.uvNext) {
		n++
	}
	return n
}

// ForgetRegisters drops a closed upvalue's reference to the register file that it once pointed into.
func ForgetRegisters(uv *lua.Upvalue) {
	if uv.IsClosed() {
		*at[unsafe.Pointer](unsafe.Pointer(uv), off.uvReg) = nil
	}
}

// ResetRegisters gives L, which runs nothing, a new register file of n.
func ResetRegisters(L *lua.LState, n int) {
	registersOf(L).array = make([]lua.LValue, n)
}

// TypeMetatables is the metatables of the types that have one each, by lua.LValueType.
func TypeMetatables(g *lua.Global) *map[int]lua.LValue {
	return at[map[int]lua.LValue](unsafe.Pointer(g), off.builtinMts)
}
