package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"clm/actors"
	"clm/actors/msg"
	"clm/config"
)

func (p *Program) toolCommand() *cobra.Command {
	return group(&cobra.Command{Use: "tool", Short: "A bench for plugins: list, run and check tools without a model"},
		&cobra.Command{Use: "list", Short: "List the tools", Args: cobra.NoArgs, RunE: p.toolList},
		&cobra.Command{
			Use: "run NAME [JSON]", Short: "Run a tool with arguments (- reads them from standard input)", Args: cobra.RangeArgs(1, 2),
			ValidArgsFunction: p.completeTools, RunE: p.toolRun,
		},
		&cobra.Command{Use: "check FILE…", Short: "Load plugin files and say what they register and what is wrong", Args: cobra.MinimumNArgs(1), RunE: p.toolCheck})
}

func (p *Program) completeTools(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	cfg, _, err := config.Load(config.Options{Env: p.Env, Flags: cmd.Flags()})
	if err != nil {
		return nil, cobra.ShellCompDirectiveError
	}
	plugins, _ := actors.LoadPlugins(cmd.Context(), p.pluginOptions(cfg))
	set, err := actors.NewToolset(plugins)
	if err != nil {
		return nil, cobra.ShellCompDirectiveError
	}
	names := actors.BuiltinNames()
	for _, t := range set.List() {
		names = append(names, t.Name)
	}
	return names, cobra.ShellCompDirectiveNoFileComp
}

// bench starts an agent on the demo model, which calls what it is told to.
func (p *Program) bench(cmd *cobra.Command) (*conversation, error) {
	if err := cmd.Flags().Set("model", "demo/demo"); err != nil {
		return nil, err
	}
	p.flags.url, p.flags.provider = "", ""
	return p.begin(cmd.Context(), cmd, runMode{})
}

func (p *Program) toolList(cmd *cobra.Command, _ []string) error {
	c, err := p.bench(cmd)
	if err != nil {
		return err
	}
	var b strings.Builder
	for _, line := range toolLines(c.agent.Tools(), listWidth) {
		b.WriteString(line + "\n")
	}
	return errors.Join(p.write(b.String()), p.tell(c.close()))
}

// listWidth is how wide a list of tools is where there is no terminal.
const listWidth = 110

// toolLines describes tools, one a line of at most width columns.
func toolLines(tools []actors.Tool, width int) []string {
	names, sources := 0, 0
	for _, t := range tools {
		names, sources = max(names, utf8.RuneCountInString(oneLine(t.Name))), max(sources, utf8.RuneCountInString(oneLine(t.Source)))
	}
	lines := make([]string, len(tools))
	for i, t := range tools {
		gate := "asks"
		switch {
		case t.Hidden:
			gate = "hidden"
		case t.NoPrompt:
			gate = "free"
		}
		first, _, _ := strings.Cut(t.Description, "\n")
		line := fmt.Sprintf("%-*s  %-6s  %-*s  %s", names, oneLine(t.Name), gate, sources, oneLine(t.Source), oneLine(first))
		lines[i] = clip(strings.TrimRight(line, " "), width)
	}
	return lines
}

// toolRun runs one tool as an agent would: with its limits, its configuration
// and real effects. The person calls the tool, which answers the question about
// it. What it reaches for, other tools and files, is for the rules as always:
// this is how a plugin of somebody else is tried.
func (p *Program) toolRun(cmd *cobra.Command, args []string) error {
	text, err := p.toolArgs(args)
	if err != nil {
		return usageError(err)
	}
	if toolName.MatchString(args[0]) { // else there is no such tool
		p.flags.allow = append(p.flags.allow, args[0])
	}
	c, err := p.bench(cmd)
	if err != nil {
		return err
	}
	signals, stopSignals := p.notify()
	defer stopSignals()
	s := &toolSink{
		plainSink: newPlainSink(plainText{io.Discard}, p.Stderr, p.colour(p.Stderr)),
		enough:    func() { _ = c.agent.Cancel() }, // no turn: it has ended by itself
	}
	r := &runner{c: c, out: s, signals: signals}
	err = p.runTool(cmd.Context(), c, r, args[0], text)
	if err == nil && s.result != nil {
		err = p.write(strings.TrimRight(clean(s.result.Text), "\n") + "\n")
		if err == nil && s.result.Failed {
			err = &exitError{status: exitFailed}
		}
	} else if err == nil {
		err = &exitError{status: status(r.last)}
	}
	return errors.Join(err, p.tell(c.close()))
}

func (p *Program) runTool(_ context.Context, c *conversation, r *runner, name, args string) error {
	tools := c.agent.Tools()
	i := slices.IndexFunc(tools, func(t actors.Tool) bool { return t.Name == name })
	if i < 0 {
		return usageError(fmt.Errorf("there is no tool %q: see clm tool list", name))
	}
	if tools[i].Hidden { // no model may call it: a plugin does
		if err := c.addCaller(); err != nil {
			return err
		}
		b, err := json.Marshal(map[string]string{"name": name, "args": args})
		if err != nil {
			return err
		}
		name, args = callerName, string(b)
	}
	return r.turn(name+" "+args, nil)
}

var toolName = regexp.MustCompile(`^[A-Za-z0-9_-]+$`)

// callerName is the tool that calls hidden ones for the bench.
const callerName = "clm_tool_run"

const callerSource = `clm.tool_register("` + callerName + `", { no_prompt = true, invoke = function(a, ctx)
  local args, bad = json.decode(a.args)
  if args == nil then return ctx:fail(bad) end
  local text, err = clm.call(a.name, args)
  if text == nil then return ctx:fail(err) end
  ctx:complete(text)
end })`

func (c *conversation) addCaller() error {
	o := c.p.pluginOptions(c.cfg)
	o.Files = append(o.Files, actors.PluginFile{Name: callerName, Source: callerSource})
	plugins, _ := actors.LoadPlugins(context.Background(), o) // what is left out was told already
	set, err := actors.NewToolset(plugins)
	if err != nil {
		return err
	}
	return c.agent.SetTools(set)
}

// toolArgs are a tool's arguments as one line of JSON.
func (p *Program) toolArgs(args []string) (string, error) {
	text := "{}"
	if len(args) > 1 {
		text = args[1]
	}
	if text == "-" {
		b, err := io.ReadAll(io.LimitReader(p.Stdin, maxInput))
		if err != nil {
			return "", fmt.Errorf("standard input: %w", err)
		}
		text = string(b)
	}
	var b bytes.Buffer
	if err := json.Compact(&b, []byte(text)); err != nil || !strings.HasPrefix(b.String(), "{") {
		return "", fmt.Errorf("the arguments must be a JSON object, like '{\"name\":\"Ada\"}'")
	}
	return b.String(), nil
}

// toolSink keeps a tool's result and shows what comes before it.
type toolSink struct {
	*plainSink
	enough func() // ends the turn: what the model says of the result is not wanted
	result *msg.ToolResult
}

func (s *toolSink) event(e actors.Event) error {
	if s.result != nil {
		return nil
	}
	switch d := e.Data.(type) {
	case msg.ToolResult:
		s.result = &d
		s.note("%s", d.Duration.Round(10*time.Microsecond))
		s.enough()
		return nil
	case msg.Text, msg.UsageReported, msg.ToolBegin, msg.Finished:
		return nil
	}
	return s.plainSink.event(e)
}

// toolCheck loads files as plugins.
func (p *Program) toolCheck(cmd *cobra.Command, paths []string) error {
	cfg, err := p.loadConfig(cmd)
	if err != nil {
		return err
	}
	bad := false
	for _, path := range paths {
		o := p.pluginOptions(cfg)
		o.Dirs = nil
		tools, err := p.checkPlugin(cmd.Context(), path, o)
		for _, line := range toolLines(tools, listWidth) {
			if err := p.write(fmt.Sprintf("%s: %s\n", path, line)); err != nil {
				return err
			}
		}
		if err != nil {
			bad = true
			p.say("%s: %v", path, err)
		}
	}
	if bad {
		return &exitError{status: exitFailed}
	}
	return nil
}

func (p *Program) checkPlugin(ctx context.Context, path string, o actors.PluginOptions) ([]actors.Tool, error) {
	st, err := os.Stat(path)
	if err != nil {
		return nil, errors.Unwrap(err)
	}
	if !st.Mode().IsRegular() || st.Size() > maxInput {
		return nil, errors.New("is not a plugin file")
	}
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	o.Files = []actors.PluginFile{{Name: strings.TrimSuffix(filepath.Base(path), ".lua"), Source: string(b)}}
	plugins, bad := actors.LoadPlugins(ctx, o)
	for _, err := range bad {
		return nil, err.Err
	}
	set, err := actors.NewToolset(plugins)
	if err != nil {
		return nil, err
	}
	if len(set.List()) == 0 {
		return nil, errors.New("registers no tool: call clm.tool_register")
	}
	for _, w := range plugins.Warnings() {
		p.say("%s: %s", path, w)
	}
	return set.List(), nil
}
