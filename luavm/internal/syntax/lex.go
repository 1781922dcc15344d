package syntax

import (
	"strconv"
	"strings"
)

// A kind is a token's kind: a character, or one of the constants.
type kind int

const (
	tAnd kind = iota + 257
	tBreak
	tDo
	tElse
	tElseif
	tEnd
	tFalse
	tFor
	tFunction
	tGoto
	tIf
	tIn
	tLocal
	tNil
	tNot
	tOr
	tRepeat
	tReturn
	tThen
	tTrue
	tUntil
	tWhile
	tIDiv
	tConcat
	tDots
	tEq
	tGe
	tLe
	tNe
	tShl
	tShr
	tColons
	tEOF
	tNumber
	tName
	tString
)

var tokenTexts = [...]string{
	"and", "break", "do", "else", "elseif", "end", "false", "for", "function", "goto",
	"if", "in", "local", "nil", "not", "or", "repeat", "return", "then", "true",
	"until", "while", "//", "..", "...", "==", ">=", "<=", "~=", "<<", ">>", "::",
	"<eof>", "<number>", "<name>", "<string>",
}

// text is k as an error message shows it.
func (k kind) text() string {
	switch {
	case k >= tEOF:
		return tokenTexts[k-tAnd]
	case k >= tAnd:
		return "'" + tokenTexts[k-tAnd] + "'"
	case k >= ' ' && k < 127:
		return "'" + string(rune(k)) + "'"
	}
	return "'<\\" + strconv.Itoa(int(k)) + ">'"
}

// keyword gives a reserved word's kind, else tName.
func keyword(s string) kind {
	switch s {
	case "and":
		return tAnd
	case "break":
		return tBreak
	case "do":
		return tDo
	case "else":
		return tElse
	case "elseif":
		return tElseif
	case "end":
		return tEnd
	case "false":
		return tFalse
	case "for":
		return tFor
	case "function":
		return tFunction
	case "goto":
		return tGoto
	case "if":
		return tIf
	case "in":
		return tIn
	case "local":
		return tLocal
	case "nil":
		return tNil
	case "not":
		return tNot
	case "or":
		return tOr
	case "repeat":
		return tRepeat
	case "return":
		return tReturn
	case "then":
		return tThen
	case "true":
		return tTrue
	case "until":
		return tUntil
	case "while":
		return tWhile
	}
	return tName
}

// A token is one lexical element. text is a name, or a string's bytes; near is
// what an error message quotes.
type token struct {
	kind kind
	line int
	text string
	near string
	num  numeral
}

// A lexer cuts src into tokens. Errors are raised as panics of type *Error.
type lexer struct {
	file string
	src  string
	pos  int
	line int

	tok   token // current
	ahead token // the one after it, if peeked
	peek  bool
	last  int // line of the token before tok
}

// start skips a byte order mark and a first line that begins with "#", and reads
// the first token.
func (x *lexer) start() {
	x.line = 1
	x.src = strings.TrimPrefix(x.src, "\ufeff")
	if strings.HasPrefix(x.src, "#") {
		if i := strings.IndexAny(x.src, "\r\n"); i >= 0 {
			x.pos = i
		} else {
			x.pos = len(x.src)
		}
	}
	x.last = 1
	x.tok = x.scan()
}

func (x *lexer) next() {
	x.last = x.tok.line
	if x.peek {
		x.tok, x.peek = x.ahead, false
		return
	}
	x.tok = x.scan()
}

// lookahead returns the kind of the token after the current one.
func (x *lexer) lookahead() kind {
	if !x.peek {
		x.ahead, x.peek = x.scan(), true
	}
	return x.ahead.kind
}

// errorNear raises msg at the current line, quoting near, which may be empty.
func (x *lexer) errorNear(msg, near string) {
	if near != "" {
		msg += " near " + near
	}
	panic(&Error{File: x.file, Line: x.line, Msg: msg})
}

// fail raises a syntax error at the current token.
func (x *lexer) fail(msg string) {
	x.errorNear(msg, x.tok.quote())
}

func (t token) quote() string {
	switch t.kind {
	case tName, tString, tNumber:
		return "'" + clipText(t.near) + "'"
	}
	return t.kind.text()
}

// clipText bounds source text that goes into a message.
func clipText(s string) string {
	const most = 80
	if len(s) > most {
		return s[:most] + "..."
	}
	return s
}

// at returns the byte n behind the position, 0 at the end of the source.
func (x *lexer) at(n int) byte {
	if x.pos+n < len(x.src) {
		return x.src[x.pos+n]
	}
	return 0
}

func (x *lexer) scan() token {
	for x.pos < len(x.src) {
		c := x.src[x.pos]
		switch c {
		case '\n', '\r':
			x.newline()
		case ' ', '\t', '\v', '\f':
			x.pos++
		case '-':
			if x.at(1) != '-' {
				return x.punct(kind(c), 1)
			}
			x.comment()
		case '[':
			if n := x.bracket(); n >= 0 {
				return x.longString(n)
			}
			if x.at(1) == '=' {
				n := 1
				for x.at(n) == '=' {
					n++
				}
				x.errorNear("invalid long string delimiter", "'"+clipText(x.src[x.pos:x.pos+n])+"'")
			}
			return x.punct(kind(c), 1)
		case '"', '\'':
			return x.quoted(c)
		default:
			return x.symbol(c)
		}
	}
	return token{kind: tEOF, line: x.line}
}

// symbol scans a name, a number or an operator that starts with c.
func (x *lexer) symbol(c byte) token {
	switch {
	case letter(c):
		end := x.pos + 1
		for end < len(x.src) && (letter(x.src[end]) || digit(x.src[end])) {
			end++
		}
		s := x.src[x.pos:end]
		x.pos = end
		return token{kind: keyword(s), text: s, near: s, line: x.line}
	case digit(c) || c == '.' && digit(x.at(1)):
		return x.number()
	}
	d := x.at(1)
	switch {
	case c == '=' && d == '=':
		return x.punct(tEq, 2)
	case c == '<' && d == '=':
		return x.punct(tLe, 2)
	case c == '<' && d == '<':
		return x.punct(tShl, 2)
	case c == '>' && d == '=':
		return x.punct(tGe, 2)
	case c == '>' && d == '>':
		return x.punct(tShr, 2)
	case c == '/' && d == '/':
		return x.punct(tIDiv, 2)
	case c == '~' && d == '=':
		return x.punct(tNe, 2)
	case c == ':' && d == ':':
		return x.punct(tColons, 2)
	case c == '.' && d == '.' && x.at(2) == '.':
		return x.punct(tDots, 3)
	case c == '.' && d == '.':
		return x.punct(tConcat, 2)
	}
	return x.punct(kind(c), 1)
}

func (x *lexer) punct(k kind, n int) token {
	x.pos += n
	return token{kind: k, line: x.line}
}

// newline skips \n, \r, \r\n or \n\r and counts a line.
func (x *lexer) newline() {
	c := x.src[x.pos]
	x.pos++
	if d := x.at(0); (d == '\n' || d == '\r') && d != c && x.pos < len(x.src) {
		x.pos++
	}
	x.line++
}

func (x *lexer) comment() {
	x.pos += 2
	if x.at(0) == '[' {
		if n := x.bracket(); n >= 0 {
			x.long(n, "comment")
			return
		}
	}
	if i := strings.IndexAny(x.src[x.pos:], "\r\n"); i >= 0 {
		x.pos += i
	} else {
		x.pos = len(x.src)
	}
}

// bracket returns the number of "=" of a long bracket at the position, or -1.
func (x *lexer) bracket() int {
	n := 1
	for x.at(n) == '=' {
		n++
	}
	if x.at(n) == '[' {
		return n - 1
	}
	return -1
}

func letter(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c == '_'
}

func digit(c byte) bool { return c >= '0' && c <= '9' }

func hexDigit(c byte) bool {
	return digit(c) || c >= 'a' && c <= 'f' || c >= 'A' && c <= 'F'
}
