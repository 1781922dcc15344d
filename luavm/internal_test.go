package luavm

import (
	"os"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	lua "github.com/yuin/gopher-lua"
)

// The hook does not watch CONCAT, so no program may have it.
func TestNoConcatInstruction(t *testing.T) {
	paths, err := filepath.Glob("plugins/*.lua")
	if err != nil || len(paths) == 0 {
		t.Fatal(paths, err)
	}
	sources := []string{`local a, b = "x", {} a = a .. b .. 1 b[a .. "y"] = a .. a return a .. (b .. a), ("z"):rep(3) .. a`}
	for _, path := range paths {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		sources = append(sources, string(text))
	}
	var look func(p *lua.FunctionProto)
	look = func(p *lua.FunctionProto) {
		for i, inst := range p.Code {
			if int(inst>>26) == lua.OP_CONCAT {
				t.Errorf("%s:%d has CONCAT", p.SourceName, p.DbgSourcePositions[i])
			}
		}
		for _, inner := range p.FunctionPrototypes {
			look(inner)
		}
	}
	for _, source := range sources {
		p, err := Compile("p", source)
		if err != nil {
			t.Fatal(err)
		}
		look(p.chunk.Proto)
	}
}

// A walk counts what a VM holds close to what it is in Go.
func TestWalkAgainstHeap(t *testing.T) {
	for name, code := range map[string]string{
		"tables":   `local t = {} for i = 1, 15000 do t[i] = {} end keep = t`,
		"records":  `local t = {} for i = 1, 5000 do t[i] = { id = i, name = "n" .. i, tags = { 1, 2 } } end keep = t`,
		"fields":   `local t = {} for i = 1, 5000 do local r = {} r.a = 1 r.b = 2 t[i] = r end keep = t`,
		"arrays":   `local t = {} for i = 1, 100000 do t[i] = i + 0.5 end keep = t`,
		"strings":  `local t = {} for i = 1, 30000 do t[i] = "string number " .. i end keep = t`,
		"parts":    `local s = ("x"):rep(100) local t = {} for i = 1, 30000 do t[i] = s:sub(1, i % 40) end keep = t`,
		"decoded":  `local t = {} for i = 1, 2000 do t[i] = json.decode('{"id":7,"name":"some name ' .. i .. '","tags":["a","b"]}') end keep = t`,
		"map":      `local t = {} for i = 1, 15000 do t["key " .. i] = i end keep = t`,
		"floats":   `local t = {} for i = 1, 15000 do t[i + 0.5] = true end keep = t`,
		"closures": `local t = {} for i = 1, 20000 do local a, b = i, i t[i] = function() return a + b end end keep = t`,
		"big":      `keep = ("x"):rep(5000000)`,
	} {
		p, err := Compile("p", code)
		if err != nil {
			t.Fatal(err)
		}
		before := liveHeap()
		v := New(p, Options{Memory: 1 << 30, LoadTime: 1 << 40})
		if y := v.Load().Main().Step(t.Context(), Answer{}); y.Result.Failed {
			t.Fatal(y.Result.Text)
		}
		v.walk()
		held := liveHeap() - before
		ratio := float64(v.live) / float64(held)
		t.Logf("%s: counted %d of %d bytes (%.2f)", name, v.live, held, ratio)
		if ratio < 0.7 || ratio > 1.6 {
			t.Errorf("%s: counted %d of %d bytes (%.2f)", name, v.live, held, ratio)
		}
		v.Close()
	}
}

// liveHeap is the size of the objects in use.
func liveHeap() int64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// A walk that meets the deadline gives up, and the call ends by its time.
func TestWalkGivesUp(t *testing.T) {
	p, err := Compile("p", `keep = {} for i = 1, 100000 do keep[i] = { i } end
		clm.tool_register("t", { timeout_ms = 1, invoke = function() while true do local t = {} for i = 1, 1000 do t[i] = {} end end end })`)
	if err != nil {
		t.Fatal(err)
	}
	v := New(p, Options{Memory: 1 << 30, LoadTime: 1 << 40})
	defer v.Close()
	v.Load().Main().Step(t.Context(), Answer{})
	if v.walkUntil(time.Now().Add(-time.Second)) {
		t.Error("a walk past its deadline is whole")
	}
	if !v.walkUntil(time.Time{}) || v.live < 10<<20 {
		t.Errorf("a walk without deadline found %d bytes", v.live)
	}
	v.trigger = 0
	y := v.Call("t", "").Main().Step(t.Context(), Answer{})
	if !y.Done || y.Result.Text != "timed out after 1 ms" {
		t.Errorf("got %+v", y.Result)
	}
}
