package actors

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"

	"github.com/asynkron/protoactor-go/actor"

	"clm/actors/internal/family"
	"clm/actors/internal/files"
	"clm/actors/internal/httpc"
	"clm/actors/internal/plugin"
	"clm/actors/internal/task"
	"clm/actors/internal/tool"
	"clm/actors/msg"
	"clm/llm"
	"clm/luavm"
)

// maxSource is how much of a plugin file is read; the compiler takes less.
const maxSource = 1 << 20

// PluginFile is a plugin's source.
type PluginFile struct {
	Name   string // file name without ".lua"
	Source string
}

// PluginOptions say which plugins to load and what they may do.
type PluginOptions struct {
	Dirs  []string     // every *.lua file of these, folder by folder, by file name
	Files []PluginFile // after those
	// Config is clm.config by file name or tool name.
	Config map[string]map[string]any
	// Limits are what one plugin gets, by file name.
	Limits map[string]PluginLimits
	// Reserved are tool names that plugins may not take, the built-in ones.
	Reserved []string
	// Private are folders and files that no plugin may open, clm's own.
	Private []string
	Dir     string       // working folder; empty: the process's
	Logger  *slog.Logger // gets print and ctx:log; nil: off
	Version string       // for the User-Agent
}

// PluginLimits are one plugin's own.
type PluginLimits struct {
	MemoryMiB   int      // 0: 8
	Read, Write []string // path patterns that are free
}

// Plugins are compiled plugin files with the tools that they registered,
// shared by any number of agents. Each agent makes its own Lua state at its
// first call.
type Plugins struct{ files []*pluginFile }

type pluginFile struct {
	id      string // its name; a second file of that name, from another folder, has a number after it
	source  string
	program *luavm.Program
	options luavm.Options
	policy  *files.Policy
	version string

	warnings []string
}

// PluginError is a plugin that is left out.
type PluginError struct {
	File string
	Err  error
}

func (e *PluginError) Error() string { return fmt.Sprintf("plugin %s: %v", e.File, e.Err) }

func (e *PluginError) Unwrap() error { return e.Err }

// LoadPlugins compiles plugins and runs their load-time code once, on the
// caller's goroutine, to learn their tools. A plugin that fails is left out
// with an error; the others load.
func LoadPlugins(ctx context.Context, o PluginOptions) (*Plugins, []*PluginError) {
	out := &Plugins{}
	var errs []*PluginError
	fail := func(file string, err error) { errs = append(errs, &PluginError{file, err}) }
	sources := slices.Clone(o.Files)
	for _, dir := range slices.Backward(o.Dirs) {
		found, bad := readDir(dir)
		sources = append(found, sources...)
		errs = append(errs, bad...)
	}
	roots, err := o.roots()
	if err != nil {
		for _, f := range sources {
			fail(f.Name, err)
		}
		return out, errs
	}
	taken := map[string]string{}
	for _, name := range o.Reserved {
		taken[name] = "a built-in tool"
	}
	for _, f := range sources {
		p, err := load(ctx, f, o, roots, taken)
		if err != nil {
			fail(f.Name, err)
			continue
		}
		p.id = out.freeID(f.Name)
		for _, t := range p.options.Tools {
			taken[t.Name] = "plugin " + p.id
		}
		out.files = append(out.files, p)
	}
	return out, errs
}

// freeID is the name of a file, with a number if another file has that name.
func (p *Plugins) freeID(name string) string {
	id := name
	for n := 2; slices.ContainsFunc(p.files, func(f *pluginFile) bool { return f.id == id }); n++ {
		id = fmt.Sprintf("%s-%d", name, n)
	}
	return id
}

func readDir(dir string) (found []PluginFile, errs []*PluginError) {
	paths, err := filepath.Glob(filepath.Join(escapeGlob(dir), "*.lua"))
	if err != nil {
		return nil, []*PluginError{{dir, err}}
	}
	slices.Sort(paths)
	for _, path := range paths {
		name := strings.TrimSuffix(filepath.Base(path), ".lua")
		b, err := files.ReadOwn(path, maxSource)
		if err != nil {
			errs = append(errs, &PluginError{name, err})
			continue
		}
		found = append(found, PluginFile{name, string(b)})
	}
	return found, errs
}

func escapeGlob(s string) string {
	return strings.NewReplacer(`\`, `\\`, "*", `\*`, "?", `\?`, "[", `\[`).Replace(s)
}

// roots are what the plugins' file policies have in common.
func (o PluginOptions) roots() (r files.Roots, err error) {
	if r.Dir = o.Dir; r.Dir == "" {
		if r.Dir, err = os.Getwd(); err != nil {
			return r, fmt.Errorf("working folder: %w", err)
		}
	}
	r.Home, _ = os.UserHomeDir() // without one, ~/ in a pattern is literal
	for _, private := range o.Private {
		real, err := files.Resolve(r.Dir, private)
		if err != nil {
			return r, fmt.Errorf("private path %q: %w", private, err)
		}
		r.Private = append(r.Private, real)
	}
	return r, nil
}

func load(ctx context.Context, f PluginFile, o PluginOptions, roots files.Roots, taken map[string]string) (*pluginFile, error) {
	program, err := luavm.Compile(f.Name, f.Source)
	if err != nil {
		return nil, err
	}
	p := &pluginFile{source: f.Source, program: program, version: o.Version}
	limits := o.Limits[f.Name]
	roots.Data, roots.Read, roots.Write = dataDir(f.Name), limits.Read, limits.Write
	if p.policy, err = files.NewPolicy(roots); err != nil {
		return nil, err
	}
	p.options = luavm.Options{
		Memory: int64(limits.MemoryMiB) << 20, Config: o.Config[f.Name], ToolConfig: o.Config,
		Reserved: func(name string) string { return taken[name] },
	}
	if o.Logger != nil {
		log := o.Logger.With("plugin", f.Name)
		p.options.Log = func(text string) { log.Debug("plugin", "text", text) }
	}
	v := luavm.New(program, p.options)
	defer v.Close()
	if err := plugin.Load(ctx, v, p.loadAccess); err != nil {
		return nil, err
	}
	p.options.Tools, p.options.Refused = v.Tools(), v.Refused()
	p.warnings = v.Warnings()
	p.options.Reserved = nil // the names were checked; other tools may not be registered later
	return p, nil
}

// Warnings is what the files do that is likely a slip but no error, like an option that does not exist.
func (p *Plugins) Warnings() []string {
	var out []string
	for _, f := range p.files {
		out = append(out, f.warnings...)
	}
	return out
}

// same tells whether an agent's Lua state may go on with the other's file.
func (p *pluginFile) same(o *pluginFile) bool {
	return p.source == o.source && p.options.Memory == o.options.Memory &&
		reflect.DeepEqual(p.options.Config, o.options.Config) && reflect.DeepEqual(p.options.ToolConfig, o.options.ToolConfig)
}

func (p *Plugins) entries() []*entry {
	if p == nil {
		return nil
	}
	var out []*entry
	for _, f := range p.files {
		for _, t := range f.options.Tools {
			out = append(out, &entry{plugin: f, tool: &tool.Tool{
				Name: t.Name, Description: t.Description, Schema: t.Schema, NoPrompt: t.NoPrompt,
				Hidden: t.Hidden, Timeout: t.Timeout, Source: "plugin:" + f.id,
			}})
		}
	}
	return out
}

// place is where a file access leads, see task.Config.
func (p *pluginFile) place(w luavm.Want) (path string, ask bool, why string) {
	name, op := "", files.OpRead
	switch w := w.(type) {
	case luavm.ReadFile:
		name = w.Path
	case luavm.WriteFile:
		name, op = w.Path, files.OpWrite
	}
	real, class, err := p.policy.Check(name, op)
	switch {
	case err != nil:
		return "", false, err.Error()
	case class == files.Never:
		return "", false, fmt.Sprintf("%s: plugins may not open this file", name)
	}
	return real, class == files.Ask, ""
}

func access(w luavm.Want, path string) luavm.Answer {
	switch w := w.(type) {
	case luavm.ReadFile:
		b, err := files.Read(path, w.MaxBytes)
		if err != nil {
			return luavm.Answer{Err: err.Error()}
		}
		return luavm.Answer{Text: string(b)}
	case luavm.WriteFile:
		if err := files.Write(path, w.Content); err != nil {
			return luavm.Answer{Err: err.Error()}
		}
	}
	return luavm.Answer{}
}

// loadAccess is the file access of load-time code: nobody can be asked then.
func (p *pluginFile) loadAccess(_ context.Context, w luavm.Want) luavm.Answer {
	path, ask, why := p.place(w)
	if ask {
		why = path + ": outside the plugin's folders; it can be asked for inside a call"
	}
	if why != "" {
		return luavm.Answer{Err: why}
	}
	return access(w, path)
}

// maxNesting is how deep clm.call may nest.
const maxNesting = 8

type taskOf struct {
	plugin *pluginFile
	pid    *actor.PID
	turn   uint64
	call   llm.ToolCall
	depth  int
	tool   *tool.Tool
}

// spawnTask spawns the main task of a Lua tool's call.
func (h *host) spawnTask(n *family.Node, c actor.Context, t taskOf) (*family.Node, error) {
	wall := t.tool.Timeout
	if wall == 0 {
		wall = DefaultToolTimeout
	}
	return n.Spawn(c, task.Spec(&task.Config{
		Plugin: t.pid, Agent: h.handle.node.PID(), Turn: t.turn, CallID: t.call.ID, Tool: t.tool.Name, Wall: wall,
		HTTP: func(ctx context.Context, w luavm.HTTP) luavm.Answer {
			return fetch(ctx, h.e.opts.Transport, w, h.e.opts.Version)
		},
		Place:  t.plugin.place,
		Access: access,
		CallTool: func(n *family.Node, c actor.Context, w luavm.CallTool) (*family.Node, error) {
			if t.depth+1 > maxNesting {
				return nil, fmt.Errorf("clm.call: calls nest at most %d deep", maxNesting)
			}
			id := t.call.ID + "/" + w.Name
			node, err := h.spawnTool(n, c, t.turn, w.Name, id, t.depth+1)
			if err == nil {
				n.Request(c, node.PID(), msg.RunTool{Call: llm.ToolCall{ID: id, Name: w.Name, Args: w.Args}})
			}
			return node, err
		},
	}))
}

// fetch carries out a plugin's HTTP request.
func fetch(ctx context.Context, rt http.RoundTripper, w luavm.HTTP, version string) luavm.Answer {
	req := httpc.Request{Method: w.Method, URL: w.URL, Body: w.Body, MaxBody: w.MaxBody, Tool: w.Tool, Version: version}
	for _, h := range w.Headers {
		req.Headers = append(req.Headers, httpc.Header(h))
	}
	resp, err := httpc.Do(ctx, rt, req)
	if err != nil {
		return luavm.Answer{Err: err.Error()}
	}
	return luavm.Answer{Status: resp.Status, Body: resp.Body}
}
