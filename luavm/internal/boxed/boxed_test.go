package boxed

import (
	"context"
	"math"
	"math/big"
	"math/rand/v2"
	"slices"
	"testing"

	lua "github.com/yuin/gopher-lua"

	"clm/luavm/internal/layout"
	"clm/luavm/internal/number"
)

// hooked is a context that tells a hook of each instruction.
type hooked struct {
	context.Context
	hook *Hook
	L    *lua.LState
}

func (c hooked) Done() <-chan struct{} {
	c.hook.Before(c.L)
	return nil
}

// machine is a thread with a hook.
func machine(t *testing.T) (*lua.LState, *Hook) {
	main := lua.NewState()
	t.Cleanup(main.Close)
	L, _ := main.NewThread()
	h := &Hook{}
	L.SetContext(hooked{t.Context(), h, L})
	return L, h
}

// loopValues runs a numeric for in a function of its three values and gives what it visits, at most 6 values.
const loopValues = `local first, limit, step, keep = ...
	local n = 0
	for i = first, limit, step do n = n + 1 if n > 6 then break end keep(i) end`

func TestLoops(t *testing.T) {
	L, h := machine(t)
	fn, err := L.LoadString(loopValues)
	if err != nil {
		t.Fatal(err)
	}
	r := rand.New(rand.NewPCG(1, 2))
	interesting := []int64{0, 1, -1, 3, number.MaxExact, -number.MaxExact, math.MaxInt64, math.MinInt64, math.MaxInt64 / 3, 1 << 60}
	value := func() int64 { return interesting[r.IntN(len(interesting))] + r.Int64N(9) - 4 }
	for range 50_000 {
		first, limit, step := value(), value(), value()
		if r.IntN(2) == 0 {
			step = r.Int64N(7) - 3
		}
		if r.IntN(2) == 0 {
			limit = first + r.Int64N(30) - 15
		}
		if step == 0 {
			step = 1
		}
		var got []int64
		keep := L.NewFunction(func(L *lua.LState) int {
			i, ok := integer(L.Get(1))
			if !ok {
				t.Fatalf("a loop's value is %v", L.Get(1))
			}
			got = append(got, i)
			return 0
		})
		L.Push(fn)
		for _, v := range []int64{first, limit, step} {
			L.Push(number.FromInt(v))
		}
		L.Push(keep)
		L.Call(4, 0)
		if want := visited(first, limit, step); !slices.Equal(got, want) {
			t.Fatalf("for i = %d, %d, %d visits %d, want %d", first, limit, step, got, want)
		}
		h.Reset()
	}
}

// visited is the first values of a loop, by arithmetic without bounds.
func visited(first, limit, step int64) (list []int64) {
	x, y, z := big.NewInt(first), big.NewInt(limit), big.NewInt(step)
	for len(list) < 6 && x.Cmp(y)*z.Sign() <= 0 {
		list = append(list, x.Int64())
		x.Add(x, z)
	}
	return list
}

func TestCompare(t *testing.T) {
	L, h := machine(t)
	fn, err := L.LoadString(`local x, y = ... local keep = function() return x, y end
		local r = {x < y, x <= y, x == y, x > y, x >= y, x ~= y} local a, b = keep() return r, a, b`)
	if err != nil {
		t.Fatal(err)
	}
	ints := []int64{number.MaxExact + 1, -number.MaxExact - 1, math.MaxInt64, math.MinInt64, 1 << 60, 1<<60 + 1, -1 << 60}
	floats := []float64{0, -1, 0.5, 1 << 53, 1<<53 + 2, -1 << 53, 1 << 60, -1 << 60, 1 << 63, -1 << 63, 1e300, math.Inf(1), math.Inf(-1), math.NaN()}
	for _, i := range ints {
		for _, f := range floats {
			for _, swap := range []bool{false, true} {
				x, y := lua.LValue(number.Int(i)), lua.LValue(lua.LNumber(f))
				if swap {
					x, y = y, x
				}
				L.Push(fn)
				L.Push(x)
				L.Push(y)
				L.Call(2, 3)
				got := layout.Array(L.Get(-3).(*lua.LTable))
				if f == f && (L.Get(-2) != x || L.Get(-1) != y) {
					t.Errorf("after comparing %v with %v they are %v and %v", x, y, L.Get(-2), L.Get(-1))
				}
				order, ok := number.Compare(x, y)
				for n, want := range []bool{order < 0, order <= 0, order == 0, order > 0, order >= 0, order != 0} {
					if want = want && ok || n == 5 && !ok; got[n] != lua.LBool(want) {
						t.Errorf("comparison %d of %v with %v is %v", n, x, y, got[n])
					}
				}
				L.SetTop(0)
			}
		}
	}
	if h.Owes() {
		t.Error("the hook owes a value at the end")
	}
}

// TestLeftLoops: loops that were left are forgotten when others begin.
func TestLeftLoops(t *testing.T) {
	L, h := machine(t)
	L.SetGlobal("first", number.FromInt(1<<60))
	L.SetGlobal("last", number.FromInt(1<<60+5))
	err := L.DoString(`local function leave(n) for i = first, last do if n > 0 then leave(n - 1) end return end end
		for n = 1, 100 do for i = first, last do for j = first, last do break end break end leave(20) end`)
	if err != nil {
		t.Fatal(err)
	}
	if h.Loops() > 25 {
		t.Errorf("%d loops are kept", h.Loops())
	}
	if h.Reset(); h.Loops() != 0 || h.Bytes() > 2*maxKept*LoopBytes {
		t.Errorf("after Reset, %d loops and %d bytes are kept", h.Loops(), h.Bytes())
	}
}
