package config

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// profileKeys are the keys of a profile.
func profileKeys() []Key {
	return slices.DeleteFunc(Schema(), func(k Key) bool { return k.Name == "agent" })
}

// Profiles returns the names of all profiles, sorted.
func (c *Config) Profiles() []string {
	names := sortedKeys(c.Agents)
	files, _ := filepath.Glob(filepath.Join(globEscape(c.Dir), "agents", "*.lua"))
	for _, f := range files {
		names = append(names, strings.TrimSuffix(filepath.Base(f), ".lua"))
	}
	slices.Sort(names)
	return slices.Compact(names)
}

func globEscape(s string) string {
	return strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`).Replace(s)
}

// Profile returns the configuration of an agent that another one starts: the
// named profile over everything but the running profile, flags and environment
// included. A model that the profile names with its provider wins over -u and
// --provider too.
func (c *Config) Profile(name string) (*Config, []Warning, error) {
	l := *c.load
	l.warns, l.errs, l.files = nil, nil, slices.Clone(c.load.files)
	l.hide = c.load.hide.clone()
	p := l.profile(name, c.layers)
	if len(l.errs) > 0 {
		return l.end(nil)
	}
	cfg := l.build(name, []layer{defaults(), l.base, l.environ, l.flags, p})
	l.checkPaths(cfg)
	return l.end(cfg)
}

// profile reads agents/NAME.lua, or the inline profile of the highest layer
// that has one.
func (l *loader) profile(name string, layers []layer) layer {
	if problem := checkName(name); problem != "" {
		l.fail(&Error{Key: "agent", Text: problem})
		return layer{}
	}
	path := filepath.Join(l.dir, "agents", name+".lua")
	var inline layer
	for _, la := range layers {
		all, _ := la.values["agents"].(map[string]any)
		if m, ok := all[name].(map[string]any); ok {
			inline = layer{file: la.file, lines: la.lines, prefix: []string{"agents", name}, values: m}
		}
	}
	if _, err := os.Stat(path); err == nil {
		if inline.file != "" {
			l.warns = append(l.warns, Warning{File: inline.file, Line: inline.line(nil), Key: dotted(inline.prefix), Text: fmt.Sprintf("is not used, as %s exists", path)})
		}
		return l.readFile(path, profileKeys())
	}
	if inline.file == "" {
		var there []string
		if cfg := l.build("", layers); cfg != nil {
			there = cfg.Profiles()
		}
		l.fail(&Error{Key: "agent", Text: noProfile(name, there)})
		return layer{}
	}
	inline.values = l.checked(inline)
	return inline
}

// checked holds an inline profile against its keys; what is wrong with it was
// already reported by checkInline.
func (l *loader) checked(la layer) map[string]any {
	c := checker{file: la.file, lines: la.lines}
	return c.table(la.values, profileKeys(), la.prefix)
}

// checkInline checks the profiles inside config.lua, used or not.
func (l *loader) checkInline() {
	all, _ := l.base.values["agents"].(map[string]any)
	for _, name := range sortedKeys(all) {
		at := []string{"agents", name}
		if problem := checkName(name); problem != "" {
			l.fail(&Error{File: l.base.file, Line: l.base.lines.line(at), Key: dotted(at), Text: problem})
		}
		if m, ok := all[name].(map[string]any); ok {
			l.check(l.base.file, l.base.lines, m, profileKeys(), at)
		}
	}
}
