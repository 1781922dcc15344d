package main

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"clm/actors"
	"clm/config"
	"clm/llm"
)

// probeTime bounds the wait for one server's list of models.
const probeTime = 10 * time.Second

func (p *Program) modelsCommand() *cobra.Command {
	return &cobra.Command{
		Use: "models", Short: "List the models that the providers offer, as -m takes them", Args: cobra.NoArgs,
		RunE: p.models,
	}
}

// offer is what one connection's server offers.
type offer struct {
	target config.Target
	models []llm.Model
	err    error
	took   time.Duration
}

// spec is a model as -m takes it.
func (o offer) spec(id string) string {
	if o.target.Provider == "" {
		return id
	}
	return o.target.Provider + "/" + id
}

func (p *Program) models(cmd *cobra.Command, _ []string) error {
	cfg, err := p.loadConfig(cmd)
	if err != nil {
		return err
	}
	targets, err := p.connections(cfg)
	if err != nil {
		return usageError(err)
	}
	offers, err := p.probe(cmd.Context(), targets)
	if err != nil {
		return err
	}
	var b strings.Builder
	bad := 0
	for _, o := range offers {
		if o.err != nil {
			bad++
			p.say("%s: %v", connectionName(o.target), o.err)
		}
		for _, m := range o.models {
			line := oneLine(o.spec(m.ID))
			if m.ContextSize > 0 {
				line += fmt.Sprintf("\t%d", m.ContextSize)
			}
			b.WriteString(line + "\n")
		}
	}
	if err := p.write(b.String()); err != nil {
		return err
	}
	if bad == len(offers) {
		return &exitError{status: exitFailed}
	}
	return nil
}

func connectionName(t config.Target) string {
	if t.Provider != "" {
		return t.Provider
	}
	return withoutPassword(t.URL)
}

// connections are those that are asked: the one that the flags name, or all
// that could answer.
func (p *Program) connections(cfg *config.Config) ([]config.Target, error) {
	active, err := cfg.Target(p.choice())
	if p.flags.url != "" || p.flags.provider != "" {
		return []config.Target{active}, err
	}
	var out []config.Target
	if err == nil && active.Provider == "" {
		out = append(out, active)
	}
	for _, name := range cfg.ProviderNames() {
		t, err := cfg.SwitchProvider(config.Target{Model: "-"}, name)
		if err != nil {
			return nil, err
		}
		if p := cfg.Providers[name]; name != "demo" && p.APIKey == "" && len(p.Headers) == 0 && !loopback(t.URL) {
			continue // without a key it would only say no
		}
		t.APIKey = cfg.Providers[name].APIKey // CLM_API_KEY is for the selected connection
		out = append(out, t)
	}
	return out, nil
}

// loopback says whether a URL is on this machine, where keys are not usual.
func loopback(s string) bool {
	u, err := url.Parse(s)
	if err != nil {
		return false
	}
	h := u.Hostname()
	return h == "localhost" || h == "::1" || strings.HasPrefix(h, "127.")
}

// probe asks all servers at once.
func (p *Program) probe(ctx context.Context, targets []config.Target) ([]offer, error) {
	if len(targets) == 0 {
		return nil, errors.New("no provider has a key: put one into secrets.lua, or name a server with -u")
	}
	e, err := actors.Start(ctx, actors.Options{Logger: p.log.Logger(), Version: version})
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, probeTime)
	defer cancel()
	results := make(chan int)
	offers := make([]offer, len(targets))
	for i, t := range targets {
		offers[i].target = t
		go func() {
			start := time.Now()
			offers[i].models, offers[i].err = e.Models(ctx, model(t).Connection)
			offers[i].took = time.Since(start)
			results <- i
		}()
	}
	for range targets {
		<-results
	}
	return offers, e.Stop(ctx)
}
