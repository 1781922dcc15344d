package main

import (
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"clm/config"
	"clm/luavm/plugins"
)

//go:embed setup
var setupFiles embed.FS

//go:embed setup/clm.lua
var pluginAnnotations string

// setupFile is one file that `clm setup` writes.
type setupFile struct {
	name string // below the configuration folder
	text string
	mode fs.FileMode
}

func (p *Program) setupCommand() *cobra.Command {
	return &cobra.Command{
		Use: "setup", Short: "Write a configuration to start from; nothing is overwritten",
		Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error { return p.setup() },
	}
}

func (p *Program) setup() error {
	dir, err := config.Dir(p.Env)
	if err != nil {
		return err
	}
	files, err := allSetupFiles()
	if err != nil {
		return err
	}
	for _, f := range files {
		path := filepath.Join(dir, filepath.FromSlash(f.name))
		wrote, err := writeNew(path, f)
		if err != nil {
			return fmt.Errorf("setup: %w", err)
		}
		word := "kept"
		if wrote {
			word = "wrote"
		}
		if err := p.write(fmt.Sprintf("%-5s %s\n", word, path)); err != nil {
			return err
		}
	}
	return p.write(fmt.Sprintf("\nNow type: clm -o 'hello {\"name\":\"Ada\"}'\nThat is the demo model. For a real one put its key into %s and name it:\n  clm -m provider/model-id\n", filepath.Join(dir, "secrets.lua")))
}

func allSetupFiles() ([]setupFile, error) {
	files := []setupFile{{name: "types/clm-config.lua", text: config.LuaLS(), mode: 0o644}}
	for _, f := range []struct {
		from, to string
		mode     fs.FileMode
	}{
		{"config.lua", "config.lua", 0o644},
		{"secrets.lua", "secrets.lua", 0o600},
		{"agents/reviewer.lua", "agents/reviewer.lua", 0o644},
		{"clm.lua", "types/clm.lua", 0o644},
		{"luarc.json", ".luarc.json", 0o644},
		{"plugins/hello.lua", "plugins/hello.lua", 0o644},
	} {
		b, err := setupFiles.ReadFile("setup/" + f.from)
		if err != nil {
			return nil, err
		}
		files = append(files, setupFile{f.to, string(b), f.mode})
	}
	for _, seed := range plugins.List() {
		files = append(files, setupFile{"plugins/" + seed.Name + ".lua", seed.Source, 0o644})
	}
	return files, nil
}

// writeNew writes a file that is not there. What is there, a dangling link
// included, is kept.
func writeNew(name string, f setupFile) (bool, error) {
	if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
		return false, err
	}
	file, err := os.OpenFile(name, os.O_CREATE|os.O_EXCL|os.O_WRONLY, f.mode)
	if errors.Is(err, fs.ErrExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	_, err = file.WriteString(f.text)
	return true, errors.Join(err, file.Close())
}
