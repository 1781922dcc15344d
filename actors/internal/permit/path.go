package permit

import (
	"path/filepath"
	"strings"

	"clm/actors/internal/glob"
)

// rooted makes a path pattern absolute.
func rooted(pattern string, o Options) string {
	if rest, ok := strings.CutPrefix(pattern+"/", "~/"); ok && o.Home != "" {
		return glob.Quote(filepath.ToSlash(o.Home)) + "/" + strings.TrimSuffix(rest, "/")
	}
	if pattern == "" || filepath.IsAbs(pattern) || strings.HasPrefix(pattern, "**") {
		return filepath.ToSlash(pattern)
	}
	return glob.Quote(filepath.ToSlash(o.Dir)) + "/" + strings.TrimPrefix(pattern, "./")
}

// allowedPaths are the patterns of an allow rule: what it matches, and all below
// when it names a folder without a wildcard, or ends in a slash.
func allowedPaths(pattern string) []string {
	head, rest := glob.Split(pattern)
	real := glob.Quote(resolved(head))
	switch {
	case head == "":
		return []string{pattern}
	case rest == "":
		return []string{real, below(real, "/**")}
	case strings.HasSuffix(rest, "/"):
		rest += "**"
	}
	return []string{below(real, "/") + rest}
}

// deniedPaths are the patterns of a deny rule: what it matches and all below, as
// it is written and as links resolve.
func deniedPaths(pattern string) []string {
	pattern = strings.TrimSuffix(pattern, "/")
	out := []string{pattern, below(pattern, "/*")}
	head, rest := glob.Split(pattern)
	if head == "" {
		return out
	}
	for _, h := range []string{filepath.ToSlash(filepath.Clean(head)), resolved(head)} {
		p := glob.Quote(h)
		if rest != "" {
			p = below(p, "/") + rest
		}
		if p != pattern {
			out = append(out, p, below(p, "/*"))
		}
	}
	return out
}

func below(folder, rest string) string { return strings.TrimSuffix(folder, "/") + rest }

// resolved is where an absolute path leads; what does not exist of it stays.
func resolved(path string) string {
	path = filepath.Clean(path)
	for at, tail := path, ""; ; at, tail = filepath.Dir(at), filepath.Join(filepath.Base(at), tail) {
		if real, err := filepath.EvalSymlinks(at); err == nil {
			return filepath.ToSlash(filepath.Join(real, tail))
		}
		if at == filepath.Dir(at) {
			return filepath.ToSlash(path)
		}
	}
}
