package config

import (
	"fmt"
	"net/url"
	"path"
	"strings"
)

// The checks of single values. Each returns what is wrong, as the end of a
// sentence that begins with the key, or "".

// checkName holds for names that become part of a path or of a tool's name.
func checkName(v any) string {
	s := v.(string)
	if s == "" || len(s) > 64 {
		return "must have 1 to 64 characters"
	}
	if strings.HasPrefix(s, ".") {
		return "must not begin with a dot"
	}
	for _, r := range s {
		if !strings.ContainsRune("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-", r) {
			return "may hold letters, digits, '_', '-' and '.' only"
		}
	}
	return ""
}

func checkGlob(v any) string {
	if _, err := path.Match(v.(string), ""); err != nil {
		return fmt.Sprintf("%q is not a pattern: a '[' is not closed or a '\\' ends it", v)
	}
	if v.(string) == "" {
		return "must not be empty"
	}
	return ""
}

// checkRule holds for permission rules: GLOB, shell_exec:GLOB, file:GLOB.
func checkRule(v any) string {
	s := v.(string)
	if kind, glob, ok := strings.Cut(s, ":"); ok {
		if kind != "shell_exec" && kind != "bg_exec" && kind != "file" {
			return fmt.Sprintf("%q: before the ':' may stand shell_exec, bg_exec or file", s)
		}
		if glob == "" {
			return fmt.Sprintf("%q needs a pattern after the ':'", s)
		}
		return "" // commands are free text; their patterns are read leniently
	}
	return checkGlob(v)
}

// CheckRule says what is wrong with a permission rule from the command line,
// or "".
func CheckRule(rule string) string { return checkRule(rule) }

func checkURL(v any) string {
	u, err := url.Parse(v.(string))
	if err != nil {
		return "cannot be read: one begins with http:// or https://, a host and perhaps a port"
	}
	if (u.Scheme != "http" && u.Scheme != "https") || u.Host == "" {
		return "must begin with http:// or https:// and a host"
	}
	if u.RawQuery != "" || u.Fragment != "" {
		return "must not hold a query or fragment"
	}
	return ""
}

// checkProviderNames holds that a SPEC can name each.
func checkProviderNames(v any) string {
	for _, name := range sortedKeys(v.(map[string]any)) {
		if strings.Contains(name, "/") {
			return fmt.Sprintf("%q: no name of a provider holds a '/', as provider/model-id is split at the first", name)
		}
	}
	return ""
}

func checkHeaderNames(v any) string {
	for name := range v.(map[string]any) {
		if name == "" || strings.ContainsFunc(name, func(r rune) bool {
			return r <= ' ' || r >= 127 || strings.ContainsRune(`()<>@,;:\"/[]?={}`, r)
		}) {
			return fmt.Sprintf("%q is not a header name", name)
		}
	}
	return ""
}

func checkHeaderValue(v any) string {
	if strings.ContainsFunc(v.(string), func(r rune) bool { return r < ' ' && r != '\t' || r == 127 }) {
		return "holds a control character"
	}
	return ""
}

// checkMCP holds what the keys of one server mean together.
func checkMCP(v any) string {
	m := v.(map[string]any)
	command, _ := m["command"].([]any)
	address, _ := m["url"].(string)
	switch transport, _ := m["transport"].(string); {
	case len(command) > 0 && address != "":
		return "has both a command and a url: keep one"
	case transport == "stdio" && len(command) == 0:
		return `needs command = { "PROGRAM", … } for transport "stdio"`
	case transport == "http" && address == "":
		return `needs url = "https://…" for transport "http"`
	case len(command) == 0 && address == "":
		return "needs a command or a url"
	}
	return ""
}

func checkMCPNames(v any) string {
	seen := map[string]bool{}
	for _, e := range v.([]any) {
		m, _ := e.(map[string]any)
		name, _ := m["name"].(string)
		if seen[name] && name != "" {
			return fmt.Sprintf("two servers are named %q", name)
		}
		seen[name] = true
	}
	return ""
}

// cleanURL brings a base endpoint into its normal form: without a trailing
// slash or a dialect's request path.
func cleanURL(s string) string {
	s = strings.TrimRight(s, "/")
	for _, p := range []string{"/chat/completions", "/messages", "/responses"} {
		s = strings.TrimSuffix(s, p)
	}
	return strings.TrimRight(s, "/")
}

// nearest returns the candidate closest to name, or "" when none is close
// enough to be what was meant.
func nearest(name string, candidates []string) string {
	best, dist := "", max(2, len(name)/3)+1
	for _, c := range candidates {
		if d := distance(strings.ToLower(name), c, dist); d < dist {
			best, dist = c, d
		}
	}
	return best
}

// distance is the number of edits (insert, delete, replace, swap of
// neighbours) between two texts, or limit when there are that many.
func distance(a, b string, limit int) int {
	if len(a) > 64 || len(b) > 64 || max(len(a)-len(b), len(b)-len(a)) >= limit {
		return limit
	}
	rows := [3][]int{make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)}
	for j := range rows[1] {
		rows[1][j] = j
	}
	for i := 1; i <= len(a); i++ {
		before, prev, cur := rows[0], rows[1], rows[2]
		cur[0] = i
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			cur[j] = min(prev[j]+1, cur[j-1]+1, prev[j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				cur[j] = min(cur[j], before[j-2]+1)
			}
		}
		rows = [3][]int{prev, cur, before}
	}
	return min(rows[1][len(b)], limit)
}
