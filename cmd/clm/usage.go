package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// usage is the help of a command. cobra's own would show values that switches
// never need.
func usage(cmd *cobra.Command) error {
	var b strings.Builder
	switch {
	case !cmd.HasParent():
		fmt.Fprintf(&b, "usage: %s [flags]\n       %[1]s COMMAND [flags]\n", useLine(cmd))
	case cmd.HasAvailableSubCommands():
		fmt.Fprintf(&b, "usage: %s COMMAND [flags]\n", useLine(cmd))
	default:
		fmt.Fprintf(&b, "usage: %s [flags]\n", useLine(cmd))
	}
	if cmd.HasAvailableSubCommands() {
		b.WriteString("\nCommands:\n")
		var rows [][2]string
		for _, c := range cmd.Commands() {
			if c.IsAvailableCommand() || c.Name() == "help" {
				rows = append(rows, [2]string{c.Name(), c.Short})
			}
		}
		table(&b, rows)
	}
	b.WriteString("\nFlags:\n")
	table(&b, flagRows(cmd.LocalFlags()))
	if f := cmd.InheritedFlags(); f.HasAvailableFlags() {
		b.WriteString("\nFlags of every command:\n")
		table(&b, flagRows(f))
	}
	fmt.Fprintf(&b, "\nMore: clm man, clm man clm-config, clm man clm-plugin\n")
	_, err := cmd.OutOrStdout().Write([]byte(b.String()))
	return err
}

// useLine is a command with its arguments.
func useLine(cmd *cobra.Command) string { return strings.TrimSuffix(cmd.UseLine(), " [flags]") }

func flagRows(fs *pflag.FlagSet) (rows [][2]string) {
	fs.VisitAll(func(f *pflag.Flag) {
		if f.Hidden {
			return
		}
		value, text := pflag.UnquoteUsage(f)
		name := "    --" + f.Name
		if f.Shorthand != "" {
			name = "-" + f.Shorthand + ", --" + f.Name
		}
		if f.Value.Type() != "bool" || strings.Contains(f.Usage, "`") {
			name += " " + value
		}
		rows = append(rows, [2]string{name, text})
	})
	return rows
}

// table writes two columns, the second wrapped.
func table(b *strings.Builder, rows [][2]string) {
	width := 0
	for _, r := range rows {
		width = max(width, len(r[0]))
	}
	for _, r := range rows {
		lines := wrap(r[1], 98-width)
		fmt.Fprintf(b, "  %-*s  %s\n", width, r[0], lines[0])
		for _, l := range lines[1:] {
			fmt.Fprintf(b, "  %-*s  %s\n", width, "", l)
		}
	}
}

func wrap(text string, width int) []string {
	lines := []string{""}
	for w := range strings.FieldsSeq(text) {
		last := &lines[len(lines)-1]
		switch {
		case *last == "":
			*last = w
		case len(*last)+1+len(w) > width:
			lines = append(lines, w)
		default:
			*last += " " + w
		}
	}
	return slices.Clip(lines)
}
