package luavm_test

import (
	"strings"
	"testing"

	"clm/luavm"
)

// Integers beyond 2^53 that come from outside, in code that mentions none.
func TestForeignIntegers(t *testing.T) {
	v := load(t, luavm.Options{Config: map[string]any{"id": int64(9007199254740993)}},
		register("compare", `local id = args.id
			local t = { id > 0, 0 < id, id < 1.5, id == 1, id >= 9007199254740992, id ~= 0, id <= 1e300, not (id < 0) }
			for i, x in ipairs(t) do t[i] = tostring(x) end
			ctx:complete(table.concat(t, " ") .. " " .. id)`),
		register("loop", `local t = {}
			for i = args.first, args.last do t[#t + 1] = tostring(i) if #t > 9 then break end end
			ctx:complete(table.concat(t, " "))`),
		register("step", `local t = {}
			for i = args.last, args.first, args.step do t[#t + 1] = tostring(i) if #t > 9 then break end end
			ctx:complete(table.concat(t, " "))`),
		register("config", `local n = 0 for i = clm.config.id - 1, clm.config.id do n = n + 1 if n > 9 then break end end
			ctx:complete(n .. " " .. tostring(clm.config.id > 5))`),
		register("json", `local ids = json.decode(args.text)
			table.sort(ids)
			local best = 0 for _, id in ipairs(ids) do if id > best then best = id end end
			ctx:complete(json.encode(ids) .. " " .. best .. " " .. math.max(table.unpack(ids)))`))
	for _, c := range []struct{ tool, args, want string }{
		{"compare", `{"id":9007199254740993}`, "true true false false true true true true 9007199254740993"},
		{"compare", `{"id":-9007199254740993}`, "false false true false false true true false -9007199254740993"},
		{"compare", `{"id":7}`, "true true false false false true true true 7"},
		{"loop", `{"first":9007199254740993,"last":9007199254740995}`, "9007199254740993 9007199254740994 9007199254740995"},
		{"loop", `{"first":9007199254740991,"last":9007199254740993}`, "9007199254740991 9007199254740992 9007199254740993"},
		{"loop", `{"first":1,"last":3}`, "1 2 3"},
		{"step", `{"first":9007199254740991,"last":9007199254740993,"step":-2}`, "9007199254740993 9007199254740991"},
		{"step", `{"first":9223372036854775807,"last":-9223372036854775808,"step":9223372036854775807}`, "-9223372036854775808 -1 9223372036854775806"},
		{"config", "", "2 true"},
		{"json", `{"text":"[5,9007199254740995,1.5,9007199254740993]"}`, "[1.5,5,9007199254740993,9007199254740995] 9007199254740995 9007199254740995"},
	} {
		if got := call(t, v, c.tool, c.args); got != c.want {
			t.Errorf("%s(%s)\n got %s\nwant %s", c.tool, c.args, got, c.want)
		}
	}
}

// An abort right behind a comparison must not leave the operand that the comparison was given in place of the integer.
func TestAbortBehindComparison(t *testing.T) {
	const source = `clm.tool_register("spin", { no_prompt = true, timeout_ms = 1, invoke = function(args)
		local id = args.id
		get = function() return id end
		while id > 0 and 0 < id and id ~= 5 do end
	end }) `
	v := load(t, luavm.Options{}, source, register("get", `ctx:complete(tostring(get()))`))
	for range 30 {
		if r := run(t, v, "spin", `{"id":9007199254740993}`); !strings.Contains(r.Text, "timed out") {
			t.Fatal(r.Text)
		}
		if got := call(t, v, "get", ""); got != "9007199254740993" {
			t.Fatalf("after an abort, the variable is %s", got)
		}
	}
}

// Loops that count in integers obey the limits and are no burden on the thread's later work.
func TestIntegerLoopsAreBounded(t *testing.T) {
	v := load(t, luavm.Options{},
		`clm.tool_register("endless", { no_prompt = true, timeout_ms = 20, invoke = function(args)
			for i = args.first, math.maxinteger do end
		end }) `,
		register("deep", `local function f(n) for i = args.first, args.first + 1 do if n > 0 then return f(n - 1) + 1 end return 0 end end
			ctx:complete(tostring(f(900)))`))
	const args = `{"first":9007199254740993}`
	if r := run(t, v, "endless", args); r.Text != "timed out after 20 ms" {
		t.Error(r.Text)
	}
	for n := range 3 {
		if got := call(t, v, "deep", args); got != "900" {
			t.Error(n, got)
		}
	}
	if live, limit := v.Memory(); live > limit*3/4 { // what was charged since the last walk may be half of what is free
		t.Errorf("%d of %d bytes are in use", live, limit)
	}
}

// A long literal is the number that tonumber makes of its text.
func TestLongLiterals(t *testing.T) {
	zeros := strings.Repeat("0", 900)
	for text, want := range map[string]string{
		"9007199254740993" + zeros + "e-900": "2^53", "0x1" + zeros + ".8p-3600": "1.0", "1" + zeros: "math.huge",
	} {
		v := load(t, luavm.Options{}, register("t", `ctx:complete(tostring(`+text+` == `+want+` and tonumber("`+text+`") == `+want+`))`))
		if got := call(t, v, "t", ""); got != "true" {
			t.Errorf("%.20s… is not %s", text, want)
		}
	}
}
