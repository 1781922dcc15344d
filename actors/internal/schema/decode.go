package schema

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/big"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

const (
	maxDepth    = 200  // nesting of a value
	maxDigits   = 1000 // characters of a number
	maxExponent = 400
)

// decode decodes JSON with its numbers as they are written, and refuses what
// no honest caller sends and would take long to compute with.
func decode(text string) (any, error) {
	raw := []byte(text)
	if !json.Valid(raw) {
		return nil, invalid(text)
	}
	r := reader{raw: raw}
	value := r.value(0)
	return value, r.err
}

// invalid says why a text is no JSON.
func invalid(text string) error {
	d := json.NewDecoder(strings.NewReader(text))
	var value any
	switch err := d.Decode(&value); {
	case errors.Is(err, io.EOF):
		return errors.New("it is empty")
	case errors.Is(err, io.ErrUnexpectedEOF):
		return errors.New("it ends too early")
	case err != nil:
		return err
	}
	return fmt.Errorf("there is more after its end, at byte %d", d.InputOffset())
}

// reader makes values of JSON that is known to be valid. A [json.Decoder] makes
// the same, at several times the cost for the small objects that calls have.
type reader struct {
	raw []byte
	at  int
	err error // what is not sane
}

// next passes over white space to the byte after it.
func (r *reader) next() byte {
	for {
		switch c := r.raw[r.at]; c {
		case ' ', '\t', '\n', '\r':
			r.at++
		default:
			return c
		}
	}
}

func (r *reader) value(depth int) any {
	if depth > maxDepth {
		r.fail(fmt.Errorf("nested more than %d deep", maxDepth))
	}
	switch r.next() {
	case '{':
		return r.object(depth)
	case '[':
		return r.array(depth)
	case '"':
		return r.text()
	case 't':
		r.at += len("true")
		return true
	case 'f':
		r.at += len("false")
		return false
	case 'n':
		r.at += len("null")
		return nil
	}
	return r.number()
}

func (r *reader) object(depth int) map[string]any {
	out := map[string]any{}
	for r.at++; r.next() != '}'; {
		if r.raw[r.at] == ',' {
			r.at++
			r.next()
		}
		name := r.text()
		r.next()
		r.at++ // the colon
		out[name] = r.value(depth + 1)
	}
	r.at++
	return out
}

func (r *reader) array(depth int) []any {
	out := []any{}
	for r.at++; r.next() != ']'; {
		if r.raw[r.at] == ',' {
			r.at++
		}
		out = append(out, r.value(depth+1))
	}
	r.at++
	return out
}

func (r *reader) text() string {
	start, plain := r.at, true
	for r.at++; r.raw[r.at] != '"'; r.at++ {
		switch c := r.raw[r.at]; {
		case c == '\\':
			r.at++
			plain = false
		case c >= utf8.RuneSelf:
			plain = false
		}
	}
	r.at++
	if plain {
		return string(r.raw[start+1 : r.at-1])
	}
	var s string
	r.fail(json.Unmarshal(r.raw[start:r.at], &s))
	return s
}

func (r *reader) number() json.Number {
	start := r.at
	for r.at < len(r.raw) && strings.IndexByte("+-.0123456789eE", r.raw[r.at]) >= 0 {
		r.at++
	}
	n := string(r.raw[start:r.at])
	r.fail(saneNumber(n))
	return json.Number(n)
}

func (r *reader) fail(err error) {
	if r.err == nil {
		r.err = err
	}
}

func saneNumber(s string) error {
	if len(s) > maxDigits {
		return fmt.Errorf("a number has more than %d digits", maxDigits)
	}
	i := strings.IndexAny(s, "eE")
	if i < 0 {
		return nil
	}
	if exp, err := strconv.Atoi(strings.TrimPrefix(s[i+1:], "+")); err != nil || exp > maxExponent || exp < -maxExponent {
		return fmt.Errorf("the number %.40s is out of range", s)
	}
	return nil
}

// rational gives the exact value of a sane number.
func rational(n json.Number) *big.Rat {
	r, ok := new(big.Rat).SetString(string(n))
	if !ok {
		return new(big.Rat) // cannot be: JSON's numbers are a part of those of Rat
	}
	return r
}

func sortedNames[V any](m map[string]V) []string {
	if len(m) == 0 {
		return nil
	}
	names := make([]string, 0, len(m))
	for name := range m {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

func isInteger(n json.Number) bool {
	return !strings.ContainsAny(string(n), ".eE") || rational(n).IsInt()
}

// canonical gives equal texts for equal values: of objects in any order, and
// of numbers however they are written.
func canonical(value any) string {
	var b strings.Builder
	writeCanonical(&b, value)
	return b.String()
}

func writeCanonical(b *strings.Builder, value any) {
	switch v := value.(type) {
	case nil:
		b.WriteString("null")
	case bool:
		b.WriteString(strconv.FormatBool(v))
	case string:
		b.WriteString(strconv.Quote(v))
	case json.Number:
		if strings.ContainsAny(string(v), ".eE") || v == "-0" {
			b.WriteString(rational(v).RatString())
		} else {
			b.WriteString(string(v))
		}
	case []any:
		b.WriteByte('[')
		for _, e := range v {
			writeCanonical(b, e)
			b.WriteByte(',')
		}
		b.WriteByte(']')
	case map[string]any:
		b.WriteByte('{')
		for _, name := range sortedNames(v) {
			b.WriteString(strconv.Quote(name))
			b.WriteByte(':')
			writeCanonical(b, v[name])
			b.WriteByte(',')
		}
		b.WriteByte('}')
	}
}
