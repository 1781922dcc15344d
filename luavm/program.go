package luavm

import (
	"fmt"

	"clm/luavm/internal/syntax"
)

// Program is a compiled plugin file. It is immutable and serves any number of VMs at once.
type Program struct {
	name  string
	chunk *syntax.Chunk
}

// Compile compiles Lua 5.4 source. name is the file's name without ".lua"; messages show it with the extension. The
// error's text is "name.lua:line: what near 'token'".
func Compile(name, source string) (*Program, error) {
	root()
	chunk, err := syntax.Compile(name+".lua", source)
	if err != nil {
		return nil, err
	}
	return &Program{name: name, chunk: chunk}, nil
}

// Name is the name given to Compile.
func (p *Program) Name() string { return p.name }

func quote(s string) string { return fmt.Sprintf("%.80q", s) }
