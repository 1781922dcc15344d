package schema

import (
	"slices"
	"strconv"
	"strings"
)

// inPlace applies the schemas that are for the same value.
func (c *visitor) inPlace(n *node, value any, s *seen) {
	c.visit(n.ref, value, s)
	for _, sub := range n.allOf {
		c.visit(sub, value, s)
	}
	c.anyOf(n, value, s)
	c.oneOf(n, value, s)
	if n.not != nil && c.fits(n.not, value, nil) {
		c.fail("fits what the schema forbids (not)")
	}
	if n.when != nil {
		if c.fits(n.when, value, s) {
			c.visit(n.then, value, s)
		} else {
			c.visit(n.otherwise, value, s)
		}
	}
}

func (c *visitor) anyOf(n *node, value any, s *seen) {
	near := nearest{depth: len(c.path)}
	for _, sub := range n.anyOf {
		if found := c.try(sub, value, s); found.count() > 0 {
			near.add(found)
		} else if near.fits++; !c.tracked {
			return
		}
	}
	if n.anyOf != nil && near.fits == 0 {
		c.none("anyOf", &near, value)
	}
}

func (c *visitor) oneOf(n *node, value any, s *seen) {
	near := nearest{depth: len(c.path)}
	var fitting []string
	for i, sub := range n.oneOf {
		if found := c.try(sub, value, s); found.count() > 0 {
			near.add(found)
		} else if fitting = append(fitting, strconv.Itoa(i+1)); len(fitting) == 2 {
			c.fail("fits the alternatives %s of oneOf, want exactly one", strings.Join(fitting, " and "))
			return
		}
	}
	if n.oneOf != nil && len(fitting) == 0 {
		c.none("oneOf", &near, value)
	}
}

// nearest gathers how alternatives fail.
type nearest struct {
	depth  int // of the value
	fits   int
	wants  []string // the types of those that are of another type
	others int      // alternatives of the value's type
	best   *faults  // of them
}

func (a *nearest) add(f *faults) {
	if len(f.list) == 1 && f.list[0].depth == a.depth && f.list[0].wants != nil {
		for _, t := range f.list[0].wants {
			if !slices.Contains(a.wants, t) {
				a.wants = append(a.wants, t)
			}
		}
		return
	}
	a.others++
	if a.best == nil || f.distance() < a.best.distance() {
		a.best = f
	}
}

// none reports a value that fits no alternative: by what is wrong with the
// one that was probably meant.
func (c *visitor) none(word string, near *nearest, value any) {
	switch {
	case near.best != nil:
		if near.others > 1 {
			c.fail("fits none of the alternatives (%s); to fit the nearest:", word)
		}
		c.out.addAll(near.best)
	case near.wants != nil:
		c.wrongType(value, near.wants)
	default:
		c.fail("fits none of the alternatives (%s)", word)
	}
}
