package syntax_test

import (
	"fmt"

	"clm/luavm/internal/syntax"
)

func ExampleCompile() {
	_, err := syntax.Compile("plugin.lua", "if x then\n  y()")
	fmt.Println(err)
	chunk, _ := syntax.Compile("plugin.lua", "return a // b .. c")
	fmt.Println(chunk.Helpers)
	// Output:
	// plugin.lua:2: 'end' expected (to close 'if' at line 1) near <eof>
	// [IDiv Concat]
}
