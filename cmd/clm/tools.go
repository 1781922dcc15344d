package main

import (
	"context"
	"errors"
	"io/fs"
	"net/url"
	"os"
	"reflect"
	"slices"

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

// withoutPassword is a URL for people.
func withoutPassword(s string) string {
	u, err := url.Parse(s)
	if err != nil {
		return "the configured URL"
	}
	return u.Redacted()
}
