package schema

import (
	"maps"
	"strconv"
)

// seen notes the parts of a value that some schema has spoken about, for
// unevaluatedProperties and unevaluatedItems. A nil one notes nothing.
type seen struct {
	names    map[string]bool
	elements map[int]bool
}

// fresh gives a new one when any schema of the document asks.
func (c *visitor) fresh() *seen {
	if !c.tracked {
		return nil
	}
	return &seen{names: map[string]bool{}, elements: map[int]bool{}}
}

func (s *seen) name(name string) {
	if s != nil {
		s.names[name] = true
	}
}

func (s *seen) element(i int) {
	if s != nil {
		s.elements[i] = true
	}
}

func (c *visitor) merge(s, o *seen) {
	if s != nil && o != nil && c.step(len(o.names)+len(o.elements)) {
		maps.Copy(s.names, o.names)
		maps.Copy(s.elements, o.elements)
	}
}

// array applies what is said of arrays; before is the number of faults before
// this schema.
func (c *visitor) array(n *node, v []any, s *seen, before int) {
	c.span(n.elements, len(v), "element", "elements")
	if n.unique {
		c.unique(v)
	}
	if n.prefix == nil && n.items == nil && n.contains == nil && n.otherItems == nil || !c.step(len(v)) {
		return
	}
	for i, e := range v {
		sub := n.items
		if i < len(n.prefix) {
			sub = n.prefix[i]
		}
		if sub != nil {
			c.at(strconv.Itoa(i), sub, e)
			s.element(i)
		}
	}
	if n.contains != nil {
		c.contains(n, v, s)
	}
	if n.otherItems == nil || c.out.count() > before {
		return
	}
	for i, e := range v {
		if !s.elements[i] {
			c.at(strconv.Itoa(i), n.otherItems, e)
			s.element(i)
		}
	}
}

func (c *visitor) contains(n *node, v []any, s *seen) {
	found, least := 0, 1
	for i, e := range v {
		if c.fits(n.contains, e, nil) {
			found++
			s.element(i)
		}
	}
	if n.contained.min != nil {
		least = *n.contained.min
	}
	c.span(span{&least, n.contained.max}, found, "element that fits (contains)", "elements that fit (contains)")
}

func (c *visitor) unique(v []any) {
	first := make(map[string]int, len(v))
	for i, e := range v {
		text := canonical(e)
		if !c.step(1 + len(text)/32) {
			return
		}
		if j, ok := first[text]; ok {
			c.fail("elements %d and %d are equal, want all different", j, i)
			return
		}
		first[text] = i
	}
}

// object applies what is said of objects.
func (c *visitor) object(n *node, v map[string]any, s *seen, before int) {
	c.span(n.members, len(v), "property", "properties")
	c.present(n, v)
	if c.step(len(n.depends)) {
		for _, name := range sortedNames(n.depends) {
			if _, ok := v[name]; ok {
				c.visit(n.depends[name], v, s)
			}
		}
	}
	if n.properties == nil && n.patterns == nil && n.additional == nil && n.names == nil && n.otherProps == nil || !c.step(len(v)) {
		return
	}
	var unknown []string
	names := sortedNames(v)
	for _, name := range names {
		known := c.member(n, name, v[name])
		if !known && n.additional != nil {
			if known = true; n.additional.never {
				unknown = append(unknown, name)
			} else {
				c.at(name, n.additional, v[name])
			}
		}
		if known {
			s.name(name)
		}
	}
	c.unknown(n, unknown)
	if n.otherProps != nil && c.out.count() == before {
		c.others(n, names, v, s)
	}
}

// member applies what is said of a property by its name, and tells whether
// there was anything.
func (c *visitor) member(n *node, name string, value any) bool {
	if n.names != nil {
		c.visitName(n.names, name)
	}
	sub, known := n.properties[name]
	if known {
		c.at(name, sub, value)
	}
	for _, p := range n.patterns {
		if c.match(p.pattern, name) {
			known = true
			c.at(name, p.node, value)
		}
	}
	return known
}

func (c *visitor) visitName(n *node, name string) {
	found := c.try(n, name, nil)
	if found.count() == 0 {
		return
	}
	why := "nothing is allowed here"
	if len(found.list) > 0 {
		why = found.list[0].text
	}
	c.fail("the name of property '%s': %s", short(name), why)
}

func (c *visitor) others(n *node, names []string, v map[string]any, s *seen) {
	var unknown []string
	for _, name := range names {
		if s.names[name] {
			continue
		}
		if s.name(name); n.otherProps.never {
			unknown = append(unknown, name)
		} else {
			c.at(name, n.otherProps, v[name])
		}
	}
	c.unknown(n, unknown)
}

func (c *visitor) unknown(n *node, names []string) {
	if len(names) == 0 {
		return
	}
	what := "property "
	if len(names) > 1 {
		what = "properties "
	}
	known := ""
	if len(n.properties) > 0 && len(n.patterns) == 0 && c.step(len(n.properties)) {
		known = "; known are " + quoted(sortedNames(n.properties))
	}
	c.fail("unknown %s%s%s", what, quoted(names), known)
}

// present checks that what is required is there.
func (c *visitor) present(n *node, v map[string]any) {
	if missing := c.missing(n.required, v); missing != "" {
		c.fail("missing %s", missing)
	}
	for _, name := range sortedNames(n.needs) {
		if _, ok := v[name]; ok && c.step(1) {
			if missing := c.missing(n.needs[name], v); missing != "" {
				c.fail("missing %s, required with '%s'", missing, short(name))
			}
		}
	}
}

func (c *visitor) missing(names []string, v map[string]any) string {
	if !c.step(len(names)) {
		return ""
	}
	var missing []string
	for _, name := range names {
		if _, ok := v[name]; !ok {
			missing = append(missing, name)
		}
	}
	switch len(missing) {
	case 0:
		return ""
	case 1:
		return "property " + quoted(missing)
	}
	return "properties " + quoted(missing)
}
