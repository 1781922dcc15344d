package syntax_test

import (
	"errors"
	"strings"
	"testing"

	lua "github.com/yuin/gopher-lua"

	"clm/luavm/internal/syntax"
	"clm/luavm/internal/syntax/internal/golden"
)

// FuzzCompile feeds arbitrary sources: there is a chunk or an error with a place,
// never a panic, and the chunk's operands lie within its registers.
func FuzzCompile(f *testing.F) {
	for _, file := range []string{"faults", "language", "errors"} {
		cases, err := golden.Read("testdata/" + file + ".txt")
		if err != nil {
			f.Fatal(err)
		}
		for _, c := range cases {
			if len(c.Source) < 2000 {
				f.Add(c.Source)
			}
		}
	}
	for _, k := range killers {
		f.Add(k.source[:min(len(k.source), 1000)])
	}
	f.Fuzz(func(t *testing.T, source string) {
		c, err := syntax.Compile("f.lua", source)
		if err != nil {
			var e *syntax.Error
			if !errors.As(err, &e) || e.File != "f.lua" || e.Line < 1 || e.Line > strings.Count(source, "\n")+strings.Count(source, "\r")+1 {
				t.Errorf("error %#v", err)
			}
			return
		}
		if c == nil || len(c.Helpers) > int(syntax.NumHelpers) {
			t.Fatal("no chunk")
		}
		checkProto(t, c.Proto)
	})
}

func checkProto(t *testing.T, p *lua.FunctionProto) {
	if len(p.Code) != len(p.DbgSourcePositions) {
		t.Errorf("%d instructions, %d lines", len(p.Code), len(p.DbgSourcePositions))
	}
	for pc, line := range p.DbgSourcePositions {
		if line < 0 || line > syntax.MaxSource {
			t.Errorf("instruction %d at line %d", pc, line)
		}
	}
	for pc := 0; pc < len(p.Code); pc++ {
		inst := p.Code[pc]
		switch op := int(inst >> 26); op {
		case lua.OP_JMP, lua.OP_FORLOOP, lua.OP_FORPREP:
			if to := pc + 1 + int(inst&0x3ffff) - 131071; to < 0 || to >= len(p.Code) {
				t.Errorf("instruction %d jumps to %d of %d", pc, to, len(p.Code))
			}
		case lua.OP_CLOSURE:
			pc += int(p.FunctionPrototypes[inst&0x3ffff].NumUpvalues)
		case lua.OP_CLOSE:
			// A numeric loop without a body has a variable that no instruction
			// names: one more than the compiler counts.
			if a := int(inst >> 18 & 0xff); a > int(p.NumUsedRegisters)+1 {
				t.Errorf("instruction %d closes from register %d of %d", pc, a, p.NumUsedRegisters)
			}
		case lua.OP_MOVE, lua.OP_GETUPVAL, lua.OP_LOADK:
			if a := int(inst >> 18 & 0xff); a > int(p.NumUsedRegisters) {
				t.Errorf("instruction %d uses register %d of %d", pc, a, p.NumUsedRegisters)
			}
		}
	}
	for _, f := range p.FunctionPrototypes {
		checkProto(t, f)
	}
}
