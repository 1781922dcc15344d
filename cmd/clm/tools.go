package main

import (
	"context"
	"net/url"
	"slices"

	"github.com/spf13/cobra"

	"clm/actors"
	"clm/config"
)

// loadTools loads what the configuration says. A plugin that fails is left out
// with a notice.
func (c *conversation) loadTools(ctx context.Context) error {
	plugins, bad := actors.LoadPlugins(ctx, c.p.pluginOptions(c.cfg))
	for _, err := range bad {
		c.p.say("%v: left out", err)
		c.p.log.Logger().Warn("plugin left out", "file", err.File, "err", err.Err)
	}
	var err error
	c.toolset, err = actors.NewToolset(plugins)
	return err
}

// changeAgent goes on with another profile and the same conversation.
func (c *conversation) changeAgent(ctx context.Context, cmd *cobra.Command, name string) error {
	cfg, warns, err := config.Load(config.Options{Env: c.p.Env, Flags: cmd.Flags(), Agent: name})
	for _, w := range warns {
		c.p.say("warning: %s", w)
	}
	if err != nil {
		return err
	}
	target, err := cfg.Target(c.p.choice())
	if err != nil {
		return err
	}
	history, err := c.agent.History()
	if err != nil {
		return err
	}
	old, oldCfg, oldTarget := c.agent, c.cfg, c.target
	c.p.log.Hide(cfg.Secrets()...)
	c.cfg, c.target = cfg, target
	if err := c.spawn(ctx, slices.Clone(history)); err != nil {
		c.agent, c.cfg, c.target = old, oldCfg, oldTarget
		return err
	}
	return old.Stop(ctx)
}

// withoutPassword is a URL for people.
func withoutPassword(s string) string {
	u, err := url.Parse(s)
	if err != nil {
		return "the configured URL"
	}
	return u.Redacted()
}
