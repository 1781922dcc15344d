package schema

import "github.com/santhosh-tekuri/jsonschema/v6"

const (
	maxVisits  = 200_000 // schema applied to value, of one check
	maxInPlace = 500     // nesting of schemas and values on the way
)

// budget walks a schema and a value as the validator would, without checking
// anything, until it has gone too many steps: {"allOf":[{"$ref":"#x"},
// {"$ref":"#x"}]} doubles the work at every level, and the validator itself
// cannot be stopped.
type budget struct{ left int }

// visit returns false when the budget is spent.
func (b *budget) visit(s *jsonschema.Schema, value any, depth int) bool {
	if s == nil {
		return true
	}
	if b.left--; b.left < 0 || depth > maxInPlace {
		return false
	}
	for _, sub := range inPlace(s) {
		if !b.visit(sub, value, depth+1) {
			return false
		}
	}
	switch v := value.(type) {
	case map[string]any:
		for name, e := range v {
			if !b.all(property(s, name), e, depth) {
				return false
			}
		}
	case []any:
		for i, e := range v {
			if !b.all(item(s, i), e, depth) {
				return false
			}
		}
	}
	return true
}

func (b *budget) all(subs []*jsonschema.Schema, value any, depth int) bool {
	for _, sub := range subs {
		if !b.visit(sub, value, depth+1) {
			return false
		}
	}
	return true
}

// inPlace lists the schemas that are applied to the same value.
func inPlace(s *jsonschema.Schema) []*jsonschema.Schema {
	subs := []*jsonschema.Schema{s.Ref, s.RecursiveRef, s.Not, s.If, s.Then, s.Else}
	if s.DynamicRef != nil {
		subs = append(subs, s.DynamicRef.Ref)
	}
	for _, list := range [][]*jsonschema.Schema{s.AllOf, s.AnyOf, s.OneOf} {
		subs = append(subs, list...)
	}
	for _, sub := range s.DependentSchemas {
		subs = append(subs, sub)
	}
	for _, dep := range s.Dependencies {
		if sub, ok := dep.(*jsonschema.Schema); ok {
			subs = append(subs, sub)
		}
	}
	return subs
}

// property lists the schemas that may be applied to a property's value.
func property(s *jsonschema.Schema, name string) []*jsonschema.Schema {
	subs := []*jsonschema.Schema{s.Properties[name], s.UnevaluatedProperties}
	for _, sub := range s.PatternProperties {
		subs = append(subs, sub)
	}
	if sub, ok := s.AdditionalProperties.(*jsonschema.Schema); ok {
		subs = append(subs, sub)
	}
	return subs
}

// item lists the schemas that may be applied to an array's element.
func item(s *jsonschema.Schema, i int) []*jsonschema.Schema {
	subs := []*jsonschema.Schema{s.Contains, s.Items2020, s.UnevaluatedItems}
	if i < len(s.PrefixItems) {
		subs = append(subs, s.PrefixItems[i])
	}
	switch items := s.Items.(type) {
	case *jsonschema.Schema:
		subs = append(subs, items)
	case []*jsonschema.Schema:
		if i < len(items) {
			subs = append(subs, items[i])
		}
	}
	if sub, ok := s.AdditionalItems.(*jsonschema.Schema); ok {
		subs = append(subs, sub)
	}
	return subs
}
