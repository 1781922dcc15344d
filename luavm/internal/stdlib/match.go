package stdlib

import (
	"strings"

	lua "github.com/yuin/gopher-lua"
)

// A matcher interprets a Lua pattern by backtracking, as Lua's own does, so that
// results and errors are equal. It recurses where Lua's does, to at most
// maxMatchDepth; repeats of a single character are loops. All work is counted
// and burned.
type matcher struct {
	a        args
	src, pat string
	depth    int   // levels of recursion left
	steps    int64 // work not yet burned
	level    int   // captures so far, open ones included
	caps     [maxCaptures]capture
}

type capture struct{ start, len int }

const (
	maxCaptures   = 32
	maxMatchDepth = 200
	capOpen       = -1 // len of a capture that has no end yet
	capPosition   = -2 // len of a position capture
	burnSteps     = 4096
)

// tick counts n steps, each about half a VM instruction.
func (m *matcher) tick(n int) {
	m.steps += int64(n)
	if m.steps > burnSteps {
		steps := m.steps
		m.steps = 0
		m.a.m().Burn(m.a.L, steps/2)
	}
}

// done burns what is left; short matches would be free otherwise.
func (m *matcher) done() {
	if m.steps > 64 {
		m.a.m().Burn(m.a.L, m.steps/2)
		m.steps = 0
	}
}

// at tries the whole pattern from p on at position s, as a fresh match. It
// returns the end of the match or -1.
func (m *matcher) at(s, p int) int {
	m.level, m.depth = 0, maxMatchDepth
	return m.match(s, p)
}

// search finds the first match at or after s, for a pattern whose anchor the
// caller has left out if there is one.
func (m *matcher) search(s, p int, anchored bool) (start, end int) {
	first, literal := m.literalStart(p)
	for {
		if literal && !anchored {
			i := strings.IndexByte(m.src[s:], first)
			if i < 0 {
				m.tick((len(m.src) - s) / 32)
				return -1, -1
			}
			m.tick(i / 32)
			s += i
		}
		if e := m.at(s, p); e >= 0 {
			return s, e
		}
		s++
		if anchored || s > len(m.src) {
			return -1, -1
		}
	}
}

// literalStart returns the byte that every match must start with, if the pattern
// shows one at first sight.
func (m *matcher) literalStart(p int) (byte, bool) {
	if p >= len(m.pat) || strings.IndexByte("()%.[$", m.pat[p]) >= 0 {
		return 0, false
	}
	if p+1 < len(m.pat) && strings.IndexByte("*?-", m.pat[p+1]) >= 0 {
		return 0, false
	}
	return m.pat[p], true
}

func (m *matcher) match(s, p int) int {
	if m.depth == 0 {
		m.a.errorf("pattern too complex")
	}
	m.depth--
	e := m.run(s, p)
	m.depth++
	return e
}

func (m *matcher) run(s, p int) int {
	for p < len(m.pat) {
		m.tick(1)
		switch m.pat[p] {
		case '(':
			if p+1 < len(m.pat) && m.pat[p+1] == ')' {
				return m.openCapture(s, p+2, capPosition)
			}
			return m.openCapture(s, p+1, capOpen)
		case ')':
			return m.closeCapture(s, p+1)
		case '$':
			if p+1 == len(m.pat) {
				if s == len(m.src) {
					return s
				}
				return -1
			}
		case '%':
			if next, nextP, ok := m.escape(s, p); ok {
				if next < 0 {
					return -1
				}
				s, p = next, nextP
				continue
			}
		}
		ep := m.classEnd(p)
		if ep < len(m.pat) {
			switch m.pat[ep] {
			case '?':
				if m.single(s, p, ep) {
					if e := m.match(s+1, ep+1); e >= 0 {
						return e
					}
				}
				p = ep + 1
				continue
			case '*':
				return m.maxExpand(s, p, ep, 0)
			case '+':
				return m.maxExpand(s, p, ep, 1)
			case '-':
				return m.minExpand(s, p, ep)
			}
		}
		if !m.single(s, p, ep) {
			return -1
		}
		s++
		p = ep
	}
	return s
}

// escape handles what begins with '%' and is not a class: %b, %f and back
// references. ok is false for a class.
func (m *matcher) escape(s, p int) (next, nextP int, ok bool) {
	if p+1 >= len(m.pat) {
		return 0, 0, false
	}
	switch c := m.pat[p+1]; {
	case c == 'b':
		return m.balance(s, p+2), p + 4, true
	case c == 'f':
		return m.frontier(s, p+2)
	case isDigit(c):
		return m.backReference(s, c), p + 2, true
	}
	return 0, 0, false
}

func (m *matcher) frontier(s, p int) (next, nextP int, ok bool) {
	if p >= len(m.pat) || m.pat[p] != '[' {
		m.a.errorf("missing '[' after '%%f' in pattern")
	}
	ep := m.classEnd(p)
	var before, after byte
	if s > 0 {
		before = m.src[s-1]
	}
	if s < len(m.src) {
		after = m.src[s]
	}
	if !m.inSet(before, p, ep-1) && m.inSet(after, p, ep-1) {
		return s, ep, true
	}
	return -1, 0, true
}

func (m *matcher) backReference(s int, digit byte) int {
	l := int(digit) - '1'
	if l < 0 || l >= m.level || m.caps[l].len == capOpen {
		m.a.errorf("invalid capture index %%%d", l+1)
	}
	c := m.caps[l]
	if c.len == capPosition { // Lua compares with a length of SIZE_MAX there
		return -1
	}
	if c.len > len(m.src)-s || m.src[c.start:c.start+c.len] != m.src[s:s+c.len] {
		m.tick(min(c.len, len(m.src)-s) / 16)
		return -1
	}
	m.tick(c.len / 16)
	return s + c.len
}

func (m *matcher) balance(s, p int) int {
	if p+1 >= len(m.pat) {
		m.a.errorf("malformed pattern (missing arguments to '%%b')")
	}
	if s >= len(m.src) || m.src[s] != m.pat[p] {
		return -1
	}
	open, shut := m.pat[p], m.pat[p+1]
	depth := 1
	for i := s + 1; i < len(m.src); i++ {
		switch m.src[i] {
		case shut:
			depth--
			if depth == 0 {
				m.tick((i - s) / 4)
				return i + 1
			}
		case open:
			depth++
		}
	}
	m.tick((len(m.src) - s) / 4)
	return -1
}

func (m *matcher) maxExpand(s, p, ep, least int) int {
	i := m.span(s, p, ep)
	for ; i >= least; i-- {
		if e := m.match(s+i, ep+1); e >= 0 {
			return e
		}
	}
	return -1
}

// span counts how many characters from s on match the single class at p.
func (m *matcher) span(s, p, ep int) int {
	rest, i := m.src[s:], 0
	switch c := m.pat[p]; {
	case c == '.':
		return len(rest)
	case c == '[':
		for i < len(rest) && m.inSet(rest[i], p, ep-1) {
			i++
		}
	case c == '%' && classMask(m.pat[p+1]|32) != 0:
		mask, want := classMask(m.pat[p+1]|32), m.pat[p+1]&32 != 0
		for i < len(rest) && (classes[rest[i]]&mask != 0) == want {
			i++
		}
	default:
		for m.single(s+i, p, ep) {
			i++
		}
	}
	m.tick(i / 4)
	return i
}

func (m *matcher) minExpand(s, p, ep int) int {
	for {
		if e := m.match(s, ep+1); e >= 0 {
			return e
		}
		if !m.single(s, p, ep) {
			return -1
		}
		s++
	}
}

func (m *matcher) openCapture(s, p, what int) int {
	if m.level >= maxCaptures {
		m.a.errorf("too many captures")
	}
	m.caps[m.level] = capture{s, what}
	m.level++
	e := m.match(s, p)
	if e < 0 {
		m.level--
	}
	return e
}

func (m *matcher) closeCapture(s, p int) int {
	l := m.level - 1
	for l >= 0 && m.caps[l].len != capOpen {
		l--
	}
	if l < 0 {
		m.a.errorf("invalid pattern capture")
	}
	m.caps[l].len = s - m.caps[l].start
	e := m.match(s, p)
	if e < 0 {
		m.caps[l].len = capOpen
	}
	return e
}

// capture returns capture i of a match from s to e; 0 is the whole match when
// the pattern has no captures.
func (m *matcher) capture(i, s, e int) lua.LValue {
	if i >= m.level {
		if i != 0 {
			m.a.errorf("invalid capture index %%%d", i+1)
		}
		return m.a.newString(m.src[s:e])
	}
	c := m.caps[i]
	switch c.len {
	case capOpen:
		m.a.errorf("unfinished capture")
	case capPosition:
		return lua.LNumber(c.start + 1)
	}
	return m.a.newString(m.src[c.start : c.start+c.len])
}

// pushCaptures pushes all captures, or the whole match if there are none and
// whole is true.
func (m *matcher) pushCaptures(s, e int, whole bool) int {
	n := m.level
	if n == 0 && whole {
		n = 1
	}
	for i := range n {
		m.a.L.Push(m.capture(i, s, e))
	}
	return n
}
