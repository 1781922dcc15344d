package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"clm/config"
)

func (p *Program) configCommand() *cobra.Command {
	return group(&cobra.Command{Use: "config", Short: "Check or show the configuration"},
		&cobra.Command{Use: "check", Short: "Check all configuration files; warnings exit with 2 too", Args: cobra.NoArgs, RunE: p.configCheck},
		&cobra.Command{Use: "show", Short: "Show the merged configuration and where each value comes from", Args: cobra.NoArgs, RunE: p.configShow})
}

// configCheck reads everything that a run could read: all profiles too.
func (p *Program) configCheck(cmd *cobra.Command, _ []string) error {
	cfg, warns, err := config.Load(config.Options{Env: p.Env, Flags: cmd.Flags()})
	problems := warningTexts(warns)
	if err != nil {
		problems = append(problems, errorTexts(err)...)
	} else {
		for _, name := range cfg.Profiles() {
			_, warns, err := cfg.Profile(name)
			problems = append(problems, warningTexts(warns)...)
			problems = append(problems, errorTexts(err)...)
		}
		_, err := cfg.Target(p.choice())
		problems = append(problems, errorTexts(err)...)
	}
	seen := map[string]bool{}
	for _, text := range problems {
		if !seen[text] {
			seen[text] = true
			p.say("%s", text)
		}
	}
	if len(problems) > 0 {
		return &exitError{status: exitUsage}
	}
	files := "no files; the defaults hold"
	if len(cfg.Files) > 0 {
		files = strings.Join(cfg.Files, "\n    ")
	}
	return p.write("ok: " + files + "\n")
}

func warningTexts(warns []config.Warning) (out []string) {
	for _, w := range warns {
		out = append(out, "warning: "+w.String())
	}
	return out
}

func errorTexts(err error) (out []string) {
	if err == nil {
		return nil
	}
	for _, e := range unjoin(err) {
		out = append(out, e.Error())
	}
	return out
}

func (p *Program) choice() config.Choice {
	return config.Choice{URL: p.flags.url, Provider: p.flags.provider}
}

func (p *Program) configShow(cmd *cobra.Command, _ []string) error {
	cfg, err := p.loadConfig(cmd)
	if err != nil {
		return err
	}
	lines := cfg.Show()
	width := 0
	for _, l := range lines {
		width = max(width, min(len(l.Key)+len(l.Value)+3, 56))
	}
	var b strings.Builder
	for _, l := range lines {
		fmt.Fprintf(&b, "%-*s  -- %s\n", width, l.Key+" = "+clean(l.Value), l.Origin)
	}
	return p.write(b.String())
}

func (p *Program) schemaCommand() *cobra.Command {
	return &cobra.Command{
		Use: "schema [events|config|lua]", Short: "Print the JSON Schema of --json events or of config.lua, or annotations for Lua editors",
		Args: cobra.MatchAll(cobra.MaximumNArgs(1), cobra.OnlyValidArgs), ValidArgs: []string{"events", "config", "lua"},
		RunE: func(_ *cobra.Command, args []string) error {
			what := "events"
			if len(args) > 0 {
				what = args[0]
			}
			switch what {
			case "events":
				return p.write(eventSchema)
			case "lua":
				return p.write(pluginAnnotations + "\n" + config.LuaLS())
			case "config":
				b, err := json.MarshalIndent(config.JSONSchema(), "", "  ")
				if err != nil {
					return err
				}
				return p.write(string(b) + "\n")
			}
			return errors.ErrUnsupported // ValidArgs lets nothing else pass
		},
	}
}
