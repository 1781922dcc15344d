package builtin

import (
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"clm/actors/internal/family"
	"clm/actors/internal/files"
	"clm/actors/internal/tool"
	"clm/llm"
)

// maxResult bounds the text of a result, in bytes.
const maxResult = 64 << 10

// Options are what the tools of one agent need.
type Options struct {
	Dir       string       // working folder, absolute
	SpoolDir  string       // where full outputs go; empty is the system's temporary folder
	Env       []string     // environment of commands, as os.Environ gives it; nil is this process's
	SecretEnv []string     // variables that commands do not get, beside CLM_API_KEY
	Secrets   []string     // values that commands do not get and results do not show
	Private   []string     // absolute folders and files that read_file, list_dir and write_file refuse
	Clock     family.Clock // nil is the machine's

	// Notify takes the result of a background job, on a goroutine of the job.
	// It must not call Close, which waits for it. Nil leaves bg_exec out.
	Notify func(text string)
}

// Set is the tools of one agent, with the jobs and files that they leave.
type Set struct {
	opts    Options
	private []string // resolved

	mu     sync.Mutex
	shown  map[[sha256.Size]byte]string // by a call's arguments: the path that its question showed
	spools []string
	jobs   jobs
}

// New makes a set. Nothing runs until a tool is called. The caller must call
// [Set.Close].
func New(o Options) *Set {
	if o.SpoolDir == "" {
		o.SpoolDir = os.TempDir()
	}
	if o.Clock == nil {
		o.Clock = family.SystemClock{}
	}
	s := &Set{opts: o}
	for _, p := range o.Private {
		if real, err := files.Resolve(o.Dir, p); err == nil {
			s.private = append(s.private, real)
		}
	}
	return s
}

// Tools lists the tools.
func (s *Set) Tools() []tool.Tool {
	tools := []tool.Tool{s.readFile(), s.listDir(), s.writeFile(), s.shellExec()}
	if s.opts.Notify != nil {
		tools = append(tools, s.bgExec())
	}
	for i := range tools {
		tools[i].Source = "builtin"
	}
	return tools
}

// Path is the resolved path that a call of a file tool would touch, for rules
// about paths; empty for other tools and for arguments that do not parse.
func (s *Set) Path(name, args string) string {
	switch name {
	case "read_file", "list_dir", "write_file":
	default:
		return ""
	}
	var a struct{ Path string }
	if json.Unmarshal([]byte(args), &a) != nil {
		return ""
	}
	real, err := s.resolve(a.Path)
	if err != nil {
		return ""
	}
	return real
}

// Close ends the background jobs, waits for their end, and removes the files
// with full outputs.
func (s *Set) Close() {
	s.jobs.close()
	s.mu.Lock()
	spools := s.spools
	s.spools = nil
	s.mu.Unlock()
	for _, path := range spools {
		os.Remove(path)
	}
}

// decode reads a call's arguments into a struct.
func decode(args string, into any) error {
	if strings.TrimSpace(args) == "" {
		args = "{}"
	}
	if err := json.Unmarshal([]byte(args), into); err != nil {
		return fmt.Errorf("arguments: %w", err)
	}
	return nil
}

// resolve finds out where a path that a model wrote leads.
func (s *Set) resolve(path string) (string, error) {
	if path == "" {
		return "", errors.New("the argument path is missing")
	}
	if rest, ok := strings.CutPrefix(path, "~/"); ok {
		if home, err := os.UserHomeDir(); err == nil {
			path = filepath.Join(home, rest)
		}
	}
	return files.Resolve(s.opts.Dir, path)
}

// open resolves a path, and refuses what is not for these tools.
func (s *Set) open(path string) (string, error) {
	real, err := s.resolve(path)
	switch {
	case err != nil:
		return "", err
	case files.IsSystem(real):
		return "", fmt.Errorf("%s: the file tools do not open system files; use shell_exec", real)
	case files.Private(s.private, real):
		return "", fmt.Errorf("%s belongs to clm itself and is not opened by tools", real)
	}
	return real, nil
}

// outside says where a path leads if links take it out of the folder in which
// it seems to be, for a question; empty if they do not.
func (s *Set) outside(path, real string) string {
	written := path
	if !filepath.IsAbs(written) {
		written = filepath.Join(s.opts.Dir, written)
	}
	if written = filepath.Clean(written); written == real {
		return ""
	}
	return real
}

// safe makes text fit to be a result.
func (s *Set) safe(text string) string {
	text = llm.Clean(text)
	for _, secret := range s.opts.Secrets {
		if len(secret) >= 8 {
			text = strings.ReplaceAll(text, secret, "[redacted]")
		}
	}
	return llm.Clip(text, maxResult)
}

// object is the schema of arguments of which some are required.
func object(properties string, required ...string) json.RawMessage {
	return json.RawMessage(`{"type":"object","properties":{` + properties + `},"required":["` + strings.Join(required, `","`) + `"],"additionalProperties":false}`)
}
