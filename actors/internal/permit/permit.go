package permit

import (
	"encoding/json"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"clm/actors/internal/glob"
)

// Verdict is what the rules say about a call.
type Verdict int

// The verdicts. The zero value is the careful one.
const (
	Ask Verdict = iota
	Allow
	Deny
)

func (v Verdict) String() string { return [...]string{"ask", "allow", "deny"}[v] }

// Options are the rules as they are configured.
type Options struct {
	Allow, Deny []string
	AllowAll    bool   // --yes: what no rule denies is allowed
	Dir         string // absolute working folder: where relative file: patterns begin
	Home        string // what ~/ in a file: pattern means; empty takes ~ literally
}

// Query is a call to judge.
type Query struct {
	Tool     string // name of the tool, or of the plugin's tool that wants a file
	Args     string // raw JSON object text
	NoPrompt bool   // the tool needs no question

	// Path is the absolute path that the call touches, its links resolved;
	// empty when it touches none or the caller does not know.
	Path string
	// Access is set when a plugin wants Path during a call of Tool: then the
	// question is about the file alone.
	Access Access
}

// Access is what a plugin wants to do with a file.
type Access string

// The kinds of access.
const (
	NoAccess Access = ""
	Read     Access = "read"
	Write    Access = "write"
)

// Rules are compiled rules and remembered answers. They are immutable.
type Rules struct {
	allow, deny []rule
	answers     map[string]Verdict // by scope
	allowAll    bool
	dir         string
}

type target int

const (
	byTool target = iota
	byCommand
	byPath
)

type rule struct {
	target   target
	patterns []glob.Pattern // one of them has to match; for a path there are several
	text     string
}

func (r rule) match(s string) bool {
	return slices.ContainsFunc(r.patterns, func(p glob.Pattern) bool { return p.Match(s) })
}

// New compiles rules. An error names the rule and what is wrong with it.
func New(o Options) (*Rules, error) {
	r := &Rules{allowAll: o.AllowAll, dir: o.Dir}
	var err error
	if r.allow, err = compile(o.Allow, o, false); err != nil {
		return nil, fmt.Errorf("permissions.allow: %w", err)
	}
	if r.deny, err = compile(o.Deny, o, true); err != nil {
		return nil, fmt.Errorf("permissions.deny: %w", err)
	}
	return r, nil
}

func compile(texts []string, o Options, deny bool) ([]rule, error) {
	rules := make([]rule, 0, len(texts))
	for _, text := range texts {
		r := rule{text: text}
		what, pattern, found := strings.Cut(text, ":")
		match, patterns := glob.Compile, func() []string { return []string{pattern} }
		switch {
		case !found:
			pattern = text
		case isCommand(what):
			r.target, pattern = byCommand, normalise(pattern)
		case what == "file":
			r.target = byPath
			patterns = func() []string { return deniedPaths(rooted(pattern, o)) }
			if !deny {
				match, patterns = glob.CompilePath, func() []string { return allowedPaths(rooted(pattern, o)) }
			}
		default:
			return nil, fmt.Errorf("rule %q: %q is not shell_exec or file; write TOOL, shell_exec:COMMAND or file:PATH", text, what)
		}
		if pattern == "" {
			return nil, fmt.Errorf("rule %q: empty pattern", text)
		}
		for _, p := range patterns() {
			compiled, err := match(p)
			if err != nil {
				return nil, fmt.Errorf("rule %q: %w", text, err)
			}
			r.patterns = append(r.patterns, compiled)
		}
		rules = append(rules, r)
	}
	return rules, nil
}

// Decide judges a call. The text says in a few words which rule or answer
// decided; it is empty for Ask.
func (r *Rules) Decide(q Query) (Verdict, string) {
	c := r.facts(q)
	for _, rule := range r.deny {
		if c.denied(rule) {
			return Deny, fmt.Sprintf("denied by the rule %q", rule.text)
		}
	}
	switch r.answers[c.scope] {
	case Deny:
		return Deny, "denied by an earlier answer"
	case Allow:
		return Allow, "allowed by an earlier answer"
	}
	for _, rule := range r.allow {
		if c.allowed(rule) {
			return Allow, fmt.Sprintf("allowed by the rule %q", rule.text)
		}
	}
	switch {
	case r.allowAll:
		return Allow, "everything is allowed"
	case q.NoPrompt && q.Access == NoAccess:
		return Allow, "needs no permission"
	}
	return Ask, ""
}

// Remember returns rules in which the answer to q holds for good: for the same
// command and input of a command, the same path of a plugin's file, and every
// call of any other tool. Rules that deny still win.
func (r *Rules) Remember(q Query, allow bool) *Rules {
	out := *r
	out.answers = maps.Clone(r.answers)
	if out.answers == nil {
		out.answers = map[string]Verdict{}
	}
	out.answers[r.facts(q).scope] = Deny
	if allow {
		out.answers[r.facts(q).scope] = Allow
	}
	return &out
}

// Denying returns rules that deny what r or others deny, and know nothing else.
func (r *Rules) Denying(others *Rules) *Rules {
	return &Rules{deny: slices.Concat(r.deny, others.deny), dir: others.dir}
}

// facts is a query, taken apart.
type facts struct {
	Query
	isCommand bool
	bad       bool // the arguments do not parse
	command   string
	stdin     string
	parts     []string // what deny rules look at
	paths     []string // resolved, and as written
	scope     string   // what an answer holds for
}

// fileTools are the built-in tools whose argument "path" file: rules look at.
var fileTools = []string{"read_file", "list_dir", "write_file"}

// isCommand tells whether a tool runs a command: bg_exec runs what shell_exec
// would, so that rules and answers are about both.
func isCommand(tool string) bool { return tool == "shell_exec" || tool == "bg_exec" }

func (r *Rules) facts(q Query) facts {
	f := facts{Query: q, scope: "tool\x00" + q.Tool}
	if q.Path != "" {
		f.paths = append(f.paths, filepath.ToSlash(q.Path))
	}
	if q.Access != NoAccess {
		f.scope = "file\x00" + string(q.Access) + "\x00" + q.Path
		return f
	}
	if !isCommand(q.Tool) && !slices.Contains(fileTools, q.Tool) {
		return f
	}
	var args struct{ Command, Stdin, Path string }
	f.bad = q.Args != "" && json.Unmarshal([]byte(q.Args), &args) != nil
	switch {
	case isCommand(q.Tool):
		f.isCommand = true
		f.command, f.stdin = normalise(args.Command), args.Stdin
		f.parts = parts(f.command)
		f.scope = "command\x00" + f.command + "\x00" + f.stdin
	case args.Path != "":
		path := args.Path
		if !filepath.IsAbs(path) {
			path = filepath.Join(r.dir, path)
		}
		f.paths = append(f.paths, filepath.ToSlash(filepath.Clean(path)))
	}
	return f
}

func (f *facts) denied(r rule) bool {
	switch r.target {
	case byCommand:
		return slices.ContainsFunc(f.parts, r.match)
	case byPath:
		return slices.ContainsFunc(f.paths, r.match)
	}
	return f.Access == NoAccess && r.match(f.Tool)
}

func (f *facts) allowed(r rule) bool {
	switch r.target {
	case byCommand:
		return f.isCommand && !f.bad && f.stdin == "" && simple(f.command) &&
			plainStart(f.command, r.patterns[0].Prefix()) && r.match(f.command)
	case byPath:
		return f.Path != "" && r.match(filepath.ToSlash(f.Path))
	}
	return f.Access == NoAccess && r.match(f.Tool)
}
