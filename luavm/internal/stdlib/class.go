package stdlib

// Character classes of patterns, in the C locale.

const (
	classAlpha = 1 << iota
	classCntrl
	classDigit
	classLower
	classPunct
	classSpace
	classUpper
	classHex
)

var classes = func() (t [256]uint8) {
	for c := range 128 {
		switch b := byte(c); {
		case b >= 'a' && b <= 'z':
			t[c] = classAlpha | classLower
		case b >= 'A' && b <= 'Z':
			t[c] = classAlpha | classUpper
		case isDigit(b):
			t[c] = classDigit | classHex
		case b == ' ':
			t[c] = classSpace
		case b < ' ' || b == 127:
			t[c] = classCntrl
		default:
			t[c] = classPunct
		}
		if b := byte(c) | 32; b >= 'a' && b <= 'f' && isAlpha(byte(c)) {
			t[c] |= classHex
		}
		if c >= '\t' && c <= '\r' {
			t[c] |= classSpace
		}
	}
	return t
}()

// classMask returns what the class letter (in lower case) stands for; 0 if it is
// no class.
func classMask(letter byte) uint8 {
	switch letter {
	case 'a':
		return classAlpha
	case 'c':
		return classCntrl
	case 'd':
		return classDigit
	case 'g':
		return classAlpha | classDigit | classPunct
	case 'l':
		return classLower
	case 'p':
		return classPunct
	case 's':
		return classSpace
	case 'u':
		return classUpper
	case 'w':
		return classAlpha | classDigit
	case 'x':
		return classHex
	}
	return 0
}

// inClass tells whether c belongs to %letter.
func inClass(c, letter byte) bool {
	if !isAlpha(letter) {
		return c == letter
	}
	mask := classMask(letter | 32)
	if mask == 0 {
		if letter|32 == 'z' { // not in the manual any more
			return (c == 0) == (letter == 'z')
		}
		return c == letter
	}
	return (classes[c]&mask != 0) == (letter&32 != 0)
}

// classEnd returns the end of the single class that starts at p.
func (m *matcher) classEnd(p int) int {
	c := m.pat[p]
	p++
	switch c {
	case '%':
		if p >= len(m.pat) {
			m.a.errorf("malformed pattern (ends with '%%')")
		}
		return p + 1
	case '[':
		return m.setEnd(p)
	}
	return p
}

// setEnd returns the end of the set whose '[' is before p. The first character
// of a set is never its end.
func (m *matcher) setEnd(p int) int {
	start := p
	if p < len(m.pat) && m.pat[p] == '^' {
		p++
	}
	for first := true; first || p >= len(m.pat) || m.pat[p] != ']'; first = false {
		if p >= len(m.pat) {
			m.a.errorf("malformed pattern (missing ']')")
		}
		if m.pat[p] == '%' {
			p++ // what is escaped is no end
		}
		p++
	}
	m.tick((p - start) / 4)
	return p + 1
}

// single tells whether the character at s matches the single class from p to ep.
func (m *matcher) single(s, p, ep int) bool {
	if s >= len(m.src) {
		return false
	}
	c := m.src[s]
	switch m.pat[p] {
	case '.':
		return true
	case '%':
		return inClass(c, m.pat[p+1])
	case '[':
		return m.inSet(c, p, ep-1)
	}
	return m.pat[p] == c
}

// inSet tells whether c belongs to the set from p ('[') to last (']').
func (m *matcher) inSet(c byte, p, last int) bool {
	m.tick((last-p)/4 + 1)
	in := true
	p++
	if m.pat[p] == '^' {
		in = false
		p++
	}
	for ; p < last; p++ {
		switch {
		case m.pat[p] == '%':
			p++
			if inClass(c, m.pat[p]) {
				return in
			}
		case m.pat[p+1] == '-' && p+2 < last:
			if m.pat[p] <= c && c <= m.pat[p+2] {
				return in
			}
			p += 2
		case m.pat[p] == c:
			return in
		}
	}
	return !in
}
