package actors

import (
	"clm/actors/internal/schema"
	"clm/actors/internal/tool"
)

// prepare makes a tool's schema valid and compiles it, once for all agents of
// the set. A schema that cannot be compiled (a pattern that Go does not know)
// is advertised all the same, and checked by nobody but the tool.
func prepare(e *entry) error {
	if e.check != nil {
		return nil // taken over from another set
	}
	raw, err := schema.Normalise(e.tool.Schema)
	if err != nil {
		return err
	}
	t := *e.tool
	t.Schema = raw
	e.tool = &t
	e.check = lazyCheck(&t)
	return nil
}

func lazyCheck(t *tool.Tool) func(string) string {
	compiled := schema.Lazy(t.Schema)
	return func(args string) string {
		s, err := compiled()
		if err != nil {
			return ""
		}
		return s.Check(args)
	}
}
