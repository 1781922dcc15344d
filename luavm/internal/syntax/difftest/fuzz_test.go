package main

import (
	"context"
	"testing"
	"time"

	"clm/luavm"
	"clm/luavm/internal/syntax/difftest/internal/gen"
)

// FuzzRun runs arbitrary sources in a small VM: it ends in time, and no fault of
// Go code leaves it broken.
func FuzzRun(f *testing.F) {
	for seed := range uint64(20) {
		f.Add(gen.Program(seed))
	}
	for _, s := range []string{
		"for i = 1, 10 do goto continue ::continue:: end",
		"local a <close> = setmetatable({}, {__close = print}) error(a)",
		"print(pcall(pcall, pcall, error)) return 1 // 0",
		"local t = {1, 2, x = 3, ...} return #t .. t.x",
		"repeat local x = 1 local function f() return x end until f()",
		"print(9007199254740993 & -1, 0x7fffffffffffffff // 3, -0.0)",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, source string) {
		p, err := luavm.Compile("f", source)
		if err != nil {
			return
		}
		v := luavm.New(p, luavm.Options{Memory: 1 << 20, LoadTime: 20 * time.Millisecond})
		defer v.Close()
		start := time.Now()
		v.Load().Main().Step(context.Background(), luavm.Answer{})
		if err := v.Broken(); err != nil {
			t.Error(err)
		}
		if took := time.Since(start); took > 2*time.Second {
			t.Errorf("took %v", took)
		}
	})
}
