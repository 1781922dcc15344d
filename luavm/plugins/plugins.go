// Package plugins holds the plugins that come with clm, as source: they are installed where the user keeps plugins,
// and run like any other.
package plugins

import (
	"embed"
	"io/fs"
	"strings"
)

// FS holds the files, NAME.lua each.
//
//go:embed *.lua
var FS embed.FS

// Plugin is one file.
type Plugin struct {
	Name   string // without .lua
	Source string
}

// List returns all plugins in the order of their names.
func List() []Plugin {
	entries, err := fs.ReadDir(FS, ".")
	if err != nil {
		panic("plugins: the embedded files cannot be read: " + err.Error())
	}
	list := make([]Plugin, len(entries))
	for i, e := range entries {
		source, err := FS.ReadFile(e.Name())
		if err != nil {
			panic("plugins: the embedded files cannot be read: " + err.Error())
		}
		list[i] = Plugin{Name: strings.TrimSuffix(e.Name(), ".lua"), Source: string(source)}
	}
	return list
}
