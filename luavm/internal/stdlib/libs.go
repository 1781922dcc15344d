package stdlib

import (
	"sync"

	lua "github.com/yuin/gopher-lua"
)

// Libs holds the library tables of the process. They are shared by all VMs and
// must never be changed after Libraries has returned: a VM puts its own tables
// in front of them.
type Libs struct {
	Base   *lua.LTable // functions and _VERSION, without _G and the libraries
	String *lua.LTable
	Table  *lua.LTable
	Math   *lua.LTable
	UTF8   *lua.LTable

	// Types holds the metatables of values that are neither tables nor userdata,
	// by type: what Global.builtinMts wants. They give boxed integers their
	// arithmetic, strings their conversions, and errors the wording of Lua 5.4.
	// The one of strings has no __index; each VM adds its own string table.
	Types map[lua.LValueType]*lua.LTable
}

// Libraries returns the shared libraries, made on the first call.
func Libraries() *Libs { return libraries() }

var libraries = sync.OnceValue(build)

func build() *Libs {
	return &Libs{
		Base:   baseTable(),
		String: stringTable(),
		Table:  tableTable(),
		Math:   mathTable(),
		UTF8:   utf8Table(),
		Types:  typeTables(),
	}
}
