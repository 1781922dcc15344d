package glob

import (
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"
)

// maxPattern bounds a pattern, in bytes.
const maxPattern = 4096

// ErrPattern is wrapped by the errors of [Compile] and [CompilePath].
var ErrPattern = errors.New("bad pattern")

// Pattern is a compiled pattern. It is immutable; the zero Pattern matches the
// empty text alone.
type Pattern struct {
	tokens []token
	text   string
	prefix string
}

type kind uint8

const (
	kindRune  kind = iota // the rune lo
	kindOne               // one character
	kindClass             // one character of ranges
	kindStar              // any run
	kindFork              // "**/": the two tokens that follow may be left out
)

type token struct {
	kind   kind
	slash  bool // may match '/'
	negate bool
	lo     rune
	ranges []rune // pairs
}

// Compile compiles a pattern whose * and ? match every character.
func Compile(pattern string) (Pattern, error) { return compile(pattern, false) }

// CompilePath compiles a pattern for slash-separated paths: *, ? and classes
// stop at a slash, ** crosses slashes, and "**/" matches no folder too.
func CompilePath(pattern string) (Pattern, error) { return compile(pattern, true) }

// String is the pattern's source.
func (p Pattern) String() string { return p.text }

// Prefix is the text that everything matched begins with.
func (p Pattern) Prefix() string { return p.prefix }

// Quote returns a pattern that matches s alone.
func Quote(s string) string {
	return strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`).Replace(s)
}

// Split cuts a path pattern before the first part that holds a wildcard: head
// is a path, no longer quoted, and rest a pattern, empty when nothing in it is a
// wildcard.
func Split(pattern string) (head, rest string) {
	var b strings.Builder
	end, size := 0, 0 // of the last whole part: in the pattern, and in b
	for i := 0; i < len(pattern); i++ {
		switch pattern[i] {
		case '*', '?', '[':
			return b.String()[:size], pattern[end:]
		case '\\':
			if i+1 < len(pattern) {
				i++
			}
		}
		b.WriteByte(pattern[i])
		if pattern[i] == '/' {
			end, size = i+1, b.Len()
		}
	}
	return b.String(), ""
}

func compile(pattern string, path bool) (Pattern, error) {
	if len(pattern) > maxPattern {
		return Pattern{}, fmt.Errorf("%w: longer than %d bytes", ErrPattern, maxPattern)
	}
	p := Pattern{text: pattern}
	literal := true
	for rest := pattern; rest != ""; {
		var toks []token
		var err error
		toks, rest, err = next(rest, path)
		if err != nil {
			return Pattern{}, fmt.Errorf("%w %q: %s", ErrPattern, pattern, err)
		}
		if literal = literal && toks[0].kind == kindRune; literal {
			p.prefix += string(toks[0].lo)
		}
		p.tokens = append(p.tokens, toks...)
	}
	return p, nil
}

// next compiles the first element of a pattern and returns what follows it.
func next(s string, path bool) ([]token, string, error) {
	switch s[0] {
	case '*':
		rest := strings.TrimLeft(s, "*")
		double := len(s)-len(rest) > 1
		star := token{kind: kindStar, slash: !path || double}
		if path && double && strings.HasPrefix(rest, "/") {
			return []token{{kind: kindFork}, star, {kind: kindRune, lo: '/'}}, rest[1:], nil
		}
		return []token{star}, rest, nil
	case '?':
		return []token{{kind: kindOne, slash: !path}}, s[1:], nil
	case '[':
		t, rest, err := class(s[1:], path)
		return []token{t}, rest, err
	case '\\':
		if len(s) == 1 {
			return nil, "", errors.New(`\ at the end`)
		}
		s = s[1:]
	}
	r, n := utf8.DecodeRuneInString(s)
	return []token{{kind: kindRune, lo: r}}, s[n:], nil
}

func class(s string, path bool) (token, string, error) {
	t := token{kind: kindClass, slash: !path}
	if s != "" && (s[0] == '!' || s[0] == '^') {
		t.negate, s = true, s[1:]
	}
	one := func() (rune, bool) {
		s = strings.TrimPrefix(s, `\`)
		r, n := utf8.DecodeRuneInString(s)
		s = s[n:]
		return r, n > 0
	}
	for first := true; first || !strings.HasPrefix(s, "]"); first = false {
		lo, ok := one()
		if !ok {
			return t, "", errors.New("[ without ]")
		}
		hi := lo
		if strings.HasPrefix(s, "-") && !strings.HasPrefix(s, "-]") {
			s = s[1:]
			if hi, ok = one(); !ok || hi < lo {
				return t, "", errors.New("bad range in []")
			}
		}
		t.ranges = append(t.ranges, lo, hi)
	}
	return t, s[1:], nil
}

// Match tells whether the whole of s matches.
func (p Pattern) Match(s string) bool {
	rest, ok := strings.CutPrefix(s, p.prefix)
	if !ok {
		return false
	}
	tokens := p.tokens[utf8.RuneCountInString(p.prefix):]
	cur, nxt := make([]bool, len(tokens)+1), make([]bool, len(tokens)+1)
	enter(tokens, cur, 0)
	for _, r := range rest {
		clear(nxt)
		alive := false
		for i, t := range tokens {
			if !cur[i] || !t.takes(r) {
				continue
			}
			alive = true
			if t.kind == kindStar {
				enter(tokens, nxt, i)
			} else {
				enter(tokens, nxt, i+1)
			}
		}
		if !alive {
			return false
		}
		cur, nxt = nxt, cur
	}
	return cur[len(tokens)]
}

// enter marks state i and those that are reached from it without a character.
func enter(tokens []token, states []bool, i int) {
	for !states[i] {
		states[i] = true
		if i == len(tokens) {
			return
		}
		switch tokens[i].kind {
		case kindFork:
			enter(tokens, states, i+3)
		case kindStar:
		default:
			return
		}
		i++
	}
}

func (t token) takes(r rune) bool {
	switch t.kind {
	case kindRune:
		return r == t.lo
	case kindOne, kindStar:
		return t.slash || r != '/'
	case kindClass:
		if !t.slash && r == '/' {
			return false
		}
		for i := 0; i < len(t.ranges); i += 2 {
			if t.ranges[i] <= r && r <= t.ranges[i+1] {
				return !t.negate
			}
		}
		return t.negate
	}
	return false
}
