package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"golang.org/x/term"

	"clm/actors"
	"clm/actors/debug"
	"clm/actors/metrics"
	"clm/actors/stress"
	"clm/config"
)

// stressFlags are those of `clm stress`.
type stressFlags struct {
	o      stress.Options
	tools  string
	faults string
	admit  string
	pprof  string
	files  []string // plugins
	soak   bool
	out    string
	asJSON bool

	scenario string
	compare  string
	pairs    int
}

func (p *Program) stressCommand() *cobra.Command {
	f := &stressFlags{}
	cmd := &cobra.Command{
		Use: "stress", Short: "Put agents under load and report how they, the server and clm held up", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return p.stress(cmd, f) },
	}
	s := cmd.Flags()
	s.IntVar(&f.o.Agents, "agents", 100, "`N` agents at a time")
	s.IntVar(&f.o.Turns, "turns", 0, "`N` turns of each agent; 0: as many as fit into --duration, or 1")
	s.DurationVar(&f.o.Duration, "duration", 0, "start no turn after `TIME`")
	s.DurationVar(&f.o.Ramp, "ramp", 0, "spawn the agents over `TIME`")
	s.Float64Var(&f.o.Rate, "rate", 0, "`N` turns a second become due, over all agents (open loop)")
	s.IntVar(&f.o.Concurrency, "concurrency", 0, "at most `N` turns in flight (closed loop)")
	s.DurationVar(&f.o.Think, "think", 0, "mean pause of `TIME` between two turns of an agent")
	s.StringVar(&f.tools, "tools", "", "turns that call tools: `SHARE`[:CALLS[:chain]]")
	s.StringVar(&f.o.Tools.Name, "tool", "", "call the tool `NAME`")
	s.StringVar(&f.o.Tools.Args, "args", "", "its arguments, `JSON`; {tag} and {call} tell calls apart")
	s.StringArrayVar(&f.files, "plugin", nil, "load the plugin `FILE`; repeatable")
	s.IntVar(&f.o.Tokens, "tokens", 20, "`N` words an answer; a real model is asked for about as many")
	s.DurationVar(&f.o.Pace, "token-delay", 0, "`TIME` before each word of the embedded model")
	s.Float64Var(&f.o.Cancel, "cancel", 0, "cancel a `SHARE` of the turns at a random moment")
	s.StringVar(&f.faults, "faults", "", "faults of the server: a `SHARE`, or cut=…,429=…,500=…,slow=…,garbage=…,slowby=TIME")
	s.StringVar(&f.admit, "admit", "", "the engine runs at most `RUNNING`[:QUEUED] turns at once; QUEUED more wait, others are refused")
	s.Float64Var(&f.o.Churn, "churn", 0, "after a `SHARE` of the turns the agent leaves and another comes")
	s.Uint64Var(&f.o.Seed, "seed", 0, "`N` repeats what an earlier run did at random")
	s.BoolVar(&f.soak, "soak", false, "repeat in rounds, and compare the memory between them")
	s.StringVar(&f.out, "out", "", "write report.txt, report.json and report.html into `DIR`")
	s.StringVar(&f.scenario, "scenario", "", "a load from the Lua `FILE`, which returns options or a list of them, phases")
	s.StringVar(&f.compare, "compare", "", "compare with another build or server: `WHAT` is a program or a URL")
	s.IntVar(&f.pairs, "pairs", 5, "`N` pairs of runs in a comparison")
	s.StringVar(&f.pprof, "pprof", "", "serve profiles and metrics at `ADDR`, of this machine only, while the run goes on")
	s.BoolVar(&f.asJSON, "json", false, "write the report as JSON")
	return cmd
}

// soakRounds is how many rounds --soak divides its duration into.
const soakRounds = 10

func (p *Program) stress(cmd *cobra.Command, f *stressFlags) error {
	o, err := p.stressOptions(cmd, f)
	if err != nil {
		return usageError(err)
	}
	if p.env("GOGC") == "" {
		defer collectOften()()
	}
	signals, stopSignals := p.notify()
	defer stopSignals()
	ctx, cancel := context.WithCancel(cmd.Context())
	defer cancel()
	var got os.Signal
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		select {
		case got = <-signals:
			cancel() // the run is reported all the same
		case <-ctx.Done():
		}
	}()
	err = p.runStress(ctx, cmd, f, o)
	cancel()
	<-ended
	if got != nil && (err == nil || errors.Is(err, context.Canceled)) {
		return &exitError{signalStatus(got), err}
	}
	return err
}

// runStress runs one load, the phases of a scenario, or a comparison.
func (p *Program) runStress(ctx context.Context, cmd *cobra.Command, f *stressFlags, o stress.Options) error {
	phases, err := stressPhases(f, o)
	if err != nil {
		return usageError(err)
	}
	if err := writable(f.out); err != nil {
		return usageError(err)
	}
	if f.compare != "" {
		if len(phases) > 1 {
			return usageError(fmt.Errorf("--compare compares one load, and %s holds %d phases; give each a file of its own", f.scenario, len(phases)))
		}
		return p.compareStress(ctx, cmd, f, phases[0])
	}
	var errs []error
	for i, o := range phases {
		report, err := stress.Run(ctx, o)
		if report == nil {
			return usageError(err)
		}
		errs = append(errs, err)
		out := f.out
		if out != "" && len(phases) > 1 {
			out = filepath.Join(out, fmt.Sprintf("phase-%d", i+1))
		}
		p.clearProgress()
		if err := p.stressReport(report, out, f.asJSON, report.HTML); err != nil {
			return errors.Join(append(errs, err)...)
		}
		if ctx.Err() != nil {
			break
		}
	}
	return errors.Join(errs...)
}

// stressPhases are the loads that run one after the other.
func stressPhases(f *stressFlags, o stress.Options) ([]stress.Options, error) {
	phases := []stress.Options{o}
	if f.scenario != "" {
		source, err := os.ReadFile(f.scenario)
		if err != nil {
			return nil, fmt.Errorf("--scenario: %w", err)
		}
		if phases, err = stress.Scenario(f.scenario, string(source), o); err != nil {
			return nil, err
		}
	}
	if f.soak {
		for i := range phases {
			phases[i].Rounds = soakRounds
			phases[i].Duration /= soakRounds
		}
	}
	return phases, nil
}

// writable makes the folder of --out, and says before a run of hours whether its
// report can be kept there.
func writable(dir string) error {
	if dir == "" {
		return nil
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("--out: %w", err)
	}
	probe, err := os.CreateTemp(dir, ".report-*")
	if err != nil {
		return fmt.Errorf("--out: %w", err)
	}
	return errors.Join(probe.Close(), os.Remove(probe.Name()))
}

// compareStress runs two builds, or one against two servers, in turn.
func (p *Program) compareStress(ctx context.Context, cmd *cobra.Command, f *stressFlags, o stress.Options) error {
	a, b, err := p.sides(cmd, f, o)
	if err != nil {
		return usageError(err)
	}
	c, err := stress.Compare(ctx, a, b, f.pairs, o.Seed, func(pair int) {
		p.clearProgress()
		p.say("%d of %d pairs", pair, f.pairs)
	})
	p.clearProgress()
	if c == nil {
		return err
	}
	return errors.Join(err, p.stressReport(c, f.out, f.asJSON, nil))
}

// sides are what --compare compares. The other server gets the key that -u would
// send there: none, unless --provider names whose it is.
func (p *Program) sides(cmd *cobra.Command, f *stressFlags, o stress.Options) (a, b stress.Side, err error) {
	if !strings.Contains(f.compare, "://") {
		self, err := os.Executable()
		if err != nil {
			return a, b, fmt.Errorf("--compare: %w", err)
		}
		other, err := programPath(f.compare)
		if err != nil {
			return a, b, fmt.Errorf("--compare: %w", err)
		}
		args := sameFlags(cmd)
		return stress.Build(self, args...), stress.Build(other, args...), nil
	}
	if o.Model.ID == "" {
		return a, b, errors.New("--compare URL: the first server is -u, its model -m")
	}
	cfg, err := p.loadConfig(cmd)
	if err != nil {
		return a, b, err
	}
	t, err := cfg.Target(config.Choice{URL: f.compare, Provider: p.flags.provider})
	if err != nil {
		return a, b, fmt.Errorf("--compare: %w", err)
	}
	other := o
	other.Model = model(t)
	other.Model.ID = o.Model.ID
	return stress.Load(withoutPassword(o.Model.Connection.URL), o), stress.Load(withoutPassword(t.URL), other), nil
}

// programPath finds another build: a file, or a program of PATH.
func programPath(name string) (string, error) {
	if _, err := os.Stat(name); err == nil {
		if name, err = filepath.Abs(name); err != nil {
			return "", err
		}
	}
	return exec.LookPath(name)
}

// sameFlags are the flags of this run for another program, without those that
// the comparison sets itself.
func sameFlags(cmd *cobra.Command) (args []string) {
	cmd.Flags().Visit(func(fl *pflag.Flag) {
		switch fl.Name {
		case "compare", "pairs", "json", "seed", "out":
			return
		}
		values := []string{fl.Value.String()}
		if many, ok := fl.Value.(pflag.SliceValue); ok {
			values = many.GetSlice()
		}
		for _, v := range values {
			args = append(args, "--"+fl.Name+"="+v)
		}
	})
	return args
}

// stressOptions translates the flags. A model is taken only when one is named:
// else the embedded one is under load.
func (p *Program) stressOptions(cmd *cobra.Command, f *stressFlags) (stress.Options, error) {
	o := f.o
	if err := f.check(cmd); err != nil {
		return o, err
	}
	var err error
	if f.tools != "" {
		var t stress.Tools
		if t, err = stress.ParseTools(f.tools); err != nil {
			return o, err
		}
		t.Name, t.Args = o.Tools.Name, o.Tools.Args
		o.Tools = t
	}
	if o.Faults, err = stress.ParseFaults(f.faults); err != nil {
		return o, err
	}
	if cmd.Flags().Changed("model") || cmd.Flags().Changed("agent") || p.flags.url != "" || p.flags.provider != "" {
		cfg, err := p.loadConfig(cmd)
		if err != nil {
			return o, err
		}
		t, err := cfg.Target(p.choice())
		if err != nil {
			return o, err
		}
		if t.Model == "" {
			return o, errors.New("name the model with -m")
		}
		if o.Pace > 0 {
			return o, errors.New("--token-delay is for the embedded model, and -m, -u, -a or --provider names another; leave it out")
		}
		o.Model, o.System = model(t), cfg.SystemPrompt
	}
	if len(f.files) > 0 || len(p.flags.plugins) > 0 {
		if o.Toolset, err = p.pluginFiles(cmd.Context(), f.files); err != nil {
			return o, err
		}
	}
	o.Engine = actors.Options{Logger: p.log.Logger(), Version: version}
	if f.admit != "" {
		if o.Engine.MaxTurns, o.Engine.MaxQueued, err = stress.ParseAdmission(f.admit); err != nil {
			return o, err
		}
	}
	if f.pprof != "" {
		o.Observe = p.serveProfiles(f.pprof)
	}
	if !f.asJSON {
		o.Progress = p.stressProgress()
	}
	return o, nil
}

// check refuses what would be taken for something else, or do nothing without a
// word.
func (f *stressFlags) check(cmd *cobra.Command) error {
	given := cmd.Flags().Changed
	for name, v := range map[string]int{"agents": f.o.Agents, "tokens": f.o.Tokens} {
		if v < 1 { // to the library 0 is the default
			return fmt.Errorf("--%s is %d, must be at least 1", name, v)
		}
	}
	if given("seed") && f.o.Seed == 0 {
		return errors.New("--seed is 0, must be at least 1; leave it out for another one each time")
	}
	for _, name := range []string{"yes", "allow", "deny"} {
		if given(name) {
			return fmt.Errorf("--%s: clm stress asks for no permission, it calls the tools that --plugin or -p loads; leave the flag out", name)
		}
	}
	for _, name := range []string{"tool", "args"} {
		if given(name) && f.tools == "" && f.scenario == "" {
			return fmt.Errorf("--%s: no turn calls a tool; say with --tools how many of them do", name)
		}
	}
	switch {
	case given("pairs") && f.compare == "":
		return errors.New("--pairs is for a comparison; give --compare too")
	case f.compare != "" && f.pairs < 2:
		return fmt.Errorf("--pairs is %d, must be at least 2", f.pairs)
	}
	return nil
}

// serveProfiles serves what a run shows of itself.
func (p *Program) serveProfiles(addr string) func(*metrics.Collector) (func() error, error) {
	return func(c *metrics.Collector) (func() error, error) {
		s, err := debug.Serve(addr, c)
		if err != nil {
			return nil, fmt.Errorf("--pprof: %w", err)
		}
		p.say("profiles at http://%s/debug/pprof/, metrics at http://%[1]s/metrics", s.Addr())
		return s.Close, nil
	}
}

// stressProgress shows a line that changes on a terminal, and elsewhere a line
// every ten seconds.
func (p *Program) stressProgress() func(stress.Progress) {
	if p.colour(p.Stderr) {
		return func(g stress.Progress) {
			fmt.Fprint(p.Stderr, "\r\x1b[K", progressLine(g, terminalWidth(p.Stderr)))
		}
	}
	last := time.Duration(0)
	return func(g stress.Progress) {
		if g.Elapsed-last >= 10*time.Second || g.Elapsed < last {
			last = g.Elapsed
			fmt.Fprintln(p.Stderr, g.Line())
		}
	}
}

// progressLine is the progress with what else there is room for: a line that
// wraps could not be written over.
func progressLine(g stress.Progress, width int) string {
	const barWidth, most, least = 16, 20, 5
	line := []rune(g.Line())
	room := width - 1 - len(line)
	if room < 0 {
		fits := string(line[:max(width-1, 0)])
		return fits[:max(strings.LastIndex(fits, "  "), 0)] // no part of a figure
	}
	if room > barWidth {
		line = append([]rune(bar(g.Share, barWidth)+" "), line...)
		room -= barWidth + 1
	}
	if room <= least {
		return string(line)
	}
	rates := make([]float64, len(g.Series))
	for i, s := range g.Series {
		rates[i] = s.Turns
	}
	return string(line) + " " + stress.Sparkline(rates, min(room-1, most))
}

// terminalWidth is how many columns a terminal has.
func terminalWidth(w io.Writer) int {
	if f, is := w.(*os.File); is {
		if width, _, err := term.GetSize(int(f.Fd())); err == nil && width > 0 {
			return width
		}
	}
	return 80
}

// bar draws a share.
func bar(share float64, width int) string {
	full := min(max(int(share*float64(width)), 0), width)
	return strings.Repeat("█", full) + strings.Repeat("░", width-full)
}

// clearProgress removes the line that changes.
func (p *Program) clearProgress() {
	if p.colour(p.Stderr) {
		fmt.Fprint(p.Stderr, "\r\x1b[K")
	}
}

// pluginFiles loads the files of --plugin and what -p names as a set of tools.
func (p *Program) pluginFiles(ctx context.Context, paths []string) (*actors.Toolset, error) {
	o := actors.PluginOptions{Dirs: p.dashP.dirs, Files: slices.Clone(p.dashP.files), Logger: p.log.Logger(), Version: version}
	for _, path := range paths {
		f, err := readPluginFile("--plugin", path, "no .lua file; -p takes a folder")
		if err != nil {
			return nil, err
		}
		o.Files = append(o.Files, f)
	}
	plugins, bad := actors.LoadPlugins(ctx, o)
	for _, err := range bad {
		return nil, err
	}
	return actors.NewToolset(plugins)
}

// report is what a run or a comparison found.
type report interface {
	Text(w io.Writer) error
	JSON(w io.Writer) error
}

// stressReport writes a report to standard output and, with --out, to files: what
// cannot be written to one is still written to the other.
func (p *Program) stressReport(r report, out string, asJSON bool, page func(io.Writer) error) error {
	show := r.Text
	if asJSON {
		show = r.JSON
	}
	shown := show(p.Stdout)
	if out == "" {
		return shown
	}
	forms := map[string]func(io.Writer) error{"report.txt": r.Text, "report.json": r.JSON}
	if page != nil {
		forms["report.html"] = page
	}
	return errors.Join(shown, writeForms(out, forms))
}

func writeForms(dir string, forms map[string]func(io.Writer) error) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("--out: %w", err)
	}
	for name, form := range forms {
		var b bytes.Buffer
		if err := form(&b); err != nil {
			return fmt.Errorf("--out: %s: %w", name, err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), b.Bytes(), 0o644); err != nil {
			return fmt.Errorf("--out: %w", err)
		}
	}
	return nil
}
