package stdlib

import (
	"math"

	lua "github.com/yuin/gopher-lua"

	"clm/luavm/internal/layout"
)

func tableTable() *lua.LTable {
	return library("table.", []entry{
		{"concat", tableConcat},
		{"insert", tableInsert},
		{"move", tableMove},
		{"pack", tablePack},
		{"remove", tableRemove},
		{"sort", tableSort},
		{"unpack", tableUnpack},
	})
}

// list returns argument n, which must be a table or something with the
// metamethods that stand in for one.
func (a args) list(n int, events ...string) lua.LValue {
	v := a.get(n)
	if _, ok := v.(*lua.LTable); ok {
		return v
	}
	for _, e := range events {
		if isNil(objectMeta(a.L, v, e)) {
			a.typeError(n, "table")
		}
	}
	return v
}

func tableConcat(L *lua.LState) int {
	a := argsOf(L)
	t := a.list(1, "__index", "__len")
	n := int64(0)
	if a.none(4) {
		n = lengthOf(a, t)
	}
	sep, i, last := a.optStr(2, ""), a.optInt(3, 1), a.optInt(4, n)
	out := buffer{a: a}
	out.reserve(t, sep, i, last)
	for ; i <= last; i++ {
		v := index(a, t, i)
		if !out.addValue(v) {
			a.errorf("invalid value (%s) at index %d in table for 'concat'", typeName(a.L, v), i)
		}
		if i == last { // also keeps i from overflowing
			break
		}
		out.add(sep)
		a.m().Burn(a.L, 2)
	}
	return a.push(out.value())
}

// reserve makes room for the strings t[i] to t[j] of a plain table, so that the
// buffer needs no growing and no copy at the end.
func (b *buffer) reserve(t lua.LValue, sep string, i, j int64) {
	table, ok := t.(*lua.LTable)
	if !ok || i < 1 || j < i || j > int64(len(layout.Array(table))) {
		return
	}
	total := int64(0)
	for _, v := range layout.Array(table)[i-1 : j] {
		total += int64(len(sep))
		switch x := v.(type) {
		case lua.LString:
			total += int64(len(x))
		case lua.LNumber:
			total += 8
		}
	}
	b.a.m().Burn(b.a.L, (j-i)/4)
	if total > 64 {
		b.grow(int(total))
	}
}

func tableInsert(L *lua.LState) int {
	a := argsOf(L)
	if plain, ok := a.get(1).(*lua.LTable); ok && isNil(plain.Metatable) {
		switch v := a.get(a.top()); {
		case isNil(v):
		case a.top() == 2:
			appendPlain(a, plain, v)
			return 0
		case a.top() == 3 && insertPlain(a, plain, a.int(2), v):
			return 0
		}
	}
	t := a.list(1, "__index", "__newindex", "__len")
	e := int64(uint64(lengthOf(a, t)) + 1) // wraps like Lua's
	switch a.top() {
	case 2:
		setIndex(a, t, e, a.get(2))
	case 3:
		pos := a.int(2)
		if uint64(pos)-1 >= uint64(e) {
			a.argError(2, "position out of bounds")
		}
		for i := e; i > pos; i-- {
			a.m().Burn(a.L, 4)
			setIndex(a, t, i, index(a, t, i-1))
		}
		setIndex(a, t, pos, a.get(3))
	default:
		a.errorf("wrong number of arguments to 'insert'")
	}
	return 0
}

// insertPlain inserts v, not nil, into a table without metatable, moving elements
// in one go; a wrong position it reports.
func insertPlain(a args, t *lua.LTable, pos int64, v lua.LValue) bool {
	n := length(a, t)
	if pos < 1 || pos > n+1 {
		return false
	}
	a.burn((n - pos) >> 3)
	appendPlain(a, t, v) // makes room
	array := layout.Array(t)
	copy(array[pos:n+1], array[pos-1:n])
	array[pos-1] = v
	return true
}

// appendPlain puts v behind the last element of a table without metatable.
func appendPlain(a args, t *lua.LTable, v lua.LValue) {
	array := layout.Array(t)
	n := len(array)
	if n > 0 && isNil(array[n-1]) {
		n = int(length(a, t))
		array[n] = v
		return
	}
	if n == cap(array) {
		a.m().Store(a.L, t, lua.LNumber(n+1))
	}
	t.RawSetInt(n+1, v)
}

func tableRemove(L *lua.LState) int {
	a := argsOf(L)
	if plain, ok := a.get(1).(*lua.LTable); ok && isNil(plain.Metatable) && a.top() == 1 {
		array := layout.Array(plain)
		if n := len(array); n > 0 && !isNil(array[n-1]) {
			v := array[n-1]
			array[n-1] = lua.LNil
			plain.Remove(n)
			return a.push(v)
		}
	}
	t := a.list(1, "__index", "__newindex", "__len")
	size := lengthOf(a, t)
	pos := a.optInt(2, size)
	if pos != size && uint64(pos)-1 > uint64(size) {
		a.argError(1, "position out of bounds") // Lua counts like this
	}
	v := index(a, t, pos)
	if plain, ok := t.(*lua.LTable); ok && isNil(plain.Metatable) && pos >= 1 && pos <= size {
		removePlain(a, plain, int(pos), int(size))
		return a.push(v)
	}
	for ; pos < size; pos++ {
		a.m().Burn(a.L, 4)
		setIndex(a, t, pos, index(a, t, pos+1))
	}
	setIndex(a, t, pos, lua.LNil)
	return a.push(v)
}

// removePlain moves the elements of a table without metatable in one go. It also
// shortens the array part, or # would have to look at ever more nils.
func removePlain(a args, t *lua.LTable, pos, size int) {
	a.burn(int64(size-pos) >> 3)
	array := layout.Array(t)
	copy(array[pos-1:size-1], array[pos:size])
	array[size-1] = lua.LNil
	for n := len(array); n >= size; n-- {
		t.Remove(n)
	}
}

func tableMove(L *lua.LState) int {
	a := argsOf(L)
	f, e, t := a.int(2), a.int(3), a.int(4)
	at := 1
	if !a.none(5) {
		at = 5
	}
	from := a.list(1, "__index")
	to := a.list(at, "__newindex")
	if e < f {
		return a.push(to)
	}
	if f <= 0 && e >= math.MaxInt64+f {
		a.argError(3, "too many elements to move")
	}
	n := e - f + 1
	if t > math.MaxInt64-n+1 {
		a.argError(4, "destination wrap around")
	}
	if t > e || t <= f || at == 5 && from != to {
		for i := range n {
			a.m().Burn(a.L, 4)
			setIndex(a, to, t+i, index(a, from, f+i))
		}
	} else {
		for i := n - 1; i >= 0; i-- {
			a.m().Burn(a.L, 4)
			setIndex(a, to, t+i, index(a, from, f+i))
		}
	}
	return a.push(to)
}

func tablePack(L *lua.LState) int {
	a := argsOf(L)
	n := a.top()
	a.burn(int64(n))
	a.m().Charge(a.L, int64(n)*16+600)
	t := newTable(n, 1)
	for i := 1; i <= n; i++ {
		t.RawSetInt(i, a.get(i))
	}
	t.RawSetString("n", lua.LNumber(n))
	return a.push(t)
}

func tableUnpack(L *lua.LState) int {
	a := argsOf(L)
	t, i := a.get(1), a.optInt(2, 1)
	var last int64
	if a.none(3) {
		last = lengthOf(a, t)
	} else {
		last = a.int(3)
	}
	if i > last {
		return 0
	}
	n := uint64(last) - uint64(i) // one less than the results
	if plain, ok := t.(*lua.LTable); ok && n < fewResults && i >= 1 && last <= int64(len(layout.Array(plain))) && isNil(plain.Metatable) {
		for _, v := range layout.Array(plain)[i-1 : last] {
			a.L.Push(v)
		}
		return int(n) + 1
	}
	first := -1
	if n < math.MaxInt32 {
		first = a.results(int64(n) + 1)
	}
	if first < 0 {
		a.errorf("too many results to unpack")
	}
	for k := range int64(n) + 1 {
		a.L.Replace(first+int(k), index(a, t, i+k))
	}
	return int(n) + 1
}
