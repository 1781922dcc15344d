package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"clm/actors"
)

// maxPluginFile bounds a plugin file that a flag names, in bytes.
const maxPluginFile = 1 << 20

// readPluginFile reads the plugin file at a path that a flag names. must says what
// that flag takes.
func readPluginFile(flag, path, must string) (actors.PluginFile, error) {
	st, err := os.Stat(path)
	switch {
	case err != nil:
		return actors.PluginFile{}, fmt.Errorf("%s: %w", flag, err)
	case !st.Mode().IsRegular() || filepath.Ext(path) != ".lua":
		return actors.PluginFile{}, fmt.Errorf("%s %s: is %s", flag, path, must)
	case st.Size() > maxPluginFile:
		return actors.PluginFile{}, fmt.Errorf("%s %s: is larger than %d KiB", flag, path, maxPluginFile>>10)
	}
	b, err := os.ReadFile(path)
	if err != nil {
		return actors.PluginFile{}, fmt.Errorf("%s: %w", flag, err)
	}
	return actors.PluginFile{Name: strings.TrimSuffix(filepath.Base(path), ".lua"), Source: string(b)}, nil
}

// readPlugins takes what -p names: folders, and plugin files.
func (p *Program) readPlugins(*cobra.Command, []string) error {
	p.dashP.dirs, p.dashP.files = nil, nil
	for _, path := range p.flags.plugins {
		if st, err := os.Stat(path); err == nil && st.IsDir() {
			p.dashP.dirs = append(p.dashP.dirs, path)
			continue
		}
		f, err := readPluginFile("-p", path, "neither a folder nor a .lua file")
		if err != nil {
			return usageError(err)
		}
		p.dashP.files = append(p.dashP.files, f)
	}
	return nil
}
