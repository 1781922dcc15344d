package config

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
)

// checker holds one layer's values against the schema. It collects all that is
// wrong, so that a person mends a file once.
type checker struct {
	file  string
	lines *keyLines // nil when the layer has no lines
	warns []Warning
	errs  []*Error
}

func (c *checker) fail(path []string, format string, args ...any) {
	c.errs = append(c.errs, &Error{File: c.file, Line: c.lines.line(path), Key: dotted(path), Text: fmt.Sprintf(format, args...)})
}

func (c *checker) warn(path []string, format string, args ...any) {
	c.warns = append(c.warns, Warning{File: c.file, Line: c.lines.line(path), Key: dotted(path), Text: fmt.Sprintf(format, args...)})
}

// table returns the known keys of m with values of the right type.
func (c *checker) table(m map[string]any, keys []Key, path []string) map[string]any {
	out := make(map[string]any, len(m))
	for _, name := range sortedKeys(m) {
		at := append(path[:len(path):len(path)], name)
		i := slices.IndexFunc(keys, func(k Key) bool { return k.Name == name })
		if i < 0 {
			c.unknown(at, name, keys)
			continue
		}
		if v, ok := c.value(m[name], &keys[i], at); ok {
			out[name] = v
		}
	}
	for _, k := range keys {
		if _, ok := m[k.Name]; k.Required && !ok {
			c.fail(path, "%s is missing", k.Name)
		}
	}
	return out
}

func (c *checker) unknown(at []string, name string, keys []Key) {
	names := make([]string, len(keys))
	for i, k := range keys {
		names[i] = k.Name
	}
	if n := nearest(name, names); n != "" {
		c.warn(at, "unknown key; the nearest is %q", n)
		return
	}
	c.warn(at, "unknown key; there are %s", strings.Join(names, ", "))
}

// value returns v in the form that decoding expects, or false after it
// reported what is wrong with it.
func (c *checker) value(v any, k *Key, path []string) (any, bool) {
	out, ok := c.typed(v, k, path)
	if !ok {
		return nil, false
	}
	if k.check != nil {
		if problem := k.check(out); problem != "" {
			c.fail(path, "%s", problem)
			return nil, false
		}
	}
	return out, true
}

func (c *checker) typed(v any, k *Key, path []string) (any, bool) {
	switch k.Type {
	case String, SecretText:
		if s, ok := v.(string); ok {
			return c.enum(s, k, path)
		}
	case Bool:
		if b, ok := v.(bool); ok {
			return b, true
		}
	case Int, Number:
		if n, ok := number(v, k.Type); ok {
			return c.bounds(n, k, path)
		}
	case List:
		if list, ok := v.([]any); ok {
			return c.list(list, k, path)
		}
	case Map:
		if m, ok := asMap(v); ok {
			return c.entries(m, k, path)
		}
	case Table:
		if m, ok := asMap(v); ok {
			n := len(c.errs)
			return c.table(m, k.Keys, path), len(c.errs) == n
		}
	case Any:
		return v, true
	}
	c.fail(path, "must be %s, not %s", k.Type, describe(v, k))
	return nil, false
}

func (c *checker) enum(s string, k *Key, path []string) (any, bool) {
	if len(k.Enum) == 0 || slices.Contains(k.Enum, s) {
		return s, true
	}
	text := fmt.Sprintf("%q is not one of %s", s, strings.Join(k.Enum, ", "))
	if k.Soft {
		c.warn(path, "%s; %s is meant", text, k.Enum[0])
		return k.Enum[0], true
	}
	c.fail(path, "%s", text)
	return nil, false
}

func (c *checker) bounds(n any, k *Key, path []string) (any, bool) {
	f, isFloat := n.(float64)
	if !isFloat {
		f = float64(n.(int64))
	}
	const largest = 1 << 40 // no setting means more, and sums of them must not overflow
	switch {
	case f < k.Min:
		c.fail(path, "must be at least %v, not %v", k.Min, n)
	case k.Max > 0 && f > k.Max:
		c.fail(path, "must be at most %v, not %v", k.Max, n)
	case f > largest:
		c.fail(path, "%v is too large", n)
	default:
		return n, true
	}
	return nil, false
}

func (c *checker) list(list []any, k *Key, path []string) (any, bool) {
	out, ok := make([]any, 0, len(list)), true
	for i, e := range list {
		v, good := c.value(e, k.Elem, append(path[:len(path):len(path)], strconv.Itoa(i+1)))
		ok = ok && good
		out = append(out, v)
	}
	return out, ok
}

func (c *checker) entries(m map[string]any, k *Key, path []string) (any, bool) {
	out, ok := make(map[string]any, len(m)), true
	for _, name := range sortedKeys(m) {
		at := append(path[:len(path):len(path)], name)
		if strings.ContainsAny(name, delim+"\x00\n") || name == "" {
			c.fail(at, "is not a name")
			ok = false
			continue
		}
		v, good := c.value(m[name], k.Elem, at)
		ok = ok && good
		out[name] = v
	}
	return out, ok
}

// asMap takes a table; an empty Lua table is also an empty list.
func asMap(v any) (map[string]any, bool) {
	switch v := v.(type) {
	case map[string]any:
		return v, true
	case []any:
		return map[string]any{}, len(v) == 0
	}
	return nil, false
}

// number takes int64, and float64 where a fraction is allowed or absent.
func number(v any, t Type) (any, bool) {
	switch v := v.(type) {
	case int64:
		return v, true
	case float64:
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return nil, false
		}
		if v == math.Trunc(v) && math.Abs(v) < 1<<53 {
			return int64(v), true
		}
		return v, t == Number
	}
	return nil, false
}

// describe names a value in an error text without showing one that may be
// secret.
func describe(v any, k *Key) string {
	switch v := v.(type) {
	case string:
		if k.Type == SecretText || len(v) > 40 {
			return "a string"
		}
		return fmt.Sprintf("the string %q", v)
	case bool:
		return strconv.FormatBool(v)
	case int64, float64:
		return fmt.Sprint(v)
	case []any:
		if len(v) == 0 {
			return "an empty table"
		}
		return "a list"
	case map[string]any:
		return "a table with keys"
	case nil:
		return "nil"
	}
	return fmt.Sprintf("a %T", v)
}

// dotted writes a path as people do: providers.lab.models["gpt-4.1"].
func dotted(path []string) string {
	var b strings.Builder
	for i, p := range path {
		switch {
		case isNumber(p):
			b.WriteString("[" + p + "]")
		case !isIdent(p):
			fmt.Fprintf(&b, "[%q]", p)
		case i == 0:
			b.WriteString(p)
		default:
			b.WriteString("." + p)
		}
	}
	return b.String()
}

func isIdent(s string) bool {
	for i := range len(s) {
		if !isWord(s[i]) || s[i] >= 128 || (i == 0 && s[i] >= '0' && s[i] <= '9') {
			return false
		}
	}
	return s != ""
}

func isNumber(s string) bool {
	_, err := strconv.Atoi(s)
	return err == nil
}

func sortedKeys[V any](m map[string]V) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}
