package main

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"golang.org/x/term"

	"clm/actors"
	"clm/config"
)

// replCommand is a command of the line REPL.
type replCommand struct {
	name   string
	args   string // for /help
	doc    string
	inTurn bool // works while a turn runs
	run    func(r *repl, arg string) error
}

// replCommands lists them in the order of /help.
func replCommands() []replCommand {
	return []replCommand{
		{"help", "", "list the commands", true, (*repl).help},
		{"model", "[SPEC]", "show or change the model", false, (*repl).setModel},
		{"provider", "[NAME]", "show or change the connection", false, (*repl).setProvider},
		{"agent", "[NAME]", "show or change the agent profile", false, (*repl).setAgent},
		{"clear", "", "forget the conversation", false, (*repl).clear},
		{"compact", "", "fold older turns into a summary", false, (*repl).compact},
		{"reasoning", "", "show the model's reasoning, or stop showing it", true, toggle("reasoning", func(s *plainSink) *bool { return &s.reasoning })},
		{"output", "", "show tools' results whole, or shortened", true, toggle("whole results", func(s *plainSink) *bool { return &s.whole })},
		{"tools", "", "list the tools", true, (*repl).listTools},
		{"tree", "", "show the live actors", true, (*repl).tree},
		{"quit", "", "end clm", true, (*repl).leave},
	}
}

// command runs a line that begins with a slash.
func (r *repl) command(line string) { r.dispatch(line, false) }

// commandInTurn is command while a turn runs.
func (r *repl) commandInTurn(line string) { r.dispatch(line, true) }

func (r *repl) dispatch(line string, inTurn bool) {
	name, arg, _ := strings.Cut(strings.TrimSpace(line[1:]), " ")
	all := replCommands()
	i := slices.IndexFunc(all, func(c replCommand) bool { return c.name == name })
	switch {
	case i < 0:
		r.plain.note("there is no command /%s: /help lists them; //%s sends it as text", oneLine(name), oneLine(name))
	case inTurn && !all[i].inTurn:
		r.plain.note("/%s waits for the end of the turn: ^C cancels it", name)
	default:
		if err := all[i].run(r, strings.TrimSpace(arg)); err != nil {
			r.plain.note("%s", oneLine(err.Error()))
		}
	}
}

func (r *repl) help(string) error {
	for _, c := range replCommands() {
		r.plain.note("%-18s %s", "/"+c.name+" "+c.args, c.doc)
	}
	r.plain.note("A line that ends in \\ goes on in the next one. A line typed while a turn runs steers it.")
	return nil
}

func (r *repl) setModel(spec string) error {
	if spec == "" {
		r.plain.note("%s", r.where())
		return nil
	}
	t, err := r.c.cfg.Switch(r.c.target, spec)
	return r.setTarget(t, err)
}

func (r *repl) setProvider(name string) error {
	if name == "" {
		r.plain.note("%s; there are %s", r.where(), strings.Join(r.c.cfg.ProviderNames(), ", "))
		return nil
	}
	t, err := r.c.cfg.SwitchProvider(r.c.target, name)
	return r.setTarget(t, err)
}

func (r *repl) setTarget(t config.Target, err error) error {
	if err != nil {
		return err
	}
	if err := r.c.agent.SetModel(context.Background(), model(t)); err != nil {
		return err
	}
	r.c.target = t
	r.plain.note("%s", r.where())
	return nil
}

func (r *repl) setAgent(name string) error {
	if name == "" {
		there := "there are none"
		if all := r.c.cfg.Profiles(); len(all) > 0 {
			there = "there are " + strings.Join(all, ", ")
		}
		now := "no profile"
		if r.c.cfg.Agent != "" {
			now = r.c.cfg.Agent
		}
		r.plain.note("%s; %s", now, there)
		return nil
	}
	if err := r.c.changeAgent(context.Background(), name); err != nil {
		return err
	}
	r.plain.note("%s, %s", name, r.where())
	return nil
}

func (r *repl) compact(string) error {
	n, err := r.c.agent.Compact()
	if err != nil {
		return err
	}
	last := r.last
	err = r.watchTurn(n)
	r.last = last // a compaction is no turn of the conversation
	return err
}

func toggle(what string, field func(*plainSink) *bool) func(*repl, string) error {
	return func(r *repl, _ string) error {
		f := field(r.plain)
		*f = !*f
		r.plain.note("%s: %s", what, map[bool]string{true: "shown", false: "not shown"}[*f])
		return nil
	}
}

func (r *repl) listTools(string) error {
	width := listWidth
	if w, _, err := term.GetSize(int(r.edit.tty.out.Fd())); err == nil && w > 0 {
		width = w
	}
	var tools []actors.Tool
	for _, t := range r.c.agent.Tools() {
		if !t.Hidden {
			tools = append(tools, t)
		}
	}
	for _, line := range toolLines(tools, width) {
		r.plain.note("%s", line)
	}
	return nil
}

func (r *repl) clear(string) error {
	err := r.c.agent.ClearHistory()
	if err == nil {
		r.plain.note("the conversation is forgotten")
	}
	return err
}

func (r *repl) tree(string) error {
	var b strings.Builder
	drawTree(&b, r.c.engine.Tree(), "")
	r.plain.note("%s", strings.TrimRight(b.String(), "\n"))
	return nil
}

func (r *repl) leave(string) error {
	r.quit = true
	_ = r.c.agent.Cancel() // no turn: it ends by itself
	return nil
}

// drawTree draws the live actors.
func drawTree(b *strings.Builder, n actors.Info, indent string) {
	name := n.Kind
	if n.Name != "" {
		name += " " + oneLine(n.Name)
	}
	if n.State != "" {
		name += " (" + oneLine(n.State) + ")"
	}
	fmt.Fprintf(b, "%s%s\n", indent, name)
	for _, c := range n.Children {
		drawTree(b, c, indent+"  ")
	}
}

// complete completes commands, models, providers and profiles on the tab key.
func (r *repl) complete(line string, pos int, key rune) (string, int, bool) {
	if key != '\t' || pos != len(line) || !strings.HasPrefix(line, "/") {
		return "", 0, key == '\t' // a tab is no text: pasted ones come another way
	}
	command, arg, hasArg := strings.Cut(line[1:], " ")
	prefix, word := "/", command
	var from []string
	switch {
	case !hasArg:
		for _, c := range replCommands() {
			from = append(from, c.name)
		}
	default:
		prefix, word = "/"+command+" ", arg
		from = r.candidates(command)
	}
	from = slices.DeleteFunc(from, func(s string) bool { return !strings.HasPrefix(s, word) })
	if len(from) == 0 {
		return line, pos, true
	}
	common := from[0]
	for _, s := range from[1:] {
		for !strings.HasPrefix(s, common) {
			common = common[:len(common)-1]
		}
	}
	if len(from) == 1 && !hasArg {
		common += " "
	} else if len(from) > 1 && common == word {
		fmt.Fprintf(r.screen, "%s\n", strings.Join(from[:min(len(from), 40)], "  "))
	}
	return prefix + common, len(prefix + common), true
}

func (r *repl) candidates(command string) []string {
	cfg := r.c.cfg
	switch command {
	case "model":
		out := cfg.ModelNames()
		for _, p := range cfg.ProviderNames() {
			if whole := p + "/"; !slices.Contains(out, whole) {
				out = append(out, whole)
			}
		}
		return out
	case "provider":
		return cfg.ProviderNames()
	case "agent":
		return cfg.Profiles()
	}
	return nil
}
