package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"clm/actors"
)

// maxPluginFile bounds a plugin file that -p names, in bytes.
const maxPluginFile = 1 << 20

// readPlugins takes what -p names: folders, and plugin files.
func (p *Program) readPlugins(*cobra.Command, []string) error {
	p.dashP.dirs, p.dashP.files = nil, nil
	for _, path := range p.flags.plugins {
		st, err := os.Stat(path)
		switch {
		case err != nil:
			return usageError(fmt.Errorf("-p: %w", err))
		case st.IsDir():
			p.dashP.dirs = append(p.dashP.dirs, path)
			continue
		case !st.Mode().IsRegular() || filepath.Ext(path) != ".lua":
			return usageError(fmt.Errorf("-p %s: is neither a folder nor a .lua file", path))
		case st.Size() > maxPluginFile:
			return usageError(fmt.Errorf("-p %s: is larger than %d KiB", path, maxPluginFile>>10))
		}
		b, err := os.ReadFile(path)
		if err != nil {
			return usageError(fmt.Errorf("-p: %w", err))
		}
		p.dashP.files = append(p.dashP.files, actors.PluginFile{
			Name: strings.TrimSuffix(filepath.Base(path), ".lua"), Source: string(b),
		})
	}
	return nil
}
