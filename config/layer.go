package config

import (
	"errors"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/go-viper/mapstructure/v2"
	"github.com/knadh/koanf/maps"
	"github.com/knadh/koanf/providers/env/v2"
	"github.com/knadh/koanf/providers/posflag"
	"github.com/knadh/koanf/v2"
	"github.com/spf13/pflag"
)

// delim separates path elements inside koanf; no key holds it, while model ids
// hold dots and slashes.
const delim = "\x1f"

// layer is one checked source of values.
type layer struct {
	file   string            // path, or "default", "environment", "flag"
	lines  *keyLines         // of a file; nil when the layer has none
	prefix []string          // where an inline profile is in its file
	names  map[string]string // of the environment and flags: key to variable or flag
	values map[string]any
}

func (la layer) line(path []string) int { return la.lines.line(slices.Concat(la.prefix, path)) }

func (la layer) origin(path []string) Origin {
	o := Origin{File: la.file, Line: la.line(path)}
	if len(path) > 0 {
		o.Name = la.names[path[0]]
	}
	return o
}

// leaves calls f for each value that is not a table with keys.
func leaves(m map[string]any, path []string, f func(path []string, v any)) {
	for _, k := range sortedKeys(m) {
		at := append(path[:len(path):len(path)], k)
		if sub, ok := m[k].(map[string]any); ok && len(sub) > 0 {
			leaves(sub, at, f)
			continue
		}
		f(at, m[k])
	}
}

// has says whether the layer's value at path is a leaf, as [leaves] has them.
func (la layer) has(path []string) bool {
	var v any = la.values
	for _, p := range path {
		m, _ := v.(map[string]any)
		var ok bool
		if v, ok = m[p]; !ok {
			return false
		}
	}
	m, _ := v.(map[string]any)
	return len(m) == 0
}

// origin says which layer a leaf of the merged configuration is from.
func (c *Config) origin(path []string) Origin {
	for _, la := range slices.Backward(c.layers) {
		if la.has(path) {
			return la.origin(path)
		}
	}
	return Origin{}
}

// raw is koanf's provider of values that are already there.
type raw map[string]any

func (r raw) Read() (map[string]any, error) { return r, nil }

func (raw) ReadBytes() ([]byte, error) { return nil, errors.New("config: raw holds no bytes") }

func defaults() layer {
	la := layer{file: "default", values: map[string]any{}}
	for _, k := range schema() {
		if k.Default != nil {
			la.values[k.Name] = k.Default
		}
	}
	return la
}

// build merges layers, the later winning, and decodes them.
func (l *loader) build(name string, layers []layer) *Config {
	k := koanf.New(delim)
	cfg := &Config{Dir: l.dir, Files: l.files, load: l, layers: layers}
	all := map[string]any{}
	for _, la := range layers {
		maps.Merge(copyTables(la.values), all)
		s, ok := la.values["model"].(string)
		if flags := la.file == "flag"; ok || flags {
			cfg.chain = append(cfg.chain, spec{text: s, from: la, flags: flags})
		}
	}
	// Once: at each load koanf makes its tables of all paths anew.
	if err := k.Load(raw(all), nil); err != nil {
		l.fail(err)
	}
	err := k.UnmarshalWithConf("", cfg, koanf.UnmarshalConf{DecoderConfig: &mapstructure.DecoderConfig{
		Result: cfg, TagName: "koanf", ErrorUnused: true,
		MatchName: func(key, field string) bool { return key == field },
	}})
	if err != nil { // the check above takes nothing that decoding refuses
		l.fail(err)
	}
	cfg.merged, cfg.Agent, cfg.APIKey = all, name, Secret(l.env["CLM_API_KEY"])
	cfg.PluginDirs = []string{filepath.Join(l.dir, "plugins")}
	if name != "" {
		cfg.PluginDirs = append(cfg.PluginDirs, filepath.Join(l.dir, "agents", name))
	}
	cfg.complete()
	return cfg
}

// copyTables copies what a merge writes to, which is the tables.
func copyTables(m map[string]any) map[string]any {
	out := make(map[string]any, len(m))
	for k, v := range m {
		if sub, ok := v.(map[string]any); ok {
			v = copyTables(sub)
		}
		out[k] = v
	}
	return out
}

// complete fills in what depends on other values.
func (c *Config) complete() {
	if c.AutocompactPct == 0 {
		c.AutocompactPct = defaultPct
	}
	for name, p := range c.Providers {
		if p.Kind == "" {
			p.Kind = "openai"
		}
		if p.URL = cleanURL(p.URL); p.URL == "" {
			p.URL = defaultURL(p.Kind)
		}
		c.Providers[name] = p
	}
	for i := range c.MCPServers {
		s := &c.MCPServers[i]
		if s.Transport == "" {
			s.Transport = "http"
			if len(s.Command) > 0 {
				s.Transport = "stdio"
			}
		}
		if s.TimeoutMS == 0 {
			s.TimeoutMS = 30_000
		}
	}
}

// readFlags takes the flags that the person set.
func (l *loader) readFlags() layer {
	out := layer{file: "flag", values: map[string]any{}, names: map[string]string{}}
	if l.o.Flags == nil {
		return out
	}
	m, err := posflag.ProviderWithFlag(l.o.Flags, delim, nil, func(f *pflag.Flag) (string, any) {
		key := f.Annotations[FlagKey]
		if !f.Changed || len(key) == 0 {
			return "", nil
		}
		out.names[key[0]] = "--" + f.Name
		return key[0], posflag.FlagVal(l.o.Flags, f)
	}).Read()
	if err != nil {
		l.fail(err)
	}
	for _, key := range sortedKeys(m) {
		if v, ok := l.check(out.names[key], nil, map[string]any{key: m[key]}, schema(), nil)[key]; ok {
			out.values[key] = v
		}
	}
	return out
}

// otherEnv are the variables that are no settings.
func otherEnv() []string {
	return []string{"CLM_API_KEY", "CLM_DEBUG_LOG", "CLM_DEBUG_LEVEL"}
}

// readEnv takes CLM_<KEY> for each top-level key.
func (l *loader) readEnv() layer {
	out := layer{file: "environment", values: map[string]any{}, names: map[string]string{}}
	keys := map[string]Key{}
	known := otherEnv()
	for _, k := range schema() {
		name := "CLM_" + strings.ToUpper(k.Name)
		keys[name] = k
		known = append(known, name)
	}
	m, err := env.Provider("", env.Opt{
		Prefix:      "CLM_",
		EnvironFunc: func() []string { return l.o.Env },
		TransformFunc: func(name, value string) (string, any) {
			k, ok := keys[name]
			if !ok && !slices.Contains(known, name) {
				if n := nearest(strings.ToLower(name), lower(known)); n != "" {
					l.warns = append(l.warns, Warning{File: "environment", Key: name, Text: "is not known; the nearest is " + strings.ToUpper(n)})
				}
			}
			if !ok || value == "" {
				return "", nil
			}
			out.names[k.Name] = name
			v, ok := l.envValue(name, value, k)
			if !ok {
				return "", nil
			}
			return k.Name, v
		},
	}).Read()
	if err != nil {
		l.fail(err)
	}
	for _, key := range sortedKeys(m) {
		if v, ok := l.check(out.names[key]+" in the environment", nil, map[string]any{key: m[key]}, schema(), nil)[key]; ok {
			out.values[key] = v
		}
	}
	return out
}

func lower(in []string) (out []string) {
	for _, s := range in {
		out = append(out, strings.ToLower(s))
	}
	return out
}

// envValue reads a variable's text as its key's type: tables and lists as a
// Lua table, lists of texts also with commas. What it cannot read stays a
// text, which the check then refuses; false means that it was reported.
func (l *loader) envValue(name, value string, k Key) (any, bool) {
	switch k.Type {
	case Bool:
		if b, err := strconv.ParseBool(value); err == nil {
			return b, true
		}
	case Int, Number:
		if n, err := strconv.ParseInt(value, 10, 64); err == nil {
			return n, true
		}
		if f, err := strconv.ParseFloat(value, 64); err == nil {
			return f, true
		}
	case List, Map, Table:
		if strings.HasPrefix(strings.TrimSpace(value), "{") {
			v, err := evalLua(name+" in the environment", "return "+value, nil)
			if err != nil {
				l.fail(err)
			}
			return v, err == nil
		}
		if k.Type == List && k.Elem.Type == String {
			var list []any
			for s := range strings.SplitSeq(value, ",") {
				list = append(list, strings.TrimSpace(s))
			}
			return list, true
		}
	}
	return value, true
}
