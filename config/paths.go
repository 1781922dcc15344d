package config

import (
	"fmt"
	"path/filepath"
	"strings"
)

// checkPaths warns about paths that can never match: a person believes then
// that something is allowed, or denied, that is not.
func (l *loader) checkPaths(c *Config) {
	l.doubt(c, []string{"permissions", "allow"}, rulePaths(c.Permissions.Allow))
	l.doubt(c, []string{"permissions", "deny"}, rulePaths(c.Permissions.Deny))
	for _, name := range sortedKeys(c.Plugins) {
		l.doubt(c, []string{"plugins", name, "files", "read"}, c.Plugins[name].Files.Read)
		l.doubt(c, []string{"plugins", name, "files", "write"}, c.Plugins[name].Files.Write)
	}
}

func rulePaths(rules []string) (out []string) {
	for _, r := range rules {
		if path, ok := strings.CutPrefix(r, "file:"); ok {
			out = append(out, path)
		}
	}
	return out
}

func (l *loader) doubt(c *Config, key, paths []string) {
	for _, p := range paths {
		if why := l.never(p); why != "" && key[len(key)-1] != "deny" || why == noVariable || why == noUser {
			o := c.origin(key)
			l.warns = append(l.warns, Warning{File: o.place(), Line: o.Line, Key: dotted(key), Text: fmt.Sprintf("%q never matches: %s", p, why)})
		}
	}
}

const (
	noVariable = "variables are not replaced; write the path out, or ~/"
	noUser     = "only ~/ is a home folder, no other ~"
)

// never says why a path never matches, or "".
func (l *loader) never(path string) string {
	if strings.Contains(path, "${") || strings.HasPrefix(path, "$") {
		return noVariable
	}
	if strings.HasPrefix(path, "~") && path != "~" && !strings.HasPrefix(path, "~/") {
		return noUser
	}
	if rest, ok := strings.CutPrefix(path, "~/"); ok {
		path = filepath.Join(l.env["HOME"], rest)
	}
	for _, dir := range []string{l.dir, "/proc", "/sys", "/dev"} {
		if path = filepath.Clean(path); path == dir || strings.HasPrefix(path, dir+"/") {
			return "nothing in " + dir + " is ever opened by a tool"
		}
	}
	return ""
}
