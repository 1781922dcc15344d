package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"golang.org/x/term"

	"clm/actors"
	"clm/actors/debug"
	"clm/actors/metrics"
	"clm/actors/stress"
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
	s.IntVar(&f.o.Tokens, "tokens", 20, "`N` words an answer of the embedded model")
	s.DurationVar(&f.o.Pace, "token-delay", 0, "`TIME` before each of its words")
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
	if err == nil && got != nil {
		return &exitError{status: signalStatus(got)}
	}
	return err
}

// runStress runs one load, the phases of a scenario, or a comparison.
func (p *Program) runStress(ctx context.Context, cmd *cobra.Command, f *stressFlags, o stress.Options) error {
	if f.compare != "" {
		return p.compareStress(ctx, cmd, f, o)
	}
	phases := []stress.Options{o}
	if f.scenario != "" {
		source, err := os.ReadFile(f.scenario)
		if err != nil {
			return usageError(fmt.Errorf("--scenario: %w", err))
		}
		if phases, err = stress.Scenario(f.scenario, string(source), o); err != nil {
			return usageError(err)
		}
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
		if err := p.stressReport(report, out, f.asJSON); err != nil {
			return errors.Join(append(errs, err)...)
		}
		if ctx.Err() != nil {
			break
		}
	}
	return errors.Join(errs...)
}

// compareStress runs two builds, or one against two servers, in turn.
func (p *Program) compareStress(ctx context.Context, cmd *cobra.Command, f *stressFlags, o stress.Options) error {
	var a, b stress.Side
	if strings.Contains(f.compare, "://") {
		if o.Model.ID == "" {
			return usageError(errors.New("--compare URL: the first server is -u, its model -m"))
		}
		other := o
		other.Model.Connection.URL = f.compare
		a, b = stress.Load(withoutPassword(o.Model.Connection.URL), o), stress.Load(withoutPassword(f.compare), other)
	} else {
		self, err := os.Executable()
		if err != nil {
			return fmt.Errorf("--compare: %w", err)
		}
		if _, err := os.Stat(f.compare); err != nil {
			return usageError(fmt.Errorf("--compare: %w", err))
		}
		args := sameFlags(cmd)
		a, b = stress.Build(self, args...), stress.Build(f.compare, args...)
	}
	c, err := stress.Compare(ctx, a, b, f.pairs, o.Seed, func(pair int) { p.say("%d of %d pairs", pair, f.pairs) })
	if err != nil {
		return err
	}
	if f.asJSON {
		return c.JSON(p.Stdout)
	}
	return c.Text(p.Stdout)
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
	for name, v := range map[string]int{"agents": o.Agents, "tokens": o.Tokens} {
		if v < 1 { // to the library 0 is the default
			return o, fmt.Errorf("--%s is %d, must be at least 1", name, v)
		}
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
	if f.soak {
		o.Rounds = soakRounds
		o.Duration /= soakRounds
	}
	if cmd.Flags().Changed("model") || p.flags.url != "" || p.flags.provider != "" {
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
		o.Model, o.System = model(t), cfg.SystemPrompt
	}
	if len(f.files) > 0 {
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

// pluginFiles loads single files as a set of tools.
func (p *Program) pluginFiles(ctx context.Context, paths []string) (*actors.Toolset, error) {
	o := actors.PluginOptions{Logger: p.log.Logger(), Version: version}
	for _, path := range paths {
		b, err := os.ReadFile(path)
		if err != nil {
			return nil, fmt.Errorf("--plugin: %w", err)
		}
		o.Files = append(o.Files, actors.PluginFile{Name: strings.TrimSuffix(filepath.Base(path), ".lua"), Source: string(b)})
	}
	plugins, bad := actors.LoadPlugins(ctx, o)
	for _, err := range bad {
		return nil, err
	}
	return actors.NewToolset(plugins)
}

// stressReport writes the report to standard output and, with --out, to files.
func (p *Program) stressReport(r *stress.Report, out string, asJSON bool) error {
	if p.colour(p.Stderr) {
		fmt.Fprint(p.Stderr, "\r\x1b[K")
	}
	if out != "" {
		if err := os.MkdirAll(out, 0o755); err != nil {
			return fmt.Errorf("--out: %w", err)
		}
		for name, form := range map[string]func(io.Writer) error{"report.txt": r.Text, "report.json": r.JSON, "report.html": r.HTML} {
			var b bytes.Buffer
			if err := form(&b); err != nil {
				return fmt.Errorf("--out: %s: %w", name, err)
			}
			if err := os.WriteFile(filepath.Join(out, name), b.Bytes(), 0o644); err != nil {
				return fmt.Errorf("--out: %w", err)
			}
		}
	}
	if asJSON {
		return r.JSON(p.Stdout)
	}
	return r.Text(p.Stdout)
}
