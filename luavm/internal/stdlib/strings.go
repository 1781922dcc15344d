package stdlib

import (
	"math"
	"strings"

	lua "github.com/yuin/gopher-lua"

	"clm/luavm/internal/layout"
)

func stringTable() *lua.LTable {
	return library("string.", []entry{
		{"byte", stringByte},
		{"char", stringChar},
		{"find", stringFind},
		{"format", stringFormat},
		{"gmatch", stringGmatch},
		{"gsub", stringGsub},
		{"len", stringLen},
		{"lower", stringLower},
		{"match", stringMatch},
		{"pack", stringPack},
		{"packsize", stringPackSize},
		{"rep", stringRep},
		{"reverse", stringReverse},
		{"sub", stringSub},
		{"unpack", stringUnpack},
		{"upper", stringUpper},
	})
}

func stringByte(L *lua.LState) int {
	a := argsOf(L)
	s := a.str(1)
	i := a.optInt(2, 1)
	from, to := slice(i, a.optInt(3, i), len(s))
	if to-from == 1 {
		return a.push(lua.LNumber(s[from]))
	}
	if from >= to {
		return 0
	}
	at := a.results(int64(to - from))
	if at < 0 {
		a.errorf("string slice too long")
	}
	for k := from; k < to; k++ {
		a.L.Replace(at+k-from, lua.LNumber(s[k]))
	}
	return to - from
}

func stringChar(L *lua.LState) int {
	a := argsOf(L)
	b := a.bytes(a.top())
	for i := range b {
		c := a.int(i + 1)
		if c < 0 || c > 255 {
			a.argError(i+1, "value out of range")
		}
		b[i] = byte(c)
	}
	return a.push(layout.StringOf(b))
}

func stringLen(L *lua.LState) int {
	a := argsOf(L)
	return a.push(lua.LNumber(len(a.str(1))))
}

// The bytes that string.lower and string.upper put in place of others.
var toLower, toUpper = func() (lower, upper [256]byte) {
	for i := range lower {
		c := byte(i)
		lower[i], upper[i] = c, c
		if isAlpha(c) {
			lower[i], upper[i] = c|32, c&^32
		}
	}
	return lower, upper
}()

func stringLower(L *lua.LState) int { return argsOf(L).translate(&toLower) }

func stringUpper(L *lua.LState) int { return argsOf(L).translate(&toUpper) }

func (a args) translate(table *[256]byte) int {
	s := a.str(1)
	b := a.bytes(len(s))
	for i := range b {
		b[i] = table[s[i]]
	}
	return a.push(layout.StringOf(b))
}

func stringReverse(L *lua.LState) int {
	a := argsOf(L)
	s := a.str(1)
	b := a.bytes(len(s))
	for i := range b {
		b[i] = s[len(s)-1-i]
	}
	return a.push(layout.StringOf(b))
}

// bytes makes room for a string of n bytes that are written one by one.
func (a args) bytes(n int) []byte {
	a.m().Charge(a.L, int64(n)+stringCost)
	a.burn(int64(n) >> 4)
	return make([]byte, n)
}

func stringRep(L *lua.LState) int {
	a := argsOf(L)
	s, n, sep := a.str(1), a.int(2), a.optStr(3, "")
	if n <= 0 || len(s)+len(sep) == 0 {
		return a.push(emptyString)
	}
	each := int64(len(s) + len(sep))
	if n > math.MaxInt32 || each > math.MaxInt32 || each*n > math.MaxInt32 {
		a.errorf("resulting string too large")
	}
	total := each*n - int64(len(sep))
	a.m().Charge(a.L, total+stringCost)
	a.burn(total >> 6)
	if sep == "" {
		return a.push(lua.LString(strings.Repeat(s, int(n))))
	}
	var b strings.Builder
	b.Grow(int(total))
	b.WriteString(s)
	for range n - 1 {
		b.WriteString(sep)
		b.WriteString(s)
	}
	return a.push(lua.LString(b.String()))
}

func stringSub(L *lua.LState) int {
	a := argsOf(L)
	s := a.str(1)
	from, to := slice(a.int(2), a.optInt(3, -1), len(s))
	if from == 0 && to == len(s) {
		if v, ok := a.get(1).(lua.LString); ok {
			return a.push(v)
		}
	}
	return a.push(a.newString(s[from:to]))
}

func stringFind(L *lua.LState) int {
	a := argsOf(L)
	return findOrMatch(a, true)
}

func stringMatch(L *lua.LState) int {
	a := argsOf(L)
	return findOrMatch(a, false)
}

// findStart converts the init argument of find, match and gmatch to an offset,
// which may lie one past the end's successor.
func findStart(i int64, n int) int64 {
	return max(relative(i, n), 1) - 1
}

func findOrMatch(a args, find bool) int {
	s, p := a.str(1), a.str(2)
	init := findStart(a.optInt(3, 1), len(s))
	if init > int64(len(s)) {
		return a.push(lua.LNil)
	}
	from := int(init)
	if find && (lua.LVAsBool(a.get(4)) || !strings.ContainsAny(p, "^$*+?.([%-")) {
		return findPlain(a, s, p, from)
	}
	m := matcher{a: a, src: s, pat: p}
	anchored, start := false, 0
	if p != "" && p[0] == '^' {
		anchored, start = true, 1
	}
	b, e := m.search(from, start, anchored)
	m.done()
	switch {
	case b < 0:
		return a.push(lua.LNil)
	case !find:
		return m.pushCaptures(b, e, true)
	}
	a.L.Push(lua.LNumber(b + 1))
	a.L.Push(lua.LNumber(e))
	return 2 + m.pushCaptures(b, e, false)
}

func findPlain(a args, s, p string, from int) int {
	a.burn(int64(len(s)-from+len(p)) >> 5)
	i := strings.Index(s[from:], p)
	if i < 0 {
		return a.push(lua.LNil)
	}
	a.L.Push(lua.LNumber(from + i + 1))
	a.L.Push(lua.LNumber(from + i + len(p)))
	return 2
}

func stringGmatch(L *lua.LState) int {
	a := argsOf(L)
	s, p := a.str(1), a.str(2)
	init := findStart(a.optInt(3, 1), len(s))
	a.m().Charge(a.L, 400)
	at, last := int(min(init, int64(len(s)+1))), -1
	step := func(L *lua.LState) int {
		m := matcher{a: args{L: L}, src: s, pat: p}
		for at <= len(s) {
			b, e := m.search(at, 0, false)
			m.done()
			if b < 0 {
				break
			}
			if e != last {
				at, last = e, e
				return m.pushCaptures(b, e, true)
			}
			at = b + 1
		}
		at = len(s) + 1
		return 0
	}
	// The strings are upvalues too, so that a walk over the heap finds them.
	return a.push(a.L.NewClosure(step, lua.LString(s), lua.LString(p)))
}

func stringGsub(L *lua.LState) int {
	a := argsOf(L)
	s, p, repl := a.str(1), a.str(2), a.get(3)
	switch repl.(type) {
	case lua.LString, *lua.LTable, *lua.LFunction:
	default:
		if !isNumber(repl) {
			a.typeError(3, "string/function/table")
		}
		repl = lua.LString(a.str(3))
	}
	most := a.optInt(4, int64(len(s))+1)
	anchored, start := false, 0
	if p != "" && p[0] == '^' {
		anchored, start = true, 1
	}
	g := gsub{matcher: matcher{a: a, src: s, pat: p}, out: buffer{a: a}, repl: repl}
	n := g.run(start, anchored, most)
	g.done()
	result := a.get(1)
	if g.changed {
		g.out.add(s[g.copied:])
		result = g.out.value()
	} else if _, ok := result.(lua.LString); !ok {
		result = lua.LString(s)
	}
	a.L.Push(result)
	a.L.Push(lua.LNumber(n))
	return 2
}

// gsub is one call of string.gsub: out holds the result up to src[copied].
type gsub struct {
	matcher
	out     buffer
	copied  int
	changed bool
	repl    lua.LValue
}

// run replaces up to most matches and returns how many it found.
func (g *gsub) run(p int, anchored bool, most int64) (n int64) {
	at, last := 0, -1
	for n < most {
		b, e := g.search(at, p, anchored)
		if b < 0 {
			break
		}
		g.tick(4)
		if e == last { // an empty match right behind the last one
			at = b + 1
			if at > len(g.src) {
				break
			}
			continue
		}
		n++
		g.replace(b, e)
		at, last = e, e
		if anchored {
			break
		}
	}
	return n
}

func (g *gsub) replace(b, e int) {
	var v lua.LValue
	switch r := g.repl.(type) {
	case lua.LString:
		g.flush(b, e)
		g.expand(string(r), b, e)
		return
	case *lua.LTable:
		v = r.RawGet(g.capture(0, b, e))
		if isNil(v) && !isNil(r.Metatable) {
			v = g.a.L.GetTable(r, g.capture(0, b, e))
		}
	default:
		L := g.a.L
		L.Push(r)
		L.Call(g.pushCaptures(b, e, true), 1)
		v = L.Get(-1)
		L.Pop(1)
	}
	if !lua.LVAsBool(v) {
		return
	}
	g.flush(b, e)
	if !g.out.addValue(v) {
		g.a.errorf("invalid replacement value (a %s)", typeName(g.a.L, v))
	}
}

// flush copies what lies before a match that is to be replaced.
func (g *gsub) flush(b, e int) {
	g.changed = true
	g.out.add(g.src[g.copied:b])
	g.copied = e
}

// expand adds a replacement string with its %0 to %9.
func (g *gsub) expand(r string, b, e int) {
	for {
		i := strings.IndexByte(r, '%')
		if i < 0 {
			g.out.add(r)
			g.tick(len(r) / 32)
			return
		}
		g.out.add(r[:i])
		g.tick(1)
		if i+1 >= len(r) {
			g.a.errorf("invalid use of '%%' in replacement string")
		}
		switch c := r[i+1]; {
		case c == '%':
			g.out.addByte('%')
		case c == '0':
			g.out.add(g.src[b:e])
		case isDigit(c):
			g.addCapture(int(c-'1'), b, e)
		default:
			g.a.errorf("invalid use of '%%' in replacement string")
		}
		r = r[i+2:]
	}
}

// addCapture adds the text of a capture without making a string of it.
func (g *gsub) addCapture(i, b, e int) {
	if i < g.level && g.caps[i].len >= 0 {
		c := g.caps[i]
		g.out.add(g.src[c.start : c.start+c.len])
		return
	}
	g.out.addValue(g.capture(i, b, e))
}
