package llmtest

import (
	"errors"
	"math"
	"strconv"
	"strings"
)

var (
	errNoSum     = errors.New("not a sum")
	errDivZero   = errors.New("division by zero")
	errTooNested = errors.New("too many parentheses")
)

// calculate works out + - * / and parentheses; errNoSum is for other text, and
// for a number alone.
func calculate(s string) (float64, error) {
	if !strings.ContainsAny(s, "0123456789") || !strings.ContainsAny(s, "+-*/") || len(s) > 1000 {
		return 0, errNoSum
	}
	p := &sum{rest: s}
	v, err := p.terms()
	if err == nil && p.peek() != 0 {
		err = errNoSum
	}
	if err == nil && (math.IsInf(v, 0) || math.IsNaN(v)) {
		err = errors.New("the result is too large")
	}
	return v, err
}

type sum struct {
	rest  string
	depth int
}

// peek is the next character that is no blank, 0 at the end.
func (p *sum) peek() byte {
	p.rest = strings.TrimLeft(p.rest, " ")
	if p.rest == "" {
		return 0
	}
	return p.rest[0]
}

func (p *sum) terms() (float64, error) {
	v, err := p.factors()
	for err == nil && (p.peek() == '+' || p.peek() == '-') {
		op := p.rest[0]
		p.rest = p.rest[1:]
		var w float64
		if w, err = p.factors(); op == '-' {
			w = -w
		}
		v += w
	}
	return v, err
}

func (p *sum) factors() (float64, error) {
	v, err := p.value()
	for err == nil && (p.peek() == '*' || p.peek() == '/') {
		op := p.rest[0]
		p.rest = p.rest[1:]
		var w float64
		w, err = p.value()
		switch {
		case op == '*':
			v *= w
		case err == nil && w == 0:
			err = errDivZero
		default:
			v /= w
		}
	}
	return v, err
}

func (p *sum) value() (float64, error) {
	if p.depth++; p.depth > 100 {
		return 0, errTooNested
	}
	defer func() { p.depth-- }()
	switch p.peek() {
	case '(':
		p.rest = p.rest[1:]
		v, err := p.terms()
		if err == nil && p.peek() != ')' {
			err = errNoSum
		}
		if err == nil {
			p.rest = p.rest[1:]
		}
		return v, err
	case '-':
		p.rest = p.rest[1:]
		v, err := p.value()
		return -v, err
	}
	n := 0
	for n < len(p.rest) && (p.rest[n] >= '0' && p.rest[n] <= '9' || p.rest[n] == '.') {
		n++
	}
	v, err := strconv.ParseFloat(p.rest[:n], 64)
	if err != nil {
		return 0, errNoSum
	}
	p.rest = p.rest[n:]
	return v, nil
}
