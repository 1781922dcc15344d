package main

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"clm/actors"
	"clm/config"
)

func (p *Program) doctorCommand() *cobra.Command {
	return &cobra.Command{
		Use: "doctor", Short: "Say what is wrong with the files, the providers and the plugins, and how to mend it", Args: cobra.NoArgs,
		RunE: p.doctor,
	}
}

// examination is a doctor's report in the making. It holds no secrets: every
// line goes through hide.
type examination struct {
	b    strings.Builder
	hide *strings.Replacer
	bad  int
}

func (x *examination) head(title string)              { fmt.Fprintf(&x.b, "\n%s\n", title) }
func (x *examination) ok(format string, args ...any)  { x.line("ok  ", format, args...) }
func (x *examination) is(format string, args ...any)  { x.line("    ", format, args...) }
func (x *examination) not(format string, args ...any) { x.bad++; x.line("!!  ", format, args...) }

func (x *examination) line(mark, format string, args ...any) {
	text := clean(fmt.Sprintf(format, args...))
	if x.hide != nil {
		text = x.hide.Replace(text)
	}
	x.b.WriteString(mark + strings.ReplaceAll(strings.TrimRight(text, "\n"), "\n", "\n    ") + "\n")
}

func (p *Program) doctor(cmd *cobra.Command, _ []string) error {
	x := &examination{}
	fmt.Fprintf(&x.b, "clm %s, %s, %s/%s\n", version, runtime.Version(), runtime.GOOS, runtime.GOARCH)
	cfg := p.examineFiles(x, cmd)
	if cfg != nil {
		p.examineModel(x, cfg)
		if err := p.examineProviders(x, cmd, cfg); err != nil {
			return err
		}
		p.examinePlugins(x, cmd, cfg)
		if err := p.examineMCP(x, cmd, cfg); err != nil {
			return err
		}
	}
	p.examineState(x)
	if x.bad == 0 {
		x.head("Nothing is wrong.")
	} else {
		x.head(fmt.Sprintf("Wrong: %s, see the lines with !!", count(x.bad, "thing")))
	}
	if err := p.write(x.b.String()); err != nil {
		return err
	}
	if x.bad > 0 {
		return &exitError{status: exitFailed}
	}
	return nil
}

func (p *Program) examineFiles(x *examination, cmd *cobra.Command) *config.Config {
	x.head("Configuration")
	if dir, err := config.Dir(p.Env); err == nil {
		x.is("folder %s", dir)
	}
	cfg, warns, err := config.Load(config.Options{Env: p.Env, Flags: cmd.Flags()})
	for _, w := range warns {
		x.not("%s", w)
	}
	if err != nil {
		for _, e := range unjoin(err) {
			x.not("%s", e)
		}
		return nil
	}
	var pairs []string
	for _, s := range cfg.Secrets() {
		pairs = append(pairs, s, "[secret]")
	}
	x.hide = strings.NewReplacer(pairs...)
	p.log.Hide(cfg.Secrets()...)
	for _, f := range cfg.Files {
		x.ok("%s", f)
	}
	if len(cfg.Files) == 0 {
		x.is("no files: clm setup writes some to start from")
	}
	for _, name := range cfg.Profiles() {
		_, warns, err := cfg.Profile(name)
		for _, w := range warns {
			x.not("%s", w)
		}
		for _, text := range errorTexts(err) {
			x.not("%s", text)
		}
	}
	return cfg
}

func (p *Program) examineModel(x *examination, cfg *config.Config) {
	x.head("Model")
	t, err := cfg.Target(p.choice())
	if err != nil {
		x.not("%v", err)
		return
	}
	name := t.Name()
	if name == "" {
		name = "the server's own"
	}
	if t.URL == "" {
		x.ok("%s (%s)", name, t.Kind)
	} else {
		x.ok("%s (%s) at %s", name, t.Kind, withoutPassword(t.URL))
	}
	if t.APIKey == "" && t.Kind != "demo" && !loopback(t.URL) && len(t.Headers) == 0 {
		x.not("no key for it: put one into secrets.lua and name it as api_key, or set CLM_API_KEY")
	}
}

func (p *Program) examineProviders(x *examination, cmd *cobra.Command, cfg *config.Config) error {
	x.head("Providers")
	targets, err := p.connections(cfg)
	if err != nil {
		x.not("%v", err)
		return nil
	}
	asked := map[string]bool{}
	active, _ := cfg.Target(p.choice()) // an error was told above
	offers, err := p.probe(cmd.Context(), targets)
	if err != nil {
		return err
	}
	for _, o := range offers {
		asked[o.target.Provider] = true
		name, took := connectionName(o.target), o.took.Round(time.Millisecond)
		switch {
		case o.err != nil && loopback(o.target.URL) && (o.target.Provider != active.Provider || cfg.Model == "" && p.flags.url == ""):
			x.is("%s: no server runs there", name)
		case o.err != nil:
			x.not("%s: %v", name, o.err)
		default:
			x.ok("%s: %s, %s", name, count(len(o.models), "model"), took)
		}
	}
	for _, name := range cfg.ProviderNames() {
		if !asked[name] {
			x.is("%s: has no key, not asked", name)
		}
	}
	return nil
}

func (p *Program) examinePlugins(x *examination, cmd *cobra.Command, cfg *config.Config) {
	x.head("Plugins")
	o := p.pluginOptions(cfg)
	for _, dir := range o.Dirs {
		if _, err := os.Stat(dir); errors.Is(err, fs.ErrNotExist) {
			x.is("%s: is not there", dir)
		} else {
			x.ok("%s", dir)
		}
	}
	plugins, bad := actors.LoadPlugins(cmd.Context(), o)
	for _, err := range bad {
		x.not("%v", err)
	}
	set, err := actors.NewToolset(plugins)
	if err != nil {
		x.not("%v", err)
		return
	}
	for _, line := range toolLines(set.List(), listWidth) {
		x.ok("%s", line)
	}
	for _, name := range cfg.Profiles() { // what is said of their plugins is no slip
		o.Dirs = append(o.Dirs, filepath.Join(cfg.Dir, "agents", name))
	}
	for _, name := range slices.Sorted(maps.Keys(cfg.Plugins)) {
		if !isPlugin(name, o) {
			x.not("plugins.%s: no plugin file has this name, so its files are allowed to none", name)
		}
	}
}

// isPlugin says whether a plugin file of a name is there.
func isPlugin(name string, o actors.PluginOptions) bool {
	return slices.ContainsFunc(o.Files, func(f actors.PluginFile) bool { return f.Name == name }) ||
		slices.ContainsFunc(o.Dirs, func(dir string) bool {
			_, err := os.Stat(filepath.Join(dir, name+".lua"))
			return err == nil
		})
}

func (p *Program) examineMCP(x *examination, cmd *cobra.Command, cfg *config.Config) error {
	if len(cfg.MCPServers) == 0 {
		return nil
	}
	x.head("MCP servers")
	e, err := actors.Start(cmd.Context(), actors.Options{Logger: p.log.Logger(), Version: version})
	if err != nil {
		return err
	}
	m, err := startMCP(cmd.Context(), e, cfg, mcpWait)
	if err != nil {
		return errors.Join(err, e.Stop(cmd.Context()))
	}
	for _, s := range m.States() {
		if s.Reason != "" || s.Tools == 0 {
			x.not("%s: %s %s", s.Name, s.Phase, s.Reason)
			continue
		}
		x.ok("%s: %s", s.Name, count(s.Tools, "tool"))
	}
	return e.Stop(cmd.Context())
}

func (p *Program) examineState(x *examination) {
	x.head("Sessions")
	dir := p.stateDir()
	if dir == "" {
		x.not("neither XDG_STATE_HOME nor HOME is set: there is no place for them")
		return
	}
	st, err := os.Stat(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		x.is("%s: none yet", dir)
		return
	case err != nil:
		x.not("%v", err)
		return
	case st.Mode().Perm()&0o077 != 0:
		x.not("%s: others may read it (mode %04o): chmod 700 it", dir, st.Mode().Perm())
	}
	files, _ := filepath.Glob(filepath.Join(dir, "*.jsonl"))
	x.ok("%s: %s", dir, count(len(files), "session"))
	if path := p.env("CLM_DEBUG_LOG"); path != "" {
		x.is("debug log %s", path)
	}
}
