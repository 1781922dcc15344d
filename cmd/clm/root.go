package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"clm/config"
)

// flags are the values of the command line's flags.
type flags struct {
	oneshot   string
	stdin     bool
	url       string
	provider  string
	plugins   []string
	forever   string
	headless  bool
	noStream  bool
	resume    optionalID
	cont      bool
	yes       bool
	allow     []string
	deny      []string
	json      bool
	maxTurns  int
	maxTokens int64
	session   bool
	images    []string
	record    string
	replay    string
}

// command builds the command line.
func (p *Program) command() *cobra.Command {
	root := &cobra.Command{
		Use:           "clm [flags]",
		Short:         "An agent for language models, with tools in Lua",
		SilenceErrors: true,
		SilenceUsage:  true,
		Version:       version,
		Args:          p.noPrompt,
		RunE:          p.runRoot,

		PersistentPreRunE: p.readPlugins,
	}
	root.SetVersionTemplate("clm {{.Version}}\n")
	root.SetIn(p.Stdin)
	root.SetOut(p.Stdout)
	root.SetErr(p.Stderr)
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		return usageError(fmt.Errorf("%w: see %s --help", err, cmd.CommandPath()))
	})
	root.SetUsageFunc(usage)
	root.SuggestionsMinimumDistance = 2
	root.SetHelpFunc(func(cmd *cobra.Command, _ []string) {
		_ = p.write(cmd.Short + ".\n")
		_ = usage(cmd)
	})
	p.addFlags(root.Flags(), root.PersistentFlags())
	root.AddCommand(p.configCommand(), p.schemaCommand(), p.manCommand(), p.setupCommand(),
		p.sessionsCommand(), p.modelsCommand(), p.toolCommand(), p.demoCommand(), p.doctorCommand(),
		p.stressCommand())
	for _, sub := range root.Commands() {
		checkArgs(sub)
	}
	p.completeFlags(root)
	return root
}

// completeFlags completes the flags whose values the configuration knows.
func (p *Program) completeFlags(root *cobra.Command) {
	for flag, names := range map[string]func(*config.Config) []string{
		"model": (*config.Config).ModelNames, "provider": (*config.Config).ProviderNames, "agent": (*config.Config).Profiles,
	} {
		// The only error is a flag that is registered twice.
		_ = root.RegisterFlagCompletionFunc(flag, func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
			cfg, _, err := config.Load(config.Options{Env: p.Env})
			if err != nil {
				return nil, cobra.ShellCompDirectiveError
			}
			found, how := names(cfg), cobra.ShellCompDirectiveNoFileComp
			if slices.ContainsFunc(found, func(s string) bool { return strings.HasSuffix(s, "/") }) {
				how |= cobra.ShellCompDirectiveNoSpace // the id follows
			}
			return found, how
		})
	}
	_ = root.RegisterFlagCompletionFunc("resume", p.completeSessions)
}

// checkArgs makes wrong arguments of subcommands usage errors.
func checkArgs(cmd *cobra.Command) {
	if args := cmd.Args; args != nil {
		cmd.Args = func(cmd *cobra.Command, a []string) error {
			if args(cmd, a) == nil {
				return nil
			}
			path := cmd.CommandPath()
			if len(a) == 1 && len(cmd.ValidArgs) > 0 {
				return usageError(fmt.Errorf("%s: there is no %q: there are %s", path, a[0], strings.Join(cmd.ValidArgs, ", ")))
			}
			return usageError(fmt.Errorf("%s: has %s: it is used as %q: see %s --help", path, count(len(a), "argument"), useLine(cmd), path))
		}
	}
	for _, sub := range cmd.Commands() {
		checkArgs(sub)
	}
}

// group makes a command that has only subcommands say which there are.
func group(cmd *cobra.Command, subs ...*cobra.Command) *cobra.Command {
	cmd.AddCommand(subs...)
	return needsSub(cmd)
}

// addCobras adds cobra's own commands, which refuse what they do not know as
// ours do.
func addCobras(root *cobra.Command) {
	root.InitDefaultCompletionCmd()
	root.InitDefaultHelpCmd()
	for _, sub := range root.Commands() {
		switch sub.Name() {
		case "completion":
			checkArgs(needsSub(sub))
		case "help":
			sub.Args = func(_ *cobra.Command, args []string) error {
				if found, rest, err := root.Find(args); err != nil || len(rest) > 0 {
					return usageError(fmt.Errorf("clm help: there is no command %q: see %s --help", strings.Join(args, " "), found.CommandPath()))
				}
				return nil
			}
		}
	}
}

// needsSub makes a command refuse to run without a subcommand that it has.
func needsSub(cmd *cobra.Command) *cobra.Command {
	cmd.Args = cobra.ArbitraryArgs
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		var names []string
		for _, s := range cmd.Commands() {
			names = append(names, s.Name())
		}
		what := "needs a subcommand"
		if len(args) > 0 {
			what = fmt.Sprintf("has no subcommand %q", args[0])
		}
		return usageError(fmt.Errorf("%s %s: there are %s", cmd.CommandPath(), what, strings.Join(names, ", ")))
	}
	return cmd
}

// noPrompt refuses words that are neither flags nor a subcommand.
func (p *Program) noPrompt(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	if cmd.Flags().Changed("oneshot") {
		return usageError(fmt.Errorf("%q is left over: put quotes around the whole prompt of -o", strings.Join(args, " ")))
	}
	hint := "a prompt goes with -o"
	if near := cmd.SuggestionsFor(args[0]); len(near) > 0 {
		hint = "did you mean " + near[0] + "? " + hint
	}
	return usageError(fmt.Errorf("unknown command %q: %s", args[0], hint))
}

// addFlags adds the flags: those that every subcommand knows are persistent.
func (p *Program) addFlags(own, all *pflag.FlagSet) {
	f := &p.flags
	own.StringVarP(&f.oneshot, "oneshot", "o", "", "run one turn on `PROMPT` and exit; - reads it from standard input")
	own.BoolVar(&f.stdin, "stdin", false, "append standard input to the prompt of -o")
	all.StringP("model", "m", "", "the model: `SPEC` is provider/model-id, or an id on the active connection")
	all.StringVar(&f.provider, "provider", "", "use the connection `NAME`, with the same model")
	all.StringVarP(&f.url, "url", "u", "", "base endpoint `URL` (default "+config.DefaultURL+")")
	all.StringP("agent", "a", "", "use the agent profile `NAME`")
	all.StringArrayVarP(&f.plugins, "plugins", "p", nil, "load plugins from `DIR`, or one .lua file, instead of the default folder; repeatable")
	own.StringVarP(&f.forever, "forever", "f", "", "submit `PROMPT` whenever a turn ends with nothing queued")
	own.BoolVarP(&f.headless, "headless", "H", false, "the plain line REPL even on a terminal")
	own.BoolVarP(&f.noStream, "no-stream", "S", false, "ask for whole responses")
	own.VarP(&f.resume, "resume", "r", "resume the session `[ID]`; without one choose from a list")
	own.Lookup("resume").NoOptDefVal = noID
	own.BoolVarP(&f.cont, "continue", "c", false, "resume the newest session")
	all.BoolVar(&f.yes, "yes", false, "allow every gated tool that no rule denies")
	all.StringArrayVar(&f.allow, "allow", nil, "allow tools by `GLOB`, commands by shell_exec:GLOB; repeatable")
	all.StringArrayVar(&f.deny, "deny", nil, "deny tools by `GLOB`; wins over --allow and --yes; repeatable")
	own.BoolVar(&f.json, "json", false, "write events to standard output, one JSON object a line")
	own.IntVar(&f.maxTurns, "max-turns", 0, "end the run after `N` turns")
	own.Int64Var(&f.maxTokens, "max-tokens-total", 0, "end the run after `N` tokens")
	own.BoolVar(&f.session, "session", false, "store a session for -o or piped input too")
	own.StringArrayVarP(&f.images, "image", "i", nil, "attach the image `FILE`; repeatable")
	own.StringVar(&f.record, "record", "", "keep the model traffic in `DIR`")
	own.StringVar(&f.replay, "replay", "", "serve the model traffic kept in `DIR`, without a network")
	own.BoolP("version", "V", false, "print the version")
	for _, key := range []string{"model", "agent"} {
		all.Lookup(key).Annotations = map[string][]string{config.FlagKey: {key}}
	}
}
