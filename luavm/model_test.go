package luavm_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"clm/luavm"
	"clm/luavm/luavmtest"
)

// A family is tasks that sleep and then end well or fail, and one wait of main for all of them.
type family struct {
	sleep   []int // milliseconds
	fails   []bool
	wait    string // await_all, try_all, wait_any
	timeout int    // of wait_any; -1: none
}

func randomFamily(r *rand.Rand) family {
	f := family{wait: []string{"await_all", "try_all", "wait_any"}[r.IntN(3)], timeout: -1}
	for range 1 + r.IntN(12) {
		f.sleep = append(f.sleep, r.IntN(5))
		f.fails = append(f.fails, r.IntN(4) == 0)
	}
	if r.IntN(2) == 0 {
		f.timeout = r.IntN(5)
	}
	return f
}

// args gives the family to the plugin.
func (f family) args() string {
	return strings.ReplaceAll(fmt.Sprintf(`{"sleep":%v,"fails":%v,"wait":%q,"timeout":%d}`, f.sleep, f.fails, f.wait, f.timeout), " ", ",")
}

// want is what must come out: what the wait gives, then the state of each task after it.
func (f family) want() string {
	until := slices.Max(f.sleep) // when main goes on
	var head string
	first := -1 // the task whose failure ends a try_all
	for i := range f.sleep {
		if f.fails[i] && (first < 0 || f.sleep[i] < f.sleep[first]) {
			first = i
		}
	}
	switch {
	case f.wait == "await_all":
		head = "all"
	case f.wait == "try_all" && first < 0:
		head = "values"
	case f.wait == "try_all":
		head, until = fmt.Sprintf("failed %d", first+1), f.sleep[first]
	default:
		soonest := slices.Min(f.sleep)
		if f.timeout >= 0 && f.timeout <= soonest {
			head, until = "timeout", f.timeout-1
		} else {
			head, until = fmt.Sprint(slices.Index(f.sleep, soonest)+1), soonest
		}
	}
	for i, d := range f.sleep {
		switch {
		case d > until && first >= 0 && f.wait == "try_all":
			head += " sibling failed"
		case d > until:
			head += " pending"
		case f.fails[i]:
			head += fmt.Sprintf(" failed %d", i+1)
		default:
			head += " ok"
		}
	}
	return head
}

const familyPlugin = `
clm.tool_register("family", { invoke = function(args, ctx)
	local tasks, out = {}, {}
	for i, ms in ipairs(args.sleep) do
		tasks[i] = clm.spawn(function()
			clm.sleep(ms)
			if args.fails[i] then error("failed " .. i, 0) end
			return i
		end)
	end
	if args.wait == "wait_any" then
		local i, err = clm.wait_any(tasks, args.timeout >= 0 and args.timeout or nil)
		out[1] = i and tostring(i) or err
	elseif args.wait == "try_all" then
		local values, err = clm.try_all(tasks)
		out[1] = err or "values"
		if values then for i = 1, #tasks do assert(values[i] == i) end end
	else
		assert(#clm.await_all(tasks) == #tasks)
		out[1] = "all"
	end
	for i, t in ipairs(tasks) do
		local o = t:result()
		out[i + 1] = not o and "pending" or o.ok and "ok" or o.error
		if not o then t:cancel() end
	end
	ctx:complete(table.concat(out, " "))
end })`

// Waits over random families of tasks give what the rules say.
func TestFamilies(t *testing.T) {
	v := load(t, luavm.Options{}, familyPlugin)
	seed := rand.Uint64()
	r := rand.New(rand.NewPCG(seed, 1))
	for n := range 500 {
		f := randomFamily(r)
		got := new(luavmtest.Simulation).Run(bg, v.Call("family", f.args()))
		if got.Failed || got.Text != f.want() {
			t.Fatalf("seed %d, family %d, %s:\n got %q\nwant %q", seed, n, f.args(), got.Text, f.want())
		}
	}
}
