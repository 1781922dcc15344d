package stdlib

import (
	"fmt"
	"sync"
	"testing"

	"clm/luavm/internal/number"
)

// TestShared runs VMs in parallel on the same library functions, for the race
// detector.
func TestShared(t *testing.T) {
	const code = `local n = ...
		local t = {}
		for i = 1, 200 do t[i] = string.format("%d:%s", (i * n) % 17, ("x"):rep(i % 5)) end
		table.sort(t)
		local s = table.concat(t, ","):gsub("%d+", function(d) return tonumber(d) + 1 end)
		for w in s:gmatch("[^,]+") do n = n + #w end
		local ok, err = pcall(error, {n})
		return err[1] + math.random(1), (n & 0xff) // 1, utf8.char(n % 100 + 200), string.pack("i4", n), math.maxinteger`
	var group sync.WaitGroup
	results := make([]string, 8)
	for i := range results {
		group.Go(func() {
			v := newTestVM()
			fn, args, err := v.load("return function(...) " + code + " end")
			if err != nil {
				t.Error(err)
				return
			}
			made, e, ok := v.call(fn, args...)
			if !ok {
				t.Error(e)
				return
			}
			r, e, ok := v.call(made[0], number.FromInt(int64(i/2)))
			results[i] = fmt.Sprint(r, e, ok)
		})
	}
	group.Wait()
	for i := 0; i < len(results); i += 2 {
		if results[i] != results[i+1] || results[i] == "" {
			t.Errorf("%s\n%s", results[i], results[i+1])
		}
	}
}
