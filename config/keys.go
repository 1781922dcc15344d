package config

import (
	"strconv"
	"strings"
	"sync"
)

// keyLines finds where keys are written in a Lua file that returns a table.
// Lua values do not know their origin, so the source is scanned: table
// constructors, assignments to fields of a local, and the return statement.
// It is best effort by nature, never wrong about a key that is written out in
// the returned constructor, and falls back to the nearest place above it.
// Most files have nothing wrong with them, and none is scanned before a line is
// wanted.
type keyLines struct {
	source string
	scan   sync.Once
	root   *keyNode
	vars   map[string]*keyNode
}

type keyNode struct {
	line  int
	kids  map[string]*keyNode
	alias string // the local variable that the value is
}

func (n *keyNode) child(name string, line int) *keyNode {
	if c := n.kids[name]; c != nil {
		return c
	}
	if n.kids == nil {
		n.kids = map[string]*keyNode{}
	}
	c := &keyNode{line: line}
	n.kids[name] = c
	return c
}

// line returns the line of the key at a path, of the nearest place above it
// that is known, or 0.
func (k *keyLines) line(path []string) int {
	if k == nil {
		return 0
	}
	k.scan.Do(func() {
		s := &keyScanner{toks: lexKeys(k.source), out: k}
		s.chunk()
	})
	n := k.root
	if n == nil {
		return 0
	}
	line := n.line
	for _, p := range path {
		for hops := 0; n.alias != "" && hops < 8; hops++ {
			v := k.vars[n.alias]
			if v == nil {
				return line
			}
			n = v
		}
		c := n.kids[p]
		if c == nil {
			return line
		}
		n, line = c, c.line
	}
	return line
}

// keysOf is for any text.
func keysOf(source string) *keyLines {
	return &keyLines{source: source, vars: map[string]*keyNode{}}
}

type keyScanner struct {
	toks   []keyToken
	pos    int
	out    *keyLines
	blocks []bool // open blocks; true for a function's
}

func (s *keyScanner) peek(n int) keyToken {
	if s.pos+n < len(s.toks) {
		return s.toks[s.pos+n]
	}
	return keyToken{}
}

func (s *keyScanner) chunk() {
	for s.pos < len(s.toks) {
		t := s.toks[s.pos]
		switch {
		case t.kind == tokName && s.block(t.text):
			s.pos++
		case t.is("return") && !s.inFunction():
			s.pos++
			s.out.root = &keyNode{line: t.line}
			s.value(s.out.root, 0)
		case t.is("local") && s.peek(1).kind == tokName && s.peek(2).is("="):
			n := &keyNode{line: t.line}
			s.out.vars[s.peek(1).text] = n
			s.pos += 3
			s.value(n, 0)
		case t.kind == tokName && !s.assignment():
			s.pos++
		case t.kind != tokName:
			s.pos++
		}
	}
}

// block follows the block structure; it says whether word is part of it.
func (s *keyScanner) block(word string) bool {
	switch word {
	case "function":
		s.blocks = append(s.blocks, true)
	case "if", "do", "repeat":
		s.blocks = append(s.blocks, false)
	case "end", "until":
		if len(s.blocks) > 0 {
			s.blocks = s.blocks[:len(s.blocks)-1]
		}
	default:
		return false
	}
	return true
}

func (s *keyScanner) inFunction() bool {
	for _, f := range s.blocks {
		if f {
			return true
		}
	}
	return false
}

// assignment reads NAME.key["key"] = value, if that is what comes.
func (s *keyScanner) assignment() bool {
	name, at := s.toks[s.pos], 1
	var path []keyToken
	for {
		switch {
		case s.peek(at).is(".") && s.peek(at+1).kind == tokName:
			path = append(path, s.peek(at+1))
			at += 2
			continue
		case s.peek(at).is("[") && s.peek(at+1).kind == tokString && s.peek(at+2).is("]"):
			path = append(path, s.peek(at+1))
			at += 3
			continue
		}
		break
	}
	if len(path) == 0 || !s.peek(at).is("=") {
		return false
	}
	n := s.out.vars[name.text]
	if n == nil {
		n = &keyNode{line: name.line}
		s.out.vars[name.text] = n
	}
	for _, p := range path {
		n = n.child(p.text, p.line)
	}
	n.line = path[len(path)-1].line
	s.pos += at + 1
	s.value(n, 0)
	return true
}

const maxKeyDepth = 100

// value reads an expression that is the value of n, up to what ends it.
func (s *keyScanner) value(n *keyNode, depth int) {
	t := s.peek(0)
	if t.is("{") && depth < maxKeyDepth {
		s.table(n, depth)
		return
	}
	if t.kind == tokName {
		if e := s.peek(1); e.kind == tokEnd || e.is(",") || e.is(";") || e.is("}") || (depth == 0 && e.kind == tokName) {
			n.alias = t.text
			s.pos++
			return
		}
	}
	if depth > 0 {
		s.skip()
	}
}

func (s *keyScanner) table(n *keyNode, depth int) {
	s.pos++ // {
	index := 0
	for s.pos < len(s.toks) && !s.peek(0).is("}") {
		t := s.peek(0)
		switch {
		case t.is(",") || t.is(";"):
			s.pos++
		case t.kind == tokName && s.peek(1).is("="):
			s.pos += 2
			s.value(n.child(t.text, t.line), depth+1)
			s.skip()
		case t.is("[") && s.peek(1).kind == tokString && s.peek(2).is("]") && s.peek(3).is("="):
			key := s.peek(1)
			s.pos += 4
			s.value(n.child(key.text, key.line), depth+1)
			s.skip()
		default:
			index++
			s.value(n.child(strconv.Itoa(index), t.line), depth+1)
			s.skip()
		}
	}
	s.pos++ // }
}

// skip goes to the separator or bracket that ends a field.
func (s *keyScanner) skip() {
	open := 0
	for s.pos < len(s.toks) {
		t := s.toks[s.pos]
		switch {
		case t.is("{") || t.is("(") || t.is("[") || t.is("function") || t.is("if") || t.is("do"):
			open++
		case t.is("}") || t.is(")") || t.is("]") || t.is("end"):
			if open == 0 {
				if !t.is("}") {
					s.pos++ // unbalanced: not Lua; go on
					continue
				}
				return
			}
			open--
		case open == 0 && (t.is(",") || t.is(";")):
			return
		}
		s.pos++
	}
}

type tokKind int

const (
	tokEnd tokKind = iota
	tokName
	tokString
	tokOther
)

type keyToken struct {
	kind tokKind
	text string
	line int
}

func (t keyToken) is(text string) bool { return t.kind != tokString && t.text == text }

// lexKeys splits Lua source into names, strings and single other characters,
// without comments. Escapes in strings are left as they are: a key that needs
// one is not found by name, and falls back to the line above it.
func lexKeys(src string) (out []keyToken) {
	line := 1
	for i := 0; i < len(src); {
		c := src[i]
		start := line
		switch {
		case c == '\n':
			line++
			i++
		case c == ' ' || c == '\t' || c == '\r':
			i++
		case strings.HasPrefix(src[i:], "--"):
			body, n := longBracket(src[i+2:])
			if n == 0 {
				if n = strings.IndexByte(src[i:], '\n'); n < 0 {
					n = len(src) - i
				}
				i += n
				break
			}
			line += strings.Count(body, "\n")
			i += 2 + n
		case c == '"' || c == '\'':
			text, n := quoted(src[i:])
			line += strings.Count(src[i:i+n], "\n")
			i += n
			out = append(out, keyToken{tokString, text, start})
		case isWord(c):
			j := i
			for j < len(src) && isWord(src[j]) {
				j++
			}
			out = append(out, keyToken{tokName, src[i:j], start})
			i = j
		default:
			if body, n := longBracket(src[i:]); n > 0 {
				line += strings.Count(src[i:i+n], "\n")
				i += n
				out = append(out, keyToken{tokString, body, start})
				break
			}
			n := 1
			if i+1 < len(src) && src[i+1] == '=' && strings.IndexByte("=<>~", c) >= 0 {
				n = 2
			}
			out = append(out, keyToken{tokOther, src[i : i+n], start})
			i += n
		}
	}
	return out
}

func isWord(c byte) bool {
	return c == '_' || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= 128
}

// quoted reads a string literal; n is its length with the quotes.
func quoted(src string) (text string, n int) {
	for i := 1; i < len(src); i++ {
		switch src[i] {
		case '\\':
			i++
		case src[0]:
			return src[1:i], i + 1
		case '\n':
			return src[1:i], i
		}
	}
	return src[1:], len(src)
}

// longBracket reads [==[ … ]==]; n is its whole length, 0 if src begins with
// something else.
func longBracket(src string) (body string, n int) {
	if !strings.HasPrefix(src, "[") {
		return "", 0
	}
	level := len(src[1:]) - len(strings.TrimLeft(src[1:], "="))
	if !strings.HasPrefix(src[1+level:], "[") {
		return "", 0
	}
	rest := src[2+level:]
	if end := strings.Index(rest, "]"+strings.Repeat("=", level)+"]"); end >= 0 {
		return rest[:end], 2 + level + end + 2 + level
	}
	return rest, len(src)
}
