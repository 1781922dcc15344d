package schema

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

const (
	maxDepth    = 200  // nesting of a value
	maxDigits   = 1000 // characters of a number
	maxExponent = 400
)

// decode decodes JSON with its numbers as they are written, and refuses what
// no honest caller sends and the validator would choke on.
func decode(text string) (any, error) {
	value, err := jsonschema.UnmarshalJSON(strings.NewReader(text))
	if err != nil {
		return nil, err
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
