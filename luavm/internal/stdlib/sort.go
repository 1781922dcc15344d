package stdlib

import (
	"math"

	lua "github.com/yuin/gopher-lua"

	"clm/luavm/internal/layout"
)

// A sorter sorts a copy of a list by Lua's own quicksort, so that comparators
// are called in the same order and an inconsistent one ends the same way.
type sorter struct {
	a     args
	v     []lua.LValue
	fn    *lua.LFunction // nil: by <
	steps int            // comparisons not yet burned
}

// largeArray is the size from which on the pivot is not simply the middle.
const largeArray = 100

func tableSort(L *lua.LState) int {
	a := argsOf(L)
	t := a.list(1, "__index", "__newindex", "__len")
	n := lengthOf(a, t)
	if n < 2 {
		return 0
	}
	if n >= math.MaxInt32 {
		a.argError(1, "array too big")
	}
	s := sorter{a: a}
	if !a.none(2) {
		s.fn = a.function(2)
	}
	a.m().Charge(a.L, n*16)
	a.m().Pin(n * 16)
	s.v = make([]lua.LValue, n)
	s.load(t)
	s.sort(0, int(n)-1, 0)
	s.store(t)
	a.m().Pin(-n * 16)
	return 0
}

// load copies the list.
func (s *sorter) load(list lua.LValue) {
	if t, ok := list.(*lua.LTable); ok && isNil(t.Metatable) && len(layout.Array(t)) >= len(s.v) {
		copy(s.v, layout.Array(t))
		s.a.m().Burn(s.a.L, int64(len(s.v))>>3)
		return
	}
	for i := range s.v {
		s.a.m().Burn(s.a.L, 1)
		s.v[i] = index(s.a, list, int64(i)+1)
	}
}

// store writes the sorted values back.
func (s *sorter) store(list lua.LValue) {
	if t, ok := list.(*lua.LTable); ok && isNil(t.Metatable) && len(layout.Array(t)) >= len(s.v) {
		copy(layout.Array(t), s.v)
		return
	}
	for i, v := range s.v {
		s.a.m().Burn(s.a.L, 1)
		setIndex(s.a, list, int64(i)+1, v)
	}
}

func (s *sorter) less(x, y lua.LValue) bool {
	// A comparator may be a Go function, which has no instructions that burn.
	if s.steps++; s.steps == 256 {
		s.steps = 0
		s.a.m().Burn(s.a.L, 1024)
	}
	if s.fn == nil {
		if f, ok := x.(lua.LNumber); ok {
			if g, ok := y.(lua.LNumber); ok {
				return f < g
			}
		}
		return less(s.a, x, y)
	}
	L := s.a.L
	L.Push(s.fn)
	L.Push(x)
	L.Push(y)
	L.Call(2, 1)
	r := L.Get(-1)
	L.Pop(1)
	return lua.LVAsBool(r)
}

func (s *sorter) swap(i, j int) { s.v[i], s.v[j] = s.v[j], s.v[i] }

// sort sorts v[lo] to v[up]; seed moves the pivots of large parts.
func (s *sorter) sort(lo, up int, seed uint) {
	for lo < up {
		if s.less(s.v[up], s.v[lo]) {
			s.swap(lo, up)
		}
		if up-lo == 1 {
			return
		}
		p := pivot(lo, up, seed)
		if s.less(s.v[p], s.v[lo]) {
			s.swap(p, lo)
		} else if s.less(s.v[up], s.v[p]) {
			s.swap(p, up)
		}
		if up-lo == 2 {
			return
		}
		s.swap(p, up-1)
		p = s.partition(lo, up)
		n := 0
		if p-lo < up-p {
			s.sort(lo, p-1, seed)
			n = p - lo
			lo = p + 1
		} else {
			s.sort(p+1, up, seed)
			n = up - p
			up = p - 1
		}
		if (up-lo)/128 > n { // badly balanced: try other pivots
			seed = seed*2862933555777941757 + 3037000493
		}
	}
}

func pivot(lo, up int, seed uint) int {
	if up-lo <= largeArray {
		return (lo + up) / 2
	}
	quarter := uint(up-lo) / 4
	return int(seed%(quarter*2)+quarter) + lo
}

// partition splits v[lo] to v[up] around the pivot at up-1.
func (s *sorter) partition(lo, up int) int {
	p := s.v[up-1]
	i, j := lo, up-1
	for {
		for i++; s.less(s.v[i], p); i++ {
			if i == up-1 {
				s.a.errorf("invalid order function for sorting")
			}
		}
		for j--; s.less(p, s.v[j]); j-- {
			if j < i {
				s.a.errorf("invalid order function for sorting")
			}
		}
		if j < i {
			s.swap(up-1, i)
			return i
		}
		s.swap(i, j)
	}
}
