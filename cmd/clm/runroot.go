package main

import "github.com/spf13/cobra"

func (p *Program) runRoot(cmd *cobra.Command, _ []string) error {
	_, err := p.loadConfig(cmd)
	return err
}
