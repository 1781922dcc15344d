package config

import (
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// Line is one value of the merged configuration.
type Line struct {
	Key    string // providers.lab.models["gpt-4.1"].context_size
	Value  string // as Lua writes it; secrets are "[secret]"
	Origin Origin
}

// Show lists the merged configuration, sorted by key.
func (c *Config) Show() []Line {
	var out []Line
	leaves(c.merged, nil, func(path []string, v any) {
		value := c.load.hide.clean(luaText(v))
		if s, ok := v.(string); ok && s != "" && isSecretPath(path, c.load.hide.texts, s) {
			value = strconv.Quote(hidden)
		}
		out = append(out, Line{Key: c.load.hide.clean(dotted(path)), Value: value, Origin: c.origin(path)})
	})
	return out
}

// isSecretPath says whether a value is hidden whatever its length.
func isSecretPath(path, secrets []string, value string) bool {
	last := path[len(path)-1]
	return last == "api_key" || slices.Contains(path, "headers") || slices.Contains(secrets, value)
}

// luaText writes a value as Lua does.
func luaText(v any) string {
	switch v := v.(type) {
	case string:
		if u, err := url.Parse(v); err == nil && u.User != nil && u.Host != "" {
			v = u.Redacted()
		}
		return strconv.Quote(v)
	case []any:
		parts := make([]string, len(v))
		for i, e := range v {
			parts[i] = luaText(e)
		}
		if len(parts) == 0 {
			return "{}"
		}
		return "{ " + strings.Join(parts, ", ") + " }"
	case map[string]any:
		var parts []string
		for _, k := range sortedKeys(v) {
			text := luaText(v[k])
			if k == "api_key" || k == "headers" {
				text = strconv.Quote(hidden)
			}
			name := k
			if !isIdent(k) {
				name = fmt.Sprintf("[%q]", k)
			}
			parts = append(parts, name+" = "+text)
		}
		if len(parts) == 0 {
			return "{}"
		}
		return "{ " + strings.Join(parts, ", ") + " }"
	}
	return fmt.Sprint(v)
}

// String is the origin for a person: "config.lua:3", "CLM_MODEL", "default".
func (o Origin) String() string {
	switch {
	case o.File == "environment" || o.File == "flag":
		return o.Name
	case o.Line > 0:
		return fmt.Sprintf("%s:%d", o.File, o.Line)
	}
	return o.File
}
