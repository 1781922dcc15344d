package stdlib

import (
	"runtime"
	"testing"
)

// TestChargesCoverAllocations compares what calls charge with what they really
// allocate. Too little charged would let a script outgrow its limit.
func TestChargesCoverAllocations(t *testing.T) {
	const setup = `local big, words = ("x"):rep(100000), ("some words "):rep(5000)
		local list, numbers = {}, {} for i = 1, 2000 do list[i] = "item" numbers[i] = i end
		return function() `
	for _, code := range []string{
		`return big:rep(10)`, `return big:rep(10, ",")`, `return big:upper()`, `return big:reverse()`, `return big:sub(2)`,
		`return (words:gsub("%a", "%0%0"))`, `return (words:gsub("%a+", function(w) return w .. w end))`, `return (words:gsub("%s", ""))`,
		`for w in words:gmatch("%a+") do end`, `return big:match("(x+)")`, `return words:find("(w%a+) (s%a+)")`,
		`return table.concat(list)`, `return table.concat(list, ", ")`, `return table.concat(numbers, ", ")`,
		`return string.format("%s%s", big, big)`, `return string.format("%q", big)`, `return string.format("%99.99f", 1/3)`,
		`return string.pack("zs4c200000", big, big, big)`, `return string.unpack("c50000c50000", big)`,
		`local t = {} for i = 1, 5000 do table.insert(t, i) end`, `local t = {} for i = 1, 300 do table.insert(t, 1, i) end`,
		`table.sort(list)`, `return table.pack(table.unpack(numbers))`, `return table.move(numbers, 1, 2000, 1, {})`, `return select("#", table.unpack(numbers))`,
		`return select("#", big:byte(1, 10000))`, `return utf8.char(table.unpack(numbers, 1, 1000))`, `return select("#", utf8.codepoint(big, 1, 10000))`,
		`return tostring(big), tostring(12.5)`, `return rawset({}, 10000, 1)`, `return big .. words .. big`,
		`return pcall(error, big)`, `return pcall(string.rep, big, 5)`, `return (9007199254740993 .. big)`,
	} {
		v := newTestVM()
		made, _, ok := v.run(t, setup+code+" end")
		if !ok {
			t.Fatal(code)
		}
		v.call(made[0]) // what is made once
		var before, after runtime.MemStats
		used := v.used
		runtime.ReadMemStats(&before)
		if _, err, ok := v.call(made[0]); !ok {
			t.Fatal(code, err)
		}
		runtime.ReadMemStats(&after)
		got, charged := int64(after.TotalAlloc-before.TotalAlloc), v.used-used
		// numbers on the stack, small objects and the threads of the test are the VM's to count
		if got > charged+charged/4+150_000 {
			t.Errorf("%s\nallocates %d bytes, charges %d", code, got, charged)
		}
	}
}
