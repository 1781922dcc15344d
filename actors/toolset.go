package actors

import (
	"fmt"
	"path"
	"slices"

	"clm/actors/internal/tool"
	"clm/llm"
)

type (
	// Tool is a tool in Go.
	Tool = tool.Tool
	// ToolCall is one call of a [Tool].
	ToolCall = tool.Call
	// ToolOutput is what a [Tool] gives back.
	ToolOutput = tool.Result
)

// Toolset is an immutable set of tools, shared by any number of agents.
type Toolset struct {
	byName  map[string]*entry
	order   []*entry
	specs   []llm.Tool             // what a model is told, in the order of adding
	plugins map[string]*pluginFile // by id
}

// entry is a tool and where it comes from.
type entry struct {
	tool   *tool.Tool
	plugin *pluginFile // nil: Go
	sub    bool        // the tool that starts sub-agents
	check  func(args string) string
}

// ToolSource is a group of tools: [GoTools] or *[Plugins].
type ToolSource interface{ entries() []*entry }

// GoTools are tools in Go.
type GoTools []Tool

func (g GoTools) entries() []*entry {
	out := make([]*entry, len(g))
	for i := range g {
		t := g[i]
		out[i] = &entry{tool: &t}
	}
	return out
}

// NewToolset makes a set of groups, in their order. A name may come once.
func NewToolset(groups ...ToolSource) (*Toolset, error) {
	t := &Toolset{byName: map[string]*entry{}, plugins: map[string]*pluginFile{}}
	for _, g := range groups {
		if g == nil {
			continue
		}
		for _, e := range g.entries() {
			if err := t.add(e); err != nil {
				return nil, err
			}
		}
	}
	return t, nil
}

func (t *Toolset) add(e *entry) error {
	name := e.tool.Name
	if why := badName(name); why != "" {
		return fmt.Errorf("tool %q: %s", name, why)
	}
	if e.plugin == nil && !e.sub && e.tool.Run == nil {
		return fmt.Errorf("tool %q: it has no function Run", name)
	}
	if _, taken := t.byName[name]; taken {
		return fmt.Errorf("tool %q: the name is taken", name)
	}
	if p := e.plugin; p != nil && t.plugins[p.id] != nil && t.plugins[p.id] != p {
		return fmt.Errorf("tool %q: another plugin named %s is in the set; load both with one LoadPlugins", name, p.id)
	}
	if err := prepare(e); err != nil {
		return fmt.Errorf("tool %q: %w", name, err)
	}
	t.byName[name] = e
	t.order = append(t.order, e)
	if e.plugin != nil {
		t.plugins[e.plugin.id] = e.plugin
	}
	if !e.tool.Hidden {
		t.specs = append(t.specs, llm.Tool{Name: name, Description: e.tool.Description, Schema: e.tool.Schema})
	}
	return nil
}

func badName(name string) string {
	if name == "" || len(name) > 64 {
		return "a tool's name has 1 to 64 characters"
	}
	for _, r := range name {
		if (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && r != '_' && r != '-' {
			return "a tool's name has letters, digits, _ and - only"
		}
	}
	return ""
}

// with is the set and one more group.
func (t *Toolset) with(groups ...ToolSource) (*Toolset, error) {
	return NewToolset(append([]ToolSource{t}, groups...)...)
}

func (t *Toolset) entries() []*entry {
	if t == nil {
		return nil
	}
	return t.order
}

// without is the set without one tool.
func (t *Toolset) without(name string) (*Toolset, error) {
	if t.get(name) == nil {
		return nil, fmt.Errorf("tool %q: there is none", name)
	}
	return NewToolset(some(slices.DeleteFunc(slices.Clone(t.order), func(e *entry) bool { return e.tool.Name == name })))
}

// reloaded is the set with other plugins in the place of its own.
func (t *Toolset) reloaded(p *Plugins) (*Toolset, error) {
	old := t.entries()
	at := slices.IndexFunc(old, func(e *entry) bool { return e.plugin != nil })
	if at < 0 {
		at = len(old)
	}
	rest := slices.DeleteFunc(slices.Clone(old[at:]), func(e *entry) bool { return e.plugin != nil })
	return NewToolset(some(old[:at]), p, some(rest))
}

type some []*entry

func (s some) entries() []*entry { return s }

func (t *Toolset) get(name string) *entry {
	if t == nil {
		return nil
	}
	return t.byName[name]
}

func (t *Toolset) plugin(id string) *pluginFile {
	if t == nil {
		return nil
	}
	return t.plugins[id]
}

func (t *Toolset) tools() []llm.Tool {
	if t == nil {
		return nil
	}
	return t.specs
}

// List is the tools of the set, in order, hidden ones included.
func (t *Toolset) List() []Tool {
	var out []Tool
	for _, e := range t.entries() {
		out = append(out, *e.tool)
	}
	return out
}

// matcher is a function that tells whether a tool's name matches one of some
// shell-style patterns.
func matcher(patterns []string) (func(string) bool, error) {
	for _, p := range patterns {
		if _, err := path.Match(p, ""); err != nil {
			return nil, fmt.Errorf("volatile tools: pattern %q: %w", p, err)
		}
	}
	patterns = slices.Clone(patterns)
	return func(name string) bool {
		return slices.ContainsFunc(patterns, func(p string) bool {
			ok, err := path.Match(p, name)
			return err == nil && ok
		})
	}, nil
}
