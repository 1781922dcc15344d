package schema

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/big"
	"net/url"
	"reflect"
	"regexp"
	"regexp/syntax"
	"slices"
	"strconv"
	"strings"
)

const (
	maxPattern  = 2000    // bytes of a pattern
	maxPrograms = 200_000 // instructions of all patterns of a schema
)

// node is a schema, ready to be applied. It does not change once compiled.
type node struct {
	never                                    bool // the schema false
	types                                    []string
	values                                   []values // enum and const
	minimum, maximum, above, below, multiple *bound
	length, elements, members, contained     span
	pattern                                  *pattern
	unique                                   bool
	prefix                                   []*node
	items, contains, otherItems              *node
	required                                 []string
	needs                                    map[string][]string // dependentRequired
	properties, depends                      map[string]*node
	patterns                                 []patternNode
	additional, names, otherProps            *node
	ref, not, when, then, otherwise          *node
	allOf, anyOf, oneOf                      []*node
	oldItems                                 *node // additionalItems, before draft 2020-12
	tuple                                    bool  // items is a list, as before draft 2020-12
}

// values is a set of values by their canonical texts.
type values struct {
	set  map[string]bool
	text string // for people, bounded
}

type bound struct {
	value *big.Rat
	text  string
}

type span struct{ min, max *int }

type pattern struct {
	re   *regexp.Regexp
	text string
	size int // instructions: the most that each character of a text costs
}

type patternNode struct {
	pattern *pattern
	node    *node
}

// compiler makes nodes of a schema's document. What a $ref points to is
// compiled once, so that schemas may contain themselves.
type compiler struct {
	doc     any
	done    map[uintptr]*node // by the address of the map that is the schema
	size    int               // instructions of the patterns so far
	tracked bool              // some unevaluated… asks what has been seen
	alone   bool              // what is beside a $ref does not count: before draft 2019-09
}

func (c *compiler) schema(doc any) (*node, error) {
	switch doc := doc.(type) {
	case bool:
		return &node{never: !doc}, nil
	case map[string]any:
		return c.object(doc)
	}
	return nil, errors.New("a schema must be an object, true or false")
}

func (c *compiler) object(doc map[string]any) (*node, error) {
	key := reflect.ValueOf(doc).Pointer()
	if n := c.done[key]; n != nil {
		return n, nil
	}
	n := &node{}
	c.done[key] = n
	words := sortedNames(doc)
	if _, ok := doc["$ref"]; ok && c.alone {
		words = []string{"$ref"}
	}
	for _, word := range words {
		set := c.assertion
		if _, ok := applicators[word]; ok {
			set = c.applicator
		}
		if err := set(n, word, doc[word]); err != nil {
			return nil, fmt.Errorf("%s: %w", word, err)
		}
	}
	if n.tuple { // as it was before draft 2020-12
		n.items = n.oldItems
	}
	return n, nil
}

// applicators are the keywords whose values are schemas, with the places for
// them: of one schema, a list, or schemas by name.
var applicators = map[string]func(n *node) any{
	"items":                 func(n *node) any { return &n.items },
	"prefixItems":           func(n *node) any { return &n.prefix },
	"additionalItems":       func(n *node) any { return &n.oldItems },
	"contains":              func(n *node) any { return &n.contains },
	"unevaluatedItems":      func(n *node) any { return &n.otherItems },
	"properties":            func(n *node) any { return &n.properties },
	"patternProperties":     func(n *node) any { return &n.patterns },
	"additionalProperties":  func(n *node) any { return &n.additional },
	"propertyNames":         func(n *node) any { return &n.names },
	"unevaluatedProperties": func(n *node) any { return &n.otherProps },
	"dependentSchemas":      func(n *node) any { return &n.depends },
	"allOf":                 func(n *node) any { return &n.allOf },
	"anyOf":                 func(n *node) any { return &n.anyOf },
	"oneOf":                 func(n *node) any { return &n.oneOf },
	"not":                   func(n *node) any { return &n.not },
	"if":                    func(n *node) any { return &n.when },
	"then":                  func(n *node) any { return &n.then },
	"else":                  func(n *node) any { return &n.otherwise },
}

func (c *compiler) applicator(n *node, word string, value any) (err error) {
	place := applicators[word](n)
	if list, ok := value.([]any); ok && word == "items" {
		n.tuple, place, value = true, &n.prefix, list
	}
	c.tracked = c.tracked || strings.HasPrefix(word, "unevaluated")
	switch place := place.(type) {
	case **node:
		*place, err = c.schema(value)
	case *[]*node:
		*place, err = c.list(value)
	case *map[string]*node:
		*place, err = c.named(value)
	case *[]patternNode:
		var byText map[string]*node
		byText, err = c.named(value)
		for _, text := range sortedNames(byText) {
			p, bad := c.regexp(text)
			if bad != nil {
				return bad
			}
			*place = append(*place, patternNode{p, byText[text]})
		}
	}
	return err
}

func (c *compiler) list(value any) ([]*node, error) {
	list, ok := value.([]any)
	if !ok {
		return nil, errors.New("must be a list of schemas")
	}
	nodes := make([]*node, len(list))
	for i, doc := range list {
		n, err := c.schema(doc)
		if err != nil {
			return nil, fmt.Errorf("%d: %w", i, err)
		}
		nodes[i] = n
	}
	return nodes, nil
}

func (c *compiler) named(value any) (map[string]*node, error) {
	docs, ok := value.(map[string]any)
	if !ok {
		return nil, errors.New("must be an object of schemas")
	}
	nodes := make(map[string]*node, len(docs))
	for _, name := range sortedNames(docs) {
		n, err := c.schema(docs[name])
		if err != nil {
			return nil, fmt.Errorf("%.80q: %w", name, err)
		}
		nodes[name] = n
	}
	return nodes, nil
}

// assertion sets a keyword whose value is no schema; unknown ones and those
// that only describe say nothing.
func (c *compiler) assertion(n *node, word string, value any) (err error) {
	switch word {
	case "type":
		n.types, err = typesOf(value)
	case "enum", "const":
		return n.oneOfValues(word, value)
	case "pattern":
		text, ok := value.(string)
		if !ok {
			return errors.New("must be a text")
		}
		n.pattern, err = c.regexp(text)
	case "uniqueItems":
		var ok bool
		if n.unique, ok = value.(bool); !ok {
			return errors.New("must be true or false")
		}
	case "required":
		n.required, err = wordList(value)
	case "dependentRequired", "dependencies":
		return c.dependencies(n, word, value)
	case "$ref":
		n.ref, err = c.follow(value)
	case "$dynamicRef", "$recursiveRef":
		return errors.New("is not supported; use $ref")
	case "$id", "$schema":
		return c.identity(n, word, value)
	default:
		return n.limit(word, value)
	}
	return err
}

func (n *node) oneOfValues(word string, value any) error {
	list := []any{value}
	if word == "enum" {
		var ok bool
		if list, ok = value.([]any); !ok {
			return errors.New("must be a list")
		}
	}
	set := make(map[string]bool, len(list))
	for _, v := range list {
		set[canonical(v)] = true
	}
	n.values = append(n.values, values{set, alternatives(list)})
	return nil
}

func (n *node) limit(word string, value any) (err error) {
	switch word {
	case "minimum":
		n.minimum, err = boundOf(value)
	case "maximum":
		n.maximum, err = boundOf(value)
	case "exclusiveMinimum":
		n.above, err = boundOf(value)
	case "exclusiveMaximum":
		n.below, err = boundOf(value)
	case "multipleOf":
		if n.multiple, err = boundOf(value); err == nil && n.multiple.value.Sign() <= 0 {
			err = errors.New("must be above 0")
		}
	case "minLength":
		n.length.min, err = countOf(value)
	case "maxLength":
		n.length.max, err = countOf(value)
	case "minItems":
		n.elements.min, err = countOf(value)
	case "maxItems":
		n.elements.max, err = countOf(value)
	case "minContains":
		n.contained.min, err = countOf(value)
	case "maxContains":
		n.contained.max, err = countOf(value)
	case "minProperties":
		n.members.min, err = countOf(value)
	case "maxProperties":
		n.members.max, err = countOf(value)
	}
	return err
}

// dependencies reads dependentRequired, and what it was before draft 2019-09.
func (c *compiler) dependencies(n *node, word string, value any) error {
	docs, ok := value.(map[string]any)
	if !ok {
		return errors.New("must be an object")
	}
	for _, name := range sortedNames(docs) {
		var err error
		if _, list := docs[name].([]any); list || word == "dependentRequired" {
			if n.needs == nil {
				n.needs = map[string][]string{}
			}
			n.needs[name], err = wordList(docs[name])
		} else {
			if n.depends == nil {
				n.depends = map[string]*node{}
			}
			n.depends[name], err = c.schema(docs[name])
		}
		if err != nil {
			return fmt.Errorf("%.80q: %w", name, err)
		}
	}
	return nil
}

// identity refuses what would give another meaning to the schema or its refs.
func (c *compiler) identity(n *node, word string, value any) error {
	text, ok := value.(string)
	if !ok {
		return errors.New("must be a text")
	}
	if word == "$id" {
		if root, ok := c.doc.(map[string]any); ok && c.done[reflect.ValueOf(root).Pointer()] == n {
			return nil
		}
		return errors.New("is supported only at the top")
	}
	for _, known := range []string{"draft-04/schema", "draft-06/schema", "draft-07/schema", "draft/2019-09/schema", "draft/2020-12/schema"} {
		if _, rest, ok := strings.Cut(strings.TrimSuffix(text, "#"), "://json-schema.org/"); ok && rest == known {
			return nil
		}
	}
	return fmt.Errorf("%.80q is no dialect that is known here", text)
}

// follow compiles what a $ref points to, which must be in the schema itself.
func (c *compiler) follow(value any) (*node, error) {
	text, ok := value.(string)
	if !ok || text != "#" && !strings.HasPrefix(text, "#/") {
		return nil, errors.New("may only point into the schema itself, as #/$defs/name")
	}
	pointer, err := url.PathUnescape(text[1:])
	if err != nil {
		return nil, err
	}
	at := c.doc
	for i, name := range strings.Split(pointer, "/") {
		if i == 0 {
			continue
		}
		name = strings.ReplaceAll(strings.ReplaceAll(name, "~1", "/"), "~0", "~")
		switch in := at.(type) {
		case map[string]any:
			at = in[name]
		case []any:
			at = nil
			if i, err := strconv.Atoi(name); err == nil && i >= 0 && i < len(in) {
				at = in[i]
			}
		default:
			at = nil
		}
	}
	n, err := c.schema(at)
	if at == nil {
		err = fmt.Errorf("%.80q points to nothing", text)
	}
	return n, err
}

func (c *compiler) regexp(text string) (*pattern, error) {
	if len(text) > maxPattern {
		return nil, fmt.Errorf("the pattern is longer than %d bytes", maxPattern)
	}
	parsed, err := syntax.Parse(text, syntax.Perl)
	if err != nil {
		return nil, err
	}
	prog, err := syntax.Compile(parsed.Simplify())
	if err != nil {
		return nil, err
	}
	if c.size += len(prog.Inst); c.size > maxPrograms {
		return nil, errors.New("the patterns are too large")
	}
	re, err := regexp.Compile(text)
	return &pattern{re, text, len(prog.Inst)}, err
}

func typesOf(value any) ([]string, error) {
	names := []string{}
	if name, ok := value.(string); ok {
		names = append(names, name)
	} else {
		var err error
		if names, err = wordList(value); err != nil {
			return nil, err
		}
	}
	for _, name := range names {
		if !slices.Contains(types, name) {
			return nil, fmt.Errorf("%.80q is not one of %s", name, strings.Join(types, ", "))
		}
	}
	return names, nil
}

func wordList(value any) ([]string, error) {
	list, ok := value.([]any)
	if !ok {
		return nil, errors.New("must be a list of texts")
	}
	out := make([]string, len(list))
	for i, v := range list {
		if out[i], ok = v.(string); !ok {
			return nil, errors.New("must be a list of texts")
		}
	}
	return out, nil
}

func boundOf(value any) (*bound, error) {
	number, ok := value.(json.Number)
	if !ok {
		return nil, errors.New("must be a number")
	}
	return &bound{rational(number), short(string(number))}, nil
}

func countOf(value any) (*int, error) {
	number, ok := value.(json.Number)
	if !ok {
		return nil, errors.New("must be a number")
	}
	r := rational(number)
	if !r.IsInt() || r.Sign() < 0 {
		return nil, errors.New("must be a whole number, 0 or more")
	}
	n := math.MaxInt
	if r.Num().IsInt64() {
		n = int(r.Num().Int64())
	}
	return &n, nil
}
