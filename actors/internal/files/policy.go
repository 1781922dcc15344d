package files

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"clm/actors/internal/glob"
)

// Class says what a plugin may do with a path.
type Class int

// The classes. The zero value is the careful one.
const (
	Never Class = iota // not even when a person says yes
	Ask                // inside a call, when a person or a rule says yes
	Free
)

func (c Class) String() string { return [...]string{"never", "ask", "free"}[c] }

// Op is what a plugin wants.
type Op int

// The operations.
const (
	OpRead Op = iota
	OpWrite
)

// Roots are the places that one plugin's files may be in. What Read and Write
// name frees itself and, being a folder, all below it; with a wildcard it is a
// pattern that frees what it matches, and all below that when it ends in a
// slash. What stands before the first wildcard may lead over links.
type Roots struct {
	Dir         string   // working folder, absolute; free below it
	Data        string   // the plugin's own folder; free below it; may not exist yet
	Home        string   // what ~/ in Read and Write means
	Read, Write []string // what is free to read, or to write: see below
	Private     []string // folders and files that are never opened: clm's own; resolved
}

// Policy is compiled Roots. It is immutable.
type Policy struct {
	roots Roots
	free  [2][]allowance // by Op
}

// allowance frees a place and all below it, or what a pattern matches.
type allowance struct {
	root    string // resolved; empty: the pattern counts
	pattern glob.Pattern
}

func (a allowance) covers(real string) bool {
	if a.root != "" {
		return Within(a.root, real)
	}
	return a.pattern.Match(filepath.ToSlash(real))
}

// systems are folders whose files are not files.
var systems = []string{"/proc", "/sys", "/dev"}

// NewPolicy compiles Roots. An error names the pattern that is wrong.
func NewPolicy(r Roots) (*Policy, error) {
	p := &Policy{roots: r}
	for op, patterns := range [][]string{r.Read, r.Write} {
		for _, text := range patterns {
			free, err := r.allowance(text)
			if err != nil {
				return nil, fmt.Errorf("files.%s: %q: %w", [...]string{"read", "write"}[op], text, err)
			}
			p.free[op] = append(p.free[op], free)
		}
	}
	return p, nil
}

// allowance compiles one text of Read or Write.
func (r Roots) allowance(text string) (allowance, error) {
	abs := text
	if rest, ok := strings.CutPrefix(text+"/", "~/"); ok && r.Home != "" {
		abs = glob.Quote(filepath.ToSlash(r.Home)) + "/" + strings.TrimSuffix(rest, "/")
	} else if !filepath.IsAbs(text) {
		abs = glob.Quote(filepath.ToSlash(r.Dir)) + "/" + text
	}
	head, rest := glob.Split(filepath.ToSlash(abs))
	real, err := Resolve(r.Dir, head)
	if err != nil {
		return allowance{}, err
	}
	if rest == "" {
		return allowance{root: real}, nil
	}
	if strings.HasSuffix(rest, "/") {
		rest += "**"
	}
	pattern, err := glob.CompilePath(glob.Quote(strings.TrimSuffix(filepath.ToSlash(real), "/")) + "/" + rest)
	return allowance{pattern: pattern}, err
}

// Check says where a path that a plugin gave leads, and what it may do there.
// [Read] and [Write] take the resolved path. A path that cannot be resolved is
// an error.
func (p *Policy) Check(path string, op Op) (real string, c Class, err error) {
	real, err = Resolve(p.roots.Dir, path)
	if err != nil {
		return "", Never, err
	}
	return real, p.classify(real, op), nil
}

func (p *Policy) classify(real string, op Op) Class {
	if IsSystem(real) || Private(p.roots.Private, real) {
		return Never
	}
	for _, dir := range []string{p.roots.Dir, p.roots.Data} {
		if dir == "" {
			continue
		}
		if root, err := Resolve(p.roots.Dir, dir); err == nil && Within(root, real) {
			return Free
		}
	}
	for _, free := range p.free[op] {
		if free.covers(real) {
			return Free
		}
	}
	return Ask
}

// IsSystem tells whether a resolved path lies in /proc, /sys or /dev.
func IsSystem(real string) bool {
	for _, dir := range systems {
		if Within(dir, real) {
			return true
		}
	}
	return false
}

// Private tells whether a resolved path is one of the resolved private paths
// or lies below one, also by another name for it (letter case, a bind mount).
func Private(private []string, real string) bool {
	for _, dir := range private {
		if Within(dir, real) {
			return true
		}
	}
	for at := real; len(private) > 0; at = filepath.Dir(at) {
		if info, err := os.Stat(at); err == nil {
			for _, dir := range private {
				if other, err := os.Stat(dir); err == nil && os.SameFile(info, other) {
					return true
				}
			}
		}
		if at == filepath.Dir(at) {
			break
		}
	}
	return false
}
