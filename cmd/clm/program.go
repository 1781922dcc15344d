package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"syscall"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"clm/actors"
	"clm/config"
	"clm/logging"
)

// version is what -V shows; a release sets it with -ldflags -X.
var version = "0.1.0-dev" //nolint:gochecknoglobals // the linker sets it

// Program is one run of the command. The fields are what it touches of the
// world, so that tests can run it whole.
type Program struct {
	Args   []string
	Env    []string // "NAME=value"
	Stdin  io.Reader
	Stdout io.Writer
	Stderr io.Writer

	flags flags
	log   *logging.Log

	dashP struct { // what -p names
		dirs  []string
		files []actors.PluginFile
	}

	told bool // the run's outcome
}

// Run runs the command line and returns its exit status.
func (p *Program) Run() int {
	if len(p.Args) == 1 && (p.Args[0] == "-V" || p.Args[0] == "--version") {
		return p.end(p.printVersion())
	}
	log, err := logging.Open(logging.Options{Path: p.env("CLM_DEBUG_LOG"), Level: p.env("CLM_DEBUG_LEVEL")})
	if err != nil {
		return p.end(usageError(err))
	}
	p.log = log
	p.log.Hide(p.env("CLM_API_KEY"))
	root := p.command()
	addCobras(root)
	root.SetArgs(joinResume(p.Args, root.LocalFlags()))
	err = root.Execute()
	status := p.end(err)
	if err != nil && p.flags.json && !p.told && status != exitPipe {
		o := outcome{Exit: status, Status: "failed", Kind: "usage", Error: p.texts(err)}
		if status != exitUsage {
			o.Kind = "start"
		}
		_ = jsonSink{p.Stdout}.outcome(o) // the program ends anyway
	}
	p.log.Logger().Debug("exit", "status", status)
	_ = p.log.Close()
	return status
}

func (p *Program) printVersion() error {
	_, err := fmt.Fprintln(p.Stdout, "clm", version)
	return err
}

// end tells the person what went wrong and returns the exit status. A reader
// of standard output that went away is told nothing.
func (p *Program) end(err error) int {
	status := exitStatus(err)
	var e *exitError
	if err == nil || status == exitPipe || errors.As(err, &e) && e.err == nil {
		return status
	}
	for _, err := range unjoin(err) {
		p.say("%s", err)
	}
	return status
}

// texts is an error for the outcome.
func (p *Program) texts(err error) string {
	var all []string
	for _, e := range unjoin(err) {
		all = append(all, clean(e.Error()))
	}
	return strings.Join(all, "; ")
}

// unjoin splits joined errors, so that each gets its line.
func unjoin(err error) []error {
	var e *exitError
	if errors.As(err, &e) && e.err != nil {
		err = e.err
	}
	if j, ok := err.(interface{ Unwrap() []error }); ok {
		return j.Unwrap()
	}
	return []error{err}
}

// say writes one line to standard error, "clm: …".
func (p *Program) say(format string, args ...any) {
	text := strings.TrimRight(clean(fmt.Sprintf(format, args...)), "\n")
	fmt.Fprintf(p.Stderr, "clm: %s\n", strings.ReplaceAll(text, "\n", "\n     "))
}

// env returns a variable of the environment, or "".
func (p *Program) env(name string) string {
	for i := len(p.Env) - 1; i >= 0; i-- {
		if v, ok := strings.CutPrefix(p.Env[i], name+"="); ok {
			return v
		}
	}
	return ""
}

// loadConfig reads the configuration for a command and tells its warnings.
func (p *Program) loadConfig(cmd *cobra.Command) (*config.Config, error) {
	return p.configOf(cmd.Flags(), "")
}

// configOf is loadConfig with another profile, if one is named.
func (p *Program) configOf(flags *pflag.FlagSet, agent string) (*config.Config, error) {
	cfg, warns, err := config.Load(config.Options{Env: p.Env, Flags: flags, Agent: agent})
	for _, w := range warns {
		p.say("warning: %s", w)
	}
	if err != nil {
		return nil, usageError(err)
	}
	p.log.Hide(cfg.Secrets()...)
	return cfg, nil
}

// write writes text to standard output; that its reader went away ends the
// program quietly.
func (p *Program) write(text string) error {
	_, err := io.WriteString(p.Stdout, text)
	return err
}

// isPipeClosed says whether the reader of standard output went away.
func isPipeClosed(err error) bool {
	return errors.Is(err, syscall.EPIPE) || errors.Is(err, os.ErrClosed)
}
