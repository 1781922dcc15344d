package schema

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"
)

const (
	maxSteps   = 1_000_000 // of one check: a fraction of a second
	maxNesting = 500       // of schemas and values on the way
)

// visitor applies schemas to a value. It stops when its steps are used up:
// {"allOf":[{"$ref":"#x"},{"$ref":"#x"}]} doubles the work at every level.
type visitor struct {
	left    int
	depth   int
	path    []string
	out     *faults
	quiet   bool // faults are only counted
	tracked bool // some schema asks for what others have seen
}

// step pays for n steps of work; false when there are none left.
func (c *visitor) step(n int) bool {
	c.left -= n
	return c.left >= 0
}

func (c *visitor) fail(format string, args ...any) {
	c.add(fault{}, format, args...)
}

func (c *visitor) add(f fault, format string, args ...any) {
	if c.quiet {
		c.out.more++
		return
	}
	c.step(10)
	f.depth, f.path, f.text = len(c.path), pointer(c.path), fmt.Sprintf(format, args...)
	c.out.add(f)
}

// visit applies a schema, and notes in s which parts of the value it knows.
func (c *visitor) visit(n *node, value any, s *seen) {
	if n == nil || c.depth > maxNesting || !c.step(1) {
		if c.depth > maxNesting {
			c.left = -1
		}
		return
	}
	c.depth++
	defer func() { c.depth-- }()
	if n.never {
		c.fail("nothing is allowed here")
		return
	}
	if !c.typed(n, value) {
		return // what else is wrong follows from it
	}
	// What the schemas around this one have seen does not count here.
	own, before := c.fresh(), c.out.count()
	defer func() { c.merge(s, own) }()
	c.chosen(n, value)
	switch v := value.(type) {
	case json.Number:
		c.number(n, v)
	case string:
		c.text(n, v)
	}
	c.inPlace(n, value, own)
	switch v := value.(type) {
	case []any:
		c.array(n, v, own, before)
	case map[string]any:
		c.object(n, v, own, before)
	}
}

// at applies a schema to a part of the value.
func (c *visitor) at(name string, n *node, value any) {
	c.path = append(c.path, name)
	c.visit(n, value, nil)
	c.path = c.path[:len(c.path)-1]
}

// try applies a schema without consequences, and gives its faults.
func (c *visitor) try(n *node, value any, s *seen) *faults {
	saved, found, noted := c.out, &faults{}, c.fresh()
	c.out = found
	c.visit(n, value, noted)
	c.out = saved
	if found.count() == 0 {
		c.merge(s, noted)
	}
	return found
}

// fits tells whether a schema fits.
func (c *visitor) fits(n *node, value any, s *seen) bool {
	saved := c.quiet
	c.quiet = true
	found := c.try(n, value, s)
	c.quiet = saved
	return found.count() == 0
}

func (c *visitor) typed(n *node, value any) bool {
	if n.types == nil {
		return true
	}
	got := typeName(value)
	if slices.Contains(n.types, got) {
		return true
	}
	if num, ok := value.(json.Number); ok && slices.Contains(n.types, "integer") && isInteger(num) {
		return true
	}
	c.wrongType(value, n.types)
	return false
}

func (c *visitor) wrongType(value any, wants []string) {
	hint := ""
	if text, ok := value.(string); ok && (strings.HasPrefix(text, "{") || strings.HasPrefix(text, "[")) {
		hint = " (give the JSON itself, not a string that contains it)"
	}
	c.add(fault{wants: wants}, "got %s, want %s%s", typeName(value), strings.Join(wants, " or "), hint)
}

func typeName(value any) string {
	switch value.(type) {
	case nil:
		return "null"
	case bool:
		return "boolean"
	case string:
		return "string"
	case json.Number:
		return "number"
	case []any:
		return "array"
	}
	return "object"
}

func (c *visitor) chosen(n *node, value any) {
	for _, allowed := range n.values {
		text := canonical(value)
		if !c.step(len(text)/32) || allowed.set[text] {
			continue
		}
		want := "one of "
		if len(allowed.set) < 2 {
			want = ""
		}
		c.add(fault{chosen: true}, "got %s, want %s%s", show(value), want, allowed.text)
	}
}

func (c *visitor) number(n *node, num json.Number) {
	if n.minimum == nil && n.maximum == nil && n.above == nil && n.below == nil && n.multiple == nil {
		return
	}
	v := rational(num)
	if n.minimum != nil && v.Cmp(n.minimum.value) < 0 {
		c.fail("got %s, want at least %s", show(num), n.minimum.text)
	}
	if n.maximum != nil && v.Cmp(n.maximum.value) > 0 {
		c.fail("got %s, want at most %s", show(num), n.maximum.text)
	}
	if n.above != nil && v.Cmp(n.above.value) <= 0 {
		c.fail("got %s, want more than %s", show(num), n.above.text)
	}
	if n.below != nil && v.Cmp(n.below.value) >= 0 {
		c.fail("got %s, want less than %s", show(num), n.below.text)
	}
	if n.multiple != nil && !v.Quo(v, n.multiple.value).IsInt() {
		c.fail("got %s, want a multiple of %s", show(num), n.multiple.text)
	}
}

func (c *visitor) text(n *node, v string) {
	if n.length.min != nil || n.length.max != nil {
		c.step(len(v) / 256)
		c.span(n.length, utf8.RuneCountInString(v), "character", "characters")
	}
	if n.pattern != nil && !c.match(n.pattern, v) {
		c.fail("got %s, want what matches the pattern %s", show(v), short(n.pattern.text))
	}
}

// match is true also for what would take too long.
func (c *visitor) match(p *pattern, text string) bool {
	return !c.step(1+(len(text)+1)*p.size/32) || p.re.MatchString(text)
}

func (c *visitor) span(s span, n int, one, many string) {
	if s.min != nil && n < *s.min {
		c.fail("has %s, want at least %d", number(n, one, many), *s.min)
	}
	if s.max != nil && n > *s.max {
		c.fail("has %s, want at most %d", number(n, one, many), *s.max)
	}
}
