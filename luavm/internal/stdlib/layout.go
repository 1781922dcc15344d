package stdlib

import (
	"fmt"
	"reflect"
	"unsafe"

	lua "github.com/yuin/gopher-lua"
)

// What gopher-lua hides and the library needs: the frames of calls, for the
// positions and names in error messages, and the array part of tables, for loops
// over it that can be metered. The offsets come from reflection and the layout
// is checked when the process starts, so another version cannot corrupt memory.

// frame mirrors lua.callFrame.
type frame struct {
	Idx        int
	Fn         *lua.LFunction
	Parent     *frame
	Pc         int
	Base       int
	LocalBase  int
	ReturnBase int
	NArgs      int
	NRet       int
	TailCall   int
}

var (
	offsetFrame = checkFrame()
	offsetReg   = fieldOf(reflect.TypeFor[lua.LState](), "reg", nil).Offset
	offsetStack = registryField("array", reflect.TypeFor[[]lua.LValue]())
	offsetTop   = registryField("top", reflect.TypeFor[int]())
	offsetArray = fieldOf(reflect.TypeFor[lua.LTable](), "array", reflect.TypeFor[[]lua.LValue]()).Offset
	offsetKeys  = fieldOf(reflect.TypeFor[lua.LTable](), "keys", reflect.TypeFor[[]lua.LValue]()).Offset
	offsetIndex = fieldOf(reflect.TypeFor[lua.LTable](), "k2i", reflect.TypeFor[map[lua.LValue]int]()).Offset
)

func fieldOf(t reflect.Type, name string, want reflect.Type) reflect.StructField {
	f, ok := t.FieldByName(name)
	if !ok || want != nil && f.Type != want {
		panic(fmt.Sprintf("stdlib: %v.%s is not what gopher-lua 1.1.2 has", t, name))
	}
	return f
}

func registryField(name string, want reflect.Type) uintptr {
	return fieldOf(fieldOf(reflect.TypeFor[lua.LState](), "reg", nil).Type.Elem(), name, want).Offset
}

func checkFrame() uintptr {
	current := fieldOf(reflect.TypeFor[lua.LState](), "currentFrame", nil)
	theirs, ours := current.Type.Elem(), reflect.TypeFor[frame]()
	if theirs.NumField() != ours.NumField() {
		panic("stdlib: callFrame is not what gopher-lua 1.1.2 has")
	}
	for i := range ours.NumField() {
		f := fieldOf(theirs, ours.Field(i).Name, nil)
		if f.Offset != ours.Field(i).Offset || f.Type.Kind() != ours.Field(i).Type.Kind() {
			panic("stdlib: callFrame is not what gopher-lua 1.1.2 has")
		}
	}
	return current.Offset
}

// currentFrame returns the frame of the function that runs on L, or nil.
func currentFrame(L *lua.LState) *frame {
	return *(**frame)(unsafe.Add(unsafe.Pointer(L), offsetFrame))
}

// arguments returns the arguments of the Go function that runs on L. They stay
// readable until it returns, whatever is pushed behind them.
func arguments(L *lua.LState) []lua.LValue {
	reg := *(*unsafe.Pointer)(unsafe.Add(unsafe.Pointer(L), offsetReg))
	stack := *(*[]lua.LValue)(unsafe.Add(reg, offsetStack))
	top := *(*int)(unsafe.Add(reg, offsetTop))
	return stack[currentFrame(L).LocalBase:top:top]
}

// arrayOf returns the array part of t: t[1] is its first element. It holds until
// the table grows; only elements may be written.
func arrayOf(t *lua.LTable) []lua.LValue {
	return *(*[]lua.LValue)(unsafe.Add(unsafe.Pointer(t), offsetArray))
}

// keysOf returns the keys that t has or had outside of its array part, in the
// order in which they came.
func keysOf(t *lua.LTable) []lua.LValue {
	return *(*[]lua.LValue)(unsafe.Add(unsafe.Pointer(t), offsetKeys))
}

// keyIndex returns the place of a key in keysOf.
func keyIndex(t *lua.LTable, key lua.LValue) (int, bool) {
	i, ok := (*(*map[lua.LValue]int)(unsafe.Add(unsafe.Pointer(t), offsetIndex)))[key]
	return i, ok
}

// An instruction is op (6 bits), A (8), C (9), B (9), from the top; Bx is C and B.
func opcode(inst uint32) int { return int(inst >> 26) }
func argA(inst uint32) int   { return int(inst>>18) & 0xff }
func argB(inst uint32) int   { return int(inst & 0x1ff) }
func argC(inst uint32) int   { return int(inst>>9) & 0x1ff }
func argBx(inst uint32) int  { return int(inst & 0x3ffff) }
