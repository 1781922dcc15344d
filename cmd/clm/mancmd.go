package main

import (
	"embed"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
)

//go:embed man
var manFiles embed.FS

// manPages maps a page's name to its file.
func manPages() map[string]string {
	return map[string]string{"clm": "clm.1", "clm-config": "clm-config.5", "clm-plugin": "clm-plugin.5", "clm-embed": "clm-embed.7"}
}

func (p *Program) manCommand() *cobra.Command {
	var raw bool
	cmd := &cobra.Command{
		Use: "man [clm|clm-config|clm-plugin|clm-embed]", Short: "Show a manual page",
		Args: cobra.MatchAll(cobra.MaximumNArgs(1), cobra.OnlyValidArgs), ValidArgs: []string{"clm", "clm-config", "clm-plugin", "clm-embed"},
		RunE: func(_ *cobra.Command, args []string) error {
			name := strings.Join(append(args, "clm")[:1], "")
			b, err := manFiles.ReadFile("man/" + manPages()[name])
			if err != nil {
				return fmt.Errorf("man: %w", err)
			}
			if raw {
				return p.write(string(b))
			}
			return p.write(renderMan(string(b), 80))
		},
	}
	cmd.Flags().BoolVar(&raw, "raw", false, "print the page's source, to be installed for man(1)")
	return cmd
}
