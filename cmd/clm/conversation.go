package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"clm/actors"
	"clm/actors/msg"
	"clm/config"
	"clm/llm"
)

// conversation is an engine with one agent, as a run of the command has it.
type conversation struct {
	p       *Program
	cfg     *config.Config
	target  config.Target
	engine  *actors.Engine
	agent   *actors.Agent
	feed    chan actors.Event // the agent's events, from a goroutine that close ends
	unfed   <-chan struct{}   // that goroutine has ended: no event follows
	stop    context.CancelFunc
	mcp     *actors.MCP // nil: no servers are configured
	budget  *actors.Budget
	toolset *actors.Toolset
	store   *storedSession // nil: nothing is kept
	flagSet *pflag.FlagSet
	runMode
}

// runMode is what differs between a conversation at a terminal and a script.
type runMode struct {
	ask  bool // someone answers permission questions
	keep bool // a session is stored without being asked for
}

// stopTime bounds the end of a run: what ignores its cancellation that long
// is left to the operating system.
const stopTime = 5 * time.Second

// begin starts a conversation as flags and configuration say. The caller ends
// it with close.
func (p *Program) begin(ctx context.Context, cmd *cobra.Command, m runMode) (_ *conversation, err error) {
	c := &conversation{p: p, runMode: m, flagSet: cmd.Flags()}
	if c.cfg, err = p.loadConfig(cmd); err != nil {
		return nil, err
	}
	if c.target, err = c.cfg.Target(p.choice()); err != nil {
		return nil, usageError(err)
	}
	for _, rule := range slices.Concat(p.flags.allow, p.flags.deny) {
		if problem := config.CheckRule(rule); problem != "" {
			return nil, usageError(fmt.Errorf("--allow, --deny: %s", problem))
		}
	}
	if p.flags.record+p.flags.replay != "" && c.target.Kind == "demo" {
		p.say("the demo model sends nothing: there is nothing of it to record or replay; choose another with -m")
	}
	transport, err := p.transport(c.cfg, c.target)
	if err != nil {
		return nil, usageError(err)
	}
	c.engine, err = actors.Start(ctx, actors.Options{
		Transport: transport, Logger: p.log.Logger(), Version: version,
		Trace: p.env("CLM_DEBUG_LEVEL") == "trace",
	})
	if err != nil {
		return nil, err
	}
	if err := c.startMCP(ctx); err != nil {
		return nil, errors.Join(err, c.close())
	}
	c.budget = &actors.Budget{MaxTurns: int64(p.flags.maxTurns), MaxTokens: p.flags.maxTokens}
	defer func() {
		if err != nil {
			err = errors.Join(err, c.close())
		}
	}()
	if err := c.openSession(); err != nil {
		return nil, err
	}
	var before []llm.Message
	if c.store != nil {
		before = c.store.before
	}
	return c, c.spawn(ctx, before)
}

// spawn starts the agent of the present configuration.
func (c *conversation) spawn(ctx context.Context, history []llm.Message) error {
	if err := c.loadTools(ctx); err != nil {
		return err
	}
	o := c.options(c.cfg, c.target, c.toolset)
	o.NoStream = c.p.flags.noStream
	o.History = history
	if c.store != nil {
		o.Session = c.store.file
	}
	o.SubAgents = map[string]actors.AgentOptions{}
	for _, name := range c.cfg.Subagents {
		sub, err := c.subAgent(ctx, name)
		if err != nil {
			return fmt.Errorf("subagents: %s: %w", name, err)
		}
		o.SubAgents[name] = sub
	}
	var err error
	if c.agent, err = c.engine.Spawn(ctx, o); err != nil {
		return err
	}
	events, err := c.agent.Listen()
	if err != nil {
		return err
	}
	c.unlisten()
	listening, stop := context.WithCancel(context.Background())
	feed, ended := make(chan actors.Event), make(chan struct{})
	c.feed, c.unfed, c.stop = feed, ended, func() { stop(); <-ended; events.Close() }
	go func() {
		defer close(ended)
		for e := range events.All(listening) {
			select {
			case feed <- e:
			case <-listening.Done():
				return
			}
		}
	}()
	return nil
}

// startMCP starts the configured servers and tells what went wrong so far. A
// conversation does not wait for one that is slow.
func (c *conversation) startMCP(ctx context.Context) (err error) {
	if len(c.cfg.MCPServers) == 0 {
		return nil
	}
	wait := mcpWait
	if c.ask {
		wait = 0
	}
	if c.mcp, err = startMCP(ctx, c.engine, c.cfg, wait); err != nil {
		return err
	}
	for _, s := range c.mcp.States() {
		if s.Reason != "" {
			c.p.say("MCP server %s: %s", s.Name, oneLine(s.Reason))
		}
	}
	return nil
}

// notReady names the MCP servers whose tools the turn that begins does not have
// yet; empty: there is none.
func (c *conversation) notReady() string {
	var names []string
	if c.mcp != nil {
		for _, s := range c.mcp.States() {
			if !settled([]actors.MCPState{s}) {
				names = append(names, s.Name)
			}
		}
	}
	return strings.Join(names, ", ")
}

// hint is what the configuration has to do with a turn's failure, or "".
func (c *conversation) hint(d msg.TurnDone) string {
	switch {
	case d.Kind == string(llm.ErrAuth):
		for _, t := range append([]config.Target{c.target}, c.target.Fallback...) {
			if t.Provider != "" && t.APIKey == "" && len(t.Headers) == 0 {
				return fmt.Sprintf("provider %s has no api_key: put one into secrets.lua and name it in config.lua, or set CLM_API_KEY", oneLine(t.Provider))
			}
		}
	case d.Kind == string(llm.ErrNetwork) && c.p.flags.url == "" && len(c.cfg.Files) == 0 && len(c.cfg.Providers) == 0:
		return "there is no configuration, so the default URL was asked: clm setup writes one, -u URL names a server, clm demo needs none"
	case d.Kind == string(llm.ErrNetwork) && c.target.Provider == "" && c.p.flags.url == "" && len(c.cfg.Providers) > 1:
		id := c.target.Model
		if id == "" {
			id = "ID"
		}
		names := slices.Sorted(maps.Keys(c.cfg.Providers))
		return fmt.Sprintf("no provider was chosen, so the default URL %s was asked: say -m %s/%s or model = \"%s/%s\"; there are %s",
			c.target.URL, names[0], oneLine(id), names[0], oneLine(id), strings.Join(names, ", "))
	}
	return ""
}

// mcpWait is how long a script waits for its MCP servers: it has one turn, and
// wants their tools in it.
const mcpWait = 5 * time.Second

func startMCP(ctx context.Context, e *actors.Engine, cfg *config.Config, wait time.Duration) (*actors.MCP, error) {
	servers := make([]actors.MCPServer, len(cfg.MCPServers))
	for i, s := range cfg.MCPServers {
		servers[i] = actors.MCPServer{
			Name: s.Name, Command: s.Command, URL: s.URL, APIKey: llm.Secret(s.APIKey.Reveal()),
			Timeout: time.Duration(s.TimeoutMS) * time.Millisecond,
		}
	}
	m, err := e.StartMCP(ctx, servers, actors.MCPOptions{Secrets: cfg.Secrets()})
	if err != nil {
		return nil, err
	}
	for until := time.Now().Add(wait); time.Now().Before(until) && ctx.Err() == nil && !settled(m.States()); {
		m.WaitReady(ctx, 20*time.Millisecond)
	}
	return m, nil
}

// settled says whether each server is ready or has failed once: what is tried
// again is not waited for.
func settled(states []actors.MCPState) bool {
	return !slices.ContainsFunc(states, func(s actors.MCPState) bool { return s.Tools == 0 && s.Reason == "" && s.Phase == "starting" })
}

// options are an agent's, by its configuration.
func (c *conversation) options(cfg *config.Config, t config.Target, tools *actors.Toolset) actors.AgentOptions {
	return actors.AgentOptions{
		Model: model(t), System: cfg.SystemPrompt, Tools: tools,
		Sequential: cfg.DisableParallelToolCalls, MaxIterations: iterations(cfg.MaxIterations),
		Volatile: cfg.VolatileTools, ToolRate: cfg.ToolRate, ToolBurst: cfg.ToolBurst,
		MCP:      c.mcp,
		Builtins: &actors.Builtins{Secrets: cfg.Secrets(), Private: c.p.private(cfg)},
		Permissions: actors.Permissions{
			Allow:    slices.Concat(cfg.Permissions.Allow, c.p.flags.allow),
			Deny:     slices.Concat(cfg.Permissions.Deny, c.p.flags.deny),
			AllowAll: c.p.flags.yes, Ask: c.ask,
		},
		Budget: c.budget,
	}
}

// subAgent describes an agent that the running one may start.
func (c *conversation) subAgent(ctx context.Context, name string) (actors.AgentOptions, error) {
	cfg, warns, err := c.cfg.Profile(name)
	for _, w := range warns {
		c.p.say("warning: %s", w)
	}
	if err != nil {
		return actors.AgentOptions{}, err
	}
	c.p.log.Hide(cfg.Secrets()...)
	t, err := cfg.Target(c.p.choice())
	if err != nil {
		return actors.AgentOptions{}, err
	}
	tools := c.toolset
	if !c.p.samePlugins(cfg, c.cfg) {
		if tools, err = c.p.toolsOf(ctx, cfg); err != nil {
			return actors.AgentOptions{}, err
		}
	}
	return c.options(cfg, t, tools), nil
}

// unlisten ends the goroutine of the agent before, if there was one.
func (c *conversation) unlisten() {
	if c.stop != nil {
		c.stop()
	}
}

// close ends the conversation and waits until nothing of it is alive.
func (c *conversation) close() error {
	ctx, cancel := context.WithTimeout(context.Background(), stopTime)
	defer cancel()
	err := c.engine.Stop(ctx)
	c.unlisten()
	return err
}

// iterations translates "0 is no limit" to the engine's "negative is none".
func iterations(n int) int {
	if n == 0 {
		return -1
	}
	return n
}

// model translates a target of the configuration for the engine.
func model(t config.Target) actors.Model {
	headers := make(map[string]llm.Secret, len(t.Headers))
	for k, v := range t.Headers {
		headers[k] = llm.Secret(v.Reveal())
	}
	kind, _ := llm.ParseKind(t.Kind) // the configuration holds only kinds that exist
	var fallback []actors.Model
	for _, f := range t.Fallback {
		fallback = append(fallback, model(f))
	}
	return actors.Model{
		Connection: llm.Connection{Name: t.Provider, Kind: kind, URL: t.URL, Key: llm.Secret(t.APIKey.Reveal()), Headers: headers},
		ID:         t.Model, ContextSize: int64(t.ContextSize), AutocompactPct: t.AutocompactPct, MaxOutputTokens: t.MaxOutputTokens,
		RateTokensPerSec: t.RateTokensPerSec, RateBurst: t.RateBurst, Price: actors.Price(t.Price), Fallback: fallback,
	}
}

// pluginOptions says which plugins are loaded and what they may do.
func (p *Program) pluginOptions(cfg *config.Config) actors.PluginOptions {
	o := actors.PluginOptions{
		Dirs: cfg.PluginDirs, Config: cfg.Tools, Limits: map[string]actors.PluginLimits{},
		Private: p.private(cfg), Logger: p.log.Logger(), Version: version, Reserved: actors.BuiltinNames(),
	}
	if len(p.flags.plugins) > 0 {
		o.Dirs = append(slices.Clone(p.dashP.dirs), cfg.PluginDirs[1:]...)
		o.Files = p.dashP.files
	}
	for name, l := range cfg.Plugins {
		o.Limits[name] = actors.PluginLimits{Read: l.Files.Read, Write: l.Files.Write}
	}
	return o
}

// private are the folders that no tool opens.
func (p *Program) private(cfg *config.Config) []string {
	if dir := p.stateDir(); dir != "" {
		return []string{cfg.Dir, dir}
	}
	return []string{cfg.Dir}
}

// stateDir is where sessions and the history are; "" is nowhere, and never the
// working folder.
func (p *Program) stateDir() string {
	if d := p.env("XDG_STATE_HOME"); filepath.IsAbs(d) {
		return filepath.Join(d, "clm")
	}
	if home := p.env("HOME"); filepath.IsAbs(home) {
		return filepath.Join(home, ".local", "state", "clm")
	}
	return ""
}

// status maps the end of a turn to an exit status.
func status(d msg.TurnDone) int {
	switch d.Status {
	case "done", "": // "": no turn was wanted
		return exitDone
	case "canceled":
		return exitInterrupted
	case "ceiling":
		return exitCeiling
	}
	return exitFailed
}
