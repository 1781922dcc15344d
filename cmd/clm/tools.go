package main

import (
	"context"
	"errors"
	"io/fs"
	"net/url"
	"os"
	"reflect"
	"slices"

	"github.com/spf13/cobra"

	"clm/actors"
	"clm/config"
)

// loadTools loads what the configuration says.
func (c *conversation) loadTools(ctx context.Context) (err error) {
	c.toolset, err = c.p.toolsOf(ctx, c.cfg)
	return err
}

// toolsOf loads the plugins of a configuration. One that fails is left out
// with a notice.
func (p *Program) toolsOf(ctx context.Context, cfg *config.Config) (*actors.Toolset, error) {
	plugins, bad := actors.LoadPlugins(ctx, p.pluginOptions(cfg))
	for _, err := range bad {
		p.say("%v: left out", err)
		p.log.Logger().Warn("plugin left out", "file", err.File, "err", err.Err)
	}
	return actors.NewToolset(plugins)
}

// samePlugins says whether two configurations load the same plugins with the
// same settings, so that one set serves both.
func (p *Program) samePlugins(a, b *config.Config) bool {
	there := func(dirs []string) []string {
		return slices.DeleteFunc(slices.Clone(dirs), func(d string) bool {
			_, err := os.Stat(d)
			return errors.Is(err, fs.ErrNotExist)
		})
	}
	return slices.Equal(there(a.PluginDirs), there(b.PluginDirs)) && reflect.DeepEqual(a.Tools, b.Tools) && reflect.DeepEqual(a.Plugins, b.Plugins)
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
