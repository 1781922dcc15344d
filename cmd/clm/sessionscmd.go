package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"clm/actors"
	"clm/llm"
)

func (p *Program) sessionsCommand() *cobra.Command {
	var limit int
	var format string
	list := &cobra.Command{
		Use: "list", Short: "List sessions, the newest first", Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error { return p.sessionsList(limit) },
	}
	list.Flags().IntVarP(&limit, "number", "n", 50, "list at most `N`, 0 for all")
	show := &cobra.Command{
		Use: "show ID", Short: "Show a session's conversation", Args: cobra.ExactArgs(1), ValidArgsFunction: p.completeSessions,
		RunE: func(_ *cobra.Command, args []string) error { return p.sessionsShow(args[0]) },
	}
	export := &cobra.Command{
		Use: "export ID", Short: "Write a session to standard output", Args: cobra.ExactArgs(1), ValidArgsFunction: p.completeSessions,
		RunE: func(_ *cobra.Command, args []string) error { return p.sessionsExport(args[0], format) },
	}
	export.Flags().StringVar(&format, "format", "json", "`json` or markdown")
	rm := &cobra.Command{
		Use: "rm ID…", Short: "Delete sessions", Args: cobra.MinimumNArgs(1), ValidArgsFunction: p.completeSessions,
		RunE: func(_ *cobra.Command, args []string) error { return p.sessionsRemove(args) },
	}
	return group(&cobra.Command{Use: "sessions", Short: "List, show, export and delete stored sessions"}, list, show, export, rm)
}

func (p *Program) completeSessions(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	s, err := p.sessions()
	if err != nil {
		return nil, cobra.ShellCompDirectiveError
	}
	list, err := s.List(50)
	if err != nil {
		return nil, cobra.ShellCompDirectiveError
	}
	var out []string
	for _, i := range list {
		out = append(out, cobra.CompletionWithDesc(i.ID, clip(oneLine(i.Title), 60)))
	}
	return out, cobra.ShellCompDirectiveNoFileComp
}

func (p *Program) sessionsList(limit int) error {
	if limit < 0 {
		return usageError(errors.New("-n is a number from 1, 0 is all"))
	}
	s, err := p.sessions()
	if err != nil {
		return err
	}
	list, err := s.List(limit)
	if err != nil {
		return err
	}
	var b strings.Builder
	for _, i := range list {
		b.WriteString(strings.TrimRight(sessionLine(i), " ") + "\n")
	}
	return p.write(b.String())
}

// load reads the session that an id or its beginning names.
func (p *Program) load(prefix string) (actors.LoadedSession, error) {
	id, err := p.findSession(prefix)
	if err != nil {
		return actors.LoadedSession{}, usageError(err)
	}
	s, err := p.sessions()
	if err != nil {
		return actors.LoadedSession{}, err
	}
	l, err := s.Load(id)
	if err != nil {
		return l, err
	}
	p.tellSkipped(l)
	return l, nil
}

func (p *Program) sessionsShow(id string) error {
	l, err := p.load(id)
	if err != nil {
		return err
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s  %s  %s\n", l.Meta.ID, l.Meta.Created.Local().Format("2006-01-02 15:04:05"), oneLine(l.Meta.Model))
	for _, m := range l.Messages {
		switch m.Role {
		case llm.RoleTool:
			fmt.Fprintf(&b, "\n← %s %s\n", oneLine(m.ToolName), clip(oneLine(m.Content), 200))
		default:
			fmt.Fprintf(&b, "\n%s:\n", m.Role)
			if m.Content != "" {
				b.WriteString(clean(strings.TrimRight(m.Content, "\n")) + "\n")
			}
		}
		for _, a := range m.Attachments {
			fmt.Fprintf(&b, "[%s, %d bytes]\n", oneLine(a.Name), len(a.Data))
		}
		for _, c := range m.ToolCalls {
			fmt.Fprintf(&b, "→ %s %s\n", oneLine(c.Name), clip(oneLine(c.Args), 200))
		}
	}
	return p.write(b.String())
}

func (p *Program) sessionsExport(id, format string) error {
	if format != "json" && format != "markdown" {
		return usageError(fmt.Errorf("--format %s: there are json and markdown", format))
	}
	l, err := p.load(id)
	if err != nil {
		return err
	}
	if format == "markdown" {
		return p.write(markdownExport(l))
	}
	messages := make([]json.RawMessage, len(l.Messages))
	for i, m := range l.Messages {
		if messages[i], err = llm.EncodeMessage(m); err != nil {
			return err
		}
	}
	b, err := json.MarshalIndent(map[string]any{
		"id": l.Meta.ID, "created": l.Meta.Created, "model": l.Meta.Model, "dir": l.Meta.Dir, "messages": messages,
	}, "", "  ")
	if err != nil {
		return err
	}
	return p.write(string(b) + "\n")
}

// markdownExport writes a conversation as a document. A fence is longer than
// any that its text holds.
func markdownExport(l actors.LoadedSession) string {
	var b strings.Builder
	fmt.Fprintf(&b, "# Session %s\n\n%s, %s\n", l.Meta.ID, l.Meta.Created.Local().Format("2006-01-02 15:04:05"), oneLine(l.Meta.Model))
	fenced := func(title, text string) {
		fence := "```"
		for strings.Contains(text, fence) {
			fence += "`"
		}
		fmt.Fprintf(&b, "\n%s\n\n%s\n%s\n%s\n", title, fence, strings.TrimRight(clean(text), "\n"), fence)
	}
	for _, m := range l.Messages {
		switch {
		case m.Role == llm.RoleTool:
			fenced("Result of `"+oneLine(m.ToolName)+"`:", m.Content)
			continue
		case m.Role == llm.RoleUser:
			b.WriteString("\n## User\n")
		default:
			b.WriteString("\n## Assistant\n")
		}
		if m.Content != "" {
			b.WriteString("\n" + clean(strings.TrimRight(m.Content, "\n")) + "\n")
		}
		for _, c := range m.ToolCalls {
			fenced("Call of `"+oneLine(c.Name)+"`:", c.Args)
		}
	}
	return b.String()
}

// sessionsRemove deletes what it can and says what it could not.
func (p *Program) sessionsRemove(prefixes []string) error {
	s, err := p.sessions()
	if err != nil {
		return err
	}
	var ids []string
	for _, prefix := range prefixes {
		id, err := p.findSession(prefix)
		if err != nil {
			return usageError(err) // before anything is deleted
		}
		ids = append(ids, id)
	}
	var errs []error
	for _, id := range ids {
		if err := s.Remove(id); err != nil {
			errs = append(errs, err)
			continue
		}
		if err := p.write("removed " + id + "\n"); err != nil {
			return err
		}
	}
	return errors.Join(errs...)
}
