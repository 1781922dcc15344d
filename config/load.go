package config

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// maxFile bounds a configuration file, in bytes.
const maxFile = 1 << 20

// loader reads the sources and collects what is wrong with them.
type loader struct {
	o       Options
	env     map[string]string
	dir     string
	secrets map[string]any // what secrets.lua returns
	hide    *hider
	files   []string
	warns   []Warning
	errs    []*Error

	base, environ, flags layer
}

// Load reads everything. The warnings are complete even when there is an
// error; the error is an *[Error] or several joined.
func Load(o Options) (*Config, []Warning, error) {
	l := &loader{o: o, env: environ(o.Env), hide: &hider{}}
	l.hide.add(l.env["CLM_API_KEY"], minSecret)
	cfg := l.run()
	return l.end(cfg)
}

// end hides secrets in what the person will read.
func (l *loader) end(cfg *Config) (*Config, []Warning, error) {
	l.hide.clean("") // makes its table now: a Config is not changed later
	for i := range l.warns {
		l.warns[i].Text, l.warns[i].Key = l.hide.clean(l.warns[i].Text), l.hide.clean(l.warns[i].Key)
	}
	if len(l.errs) == 0 {
		return cfg, l.warns, nil
	}
	all := make([]error, len(l.errs))
	for i, e := range l.errs {
		e.Text, e.Key = l.hide.clean(e.Text), l.hide.clean(e.Key)
		all[i] = e
	}
	if len(all) == 1 {
		return nil, l.warns, all[0]
	}
	return nil, l.warns, errors.Join(all...)
}

// Dir returns the configuration folder that an environment means.
func Dir(env []string) (string, error) { return dirOf(environ(env)) }

func dirOf(env map[string]string) (string, error) {
	if d := env["XDG_CONFIG_HOME"]; filepath.IsAbs(d) {
		return filepath.Join(d, "clm"), nil
	}
	if h := env["HOME"]; h != "" {
		return filepath.Join(h, ".config", "clm"), nil
	}
	return "", &Error{Text: "neither XDG_CONFIG_HOME nor HOME is set: set one, so that config.lua can be found"}
}

func environ(env []string) map[string]string {
	m := make(map[string]string, len(env))
	for _, e := range env {
		if k, v, ok := strings.Cut(e, "="); ok {
			m[k] = v
		}
	}
	return m
}

func (l *loader) run() *Config {
	var err error
	if l.dir, err = dirOf(l.env); err != nil {
		l.fail(err)
		return nil
	}
	l.readSecrets()
	l.base = l.readFile(filepath.Join(l.dir, "config.lua"), schema())
	l.checkInline()
	l.environ = l.readEnv()
	l.flags = l.readFlags()
	if len(l.errs) > 0 {
		return nil
	}
	name := l.agentName()
	layers := []layer{defaults(), l.base}
	if name != "" {
		layers = append(layers, l.profile(name, layers))
	}
	cfg := l.build(name, append(layers, l.environ, l.flags))
	for _, name := range cfg.Subagents {
		if !slices.Contains(cfg.Profiles(), name) {
			o := cfg.origin([]string{"subagents"})
			l.fail(&Error{File: o.place(), Line: o.Line, Key: "subagents", Text: noProfile(name, cfg.Profiles())})
		}
	}
	l.checkFallbacks(cfg)
	l.checkPaths(cfg)
	return cfg
}

// checkFallbacks holds that each names a connection that exists and is another.
func (l *loader) checkFallbacks(cfg *Config) {
	for _, name := range sortedKeys(cfg.Providers) {
		for _, s := range cfg.Providers[name].Fallback {
			provider, _, _ := strings.Cut(s, "/")
			text := ""
			switch {
			case s == name:
				text = "a connection is no fallback of itself"
			case !cfg.knows(provider):
				text = cfg.unknownProvider(provider)
			default:
				continue
			}
			path := []string{"providers", name, "fallback"}
			o := cfg.origin(path)
			l.fail(&Error{File: o.place(), Line: o.Line, Key: dotted(path), Text: text})
		}
	}
}

func noProfile(name string, there []string) string {
	text := fmt.Sprintf("there is no profile %q", name)
	if n := nearest(name, there); n != "" {
		return text + fmt.Sprintf("; the nearest is %q", n)
	}
	if len(there) == 0 {
		return text + "; write agents/" + name + ".lua"
	}
	return text + "; there are " + strings.Join(there, ", ")
}

// agentName is the profile that runs, by the highest layer that names one.
func (l *loader) agentName() string {
	if l.o.Agent != "" {
		return l.o.Agent
	}
	for _, v := range []layer{l.flags, l.environ, l.base} {
		if s, ok := v.values["agent"].(string); ok {
			return s
		}
	}
	return ""
}

// readSecrets reads secrets.lua, which others must not be able to read.
func (l *loader) readSecrets() {
	path := filepath.Join(l.dir, "secrets.lua")
	l.secrets = map[string]any{}
	b, ok := l.read(path)
	if !ok {
		return
	}
	if st, err := os.Stat(path); err == nil && st.Mode().Perm()&0o077 != 0 {
		l.warns = append(l.warns, Warning{File: path, Text: fmt.Sprintf("others may read it (mode %04o): chmod 600 it", st.Mode().Perm())})
	}
	m, err := luaParser{file: path}.Unmarshal(b)
	if err != nil {
		var e *Error
		if errors.As(err, &e) { // its text may quote a key
			err = &Error{File: path, Line: e.Line, Text: "is not Lua that returns a table of strings (the error is not shown, as it may quote a key)"}
		}
		l.fail(err)
		return
	}
	l.secrets = m
	l.hide.addAll(m)
}

// readFile reads and checks one Lua file; a file that is absent is empty.
func (l *loader) readFile(path string, keys []Key) layer {
	out := layer{file: path, values: map[string]any{}}
	b, ok := l.read(path)
	if !ok {
		return out
	}
	globals := map[string]any{"clm": map[string]any{"secrets": l.secrets}}
	m, err := luaParser{file: path, globals: globals}.Unmarshal(b)
	if err != nil {
		l.fail(err)
		return out
	}
	out.lines = keysOf(string(b))
	out.values = l.check(path, out.lines, m, keys, nil)
	return out
}

// check holds m against keys; prefix is where m is in the file.
func (l *loader) check(file string, lines *keyLines, m map[string]any, keys []Key, prefix []string) map[string]any {
	l.hide.addKeys(m)
	c := checker{file: file, lines: lines}
	out := c.table(m, keys, prefix)
	l.warns = append(l.warns, c.warns...)
	l.errs = append(l.errs, c.errs...)
	return out
}

// read returns a regular file's bytes, or false after it reported why not; a
// file that does not exist is no error.
func (l *loader) read(path string) ([]byte, bool) {
	st, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, false
	}
	if err == nil && !st.Mode().IsRegular() {
		err = errors.New("is not a regular file")
	}
	if err == nil && st.Size() > maxFile {
		err = fmt.Errorf("is larger than %d KiB", maxFile>>10)
	}
	var b []byte
	if err == nil {
		b, err = os.ReadFile(path)
	}
	if err != nil {
		var pe *fs.PathError
		if errors.As(err, &pe) {
			err = pe.Err
		}
		l.fail(&Error{File: path, Text: err.Error(), Err: err})
		return nil, false
	}
	l.files = append(l.files, path)
	return b, true
}

func (l *loader) fail(err error) {
	var e *Error
	if !errors.As(err, &e) {
		e = &Error{Text: err.Error(), Err: err}
	}
	l.errs = append(l.errs, e)
}
