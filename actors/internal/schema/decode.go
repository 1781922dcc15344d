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
)

const (
	maxDepth    = 200  // nesting of a value
	maxDigits   = 1000 // characters of a number
	maxExponent = 400
)

// decode decodes JSON with its numbers as they are written, and refuses what
// no honest caller sends and would take long to compute with.
func decode(text string) (any, error) {
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber()
	var value any
	switch err := d.Decode(&value); {
	case errors.Is(err, io.EOF):
		return nil, errors.New("it is empty")
	case errors.Is(err, io.ErrUnexpectedEOF):
		return nil, errors.New("it ends too early")
	case err != nil:
		return nil, err
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("there is more after its end, at byte %d", d.InputOffset())
	}
	return value, sane(value, 0)
}

func sane(value any, depth int) error {
	if depth > maxDepth {
		return fmt.Errorf("nested more than %d deep", maxDepth)
	}
	switch v := value.(type) {
	case map[string]any:
		for _, e := range v {
			if err := sane(e, depth+1); err != nil {
				return err
			}
		}
	case []any:
		for _, e := range v {
			if err := sane(e, depth+1); err != nil {
				return err
			}
		}
	case json.Number:
		return saneNumber(string(v))
	}
	return nil
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
