package luavmtest

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"clm/luavm"
)

// Play runs the case and returns it with what really came out in the sections that say what must. The case holds
// when the two are equal as text.
func (c *Case) Play(ctx context.Context) (*Case, error) {
	w, err := c.world(os.ReadFile)
	if err != nil {
		return nil, err
	}
	p := &player{world: w}
	out := &Case{path: c.path, head: c.head}
	for _, s := range c.sections {
		if s.text, err = p.section(ctx, s); err != nil {
			return nil, fmt.Errorf("%s: section %q: %w", c.path, s.title, err)
		}
		out.sections = append(out.sections, s)
	}
	if p.vm != nil {
		out.warnings = p.vm.Warnings()
		p.vm.Close()
	}
	return out, nil
}

// Check plays the case file at path and tells what differs, one text a section, and what luavm.VM.Warnings has about
// the plugin; none when the case holds.
func Check(ctx context.Context, path string) (differences []string, err error) {
	want, got, err := playFile(ctx, path)
	if err != nil {
		return nil, err
	}
	for i, w := range want.sections {
		if g := got.sections[i]; g != w {
			differences = append(differences, fmt.Sprintf("%s: -- %s --\nwant: %s\ngot:  %s", path, w.title, w.text, g.text))
		}
	}
	for _, w := range got.warnings {
		differences = append(differences, path+": "+w)
	}
	return differences, nil
}

func playFile(ctx context.Context, path string) (want, got *Case, err error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, nil, err
	}
	if want, err = Parse(path, string(text)); err != nil {
		return nil, nil, err
	}
	got, err = want.Play(ctx)
	return want, got, err
}

// UpdateVariable names the environment variable that makes Run write what came out into the case files.
const UpdateVariable = "LUAVMTEST_UPDATE"

// Run plays each case file that pattern (as of filepath.Glob) matches in a subtest and reports what differs. With
// the environment variable LUAVMTEST_UPDATE=1 it writes the files anew instead.
func Run(t *testing.T, pattern string) {
	t.Helper()
	paths, err := filepath.Glob(pattern)
	if err != nil || len(paths) == 0 {
		t.Fatalf("no case matches %s (%v)", pattern, err)
	}
	for _, path := range paths {
		t.Run(strings.TrimSuffix(filepath.Base(path), filepath.Ext(path)), func(t *testing.T) { runFile(t, path) })
	}
}

func runFile(t *testing.T, path string) {
	t.Helper()
	if os.Getenv(UpdateVariable) != "1" {
		differences, err := Check(t.Context(), path)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range differences {
			t.Error(d)
		}
		return
	}
	_, got, err := playFile(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(got.String()), 0o644); err != nil {
		t.Fatal(err)
	}
}

type player struct {
	world    *world
	vm       *luavm.VM
	problem  string // why the plugin did not load
	sim      Simulation
	started  time.Duration
	effects  []string
	log      []string
	consumed map[*reply]bool
}

// section gives what came out for a section, or its text when it only says what the plugin meets.
func (p *player) section(ctx context.Context, s section) (string, error) {
	kind, rest, _ := strings.Cut(s.title, " ")
	switch kind {
	case "plugin", "config", "file", "reply", "tool":
		return s.text, nil
	}
	p.load(ctx)
	switch kind {
	case "load":
		return p.problem, nil
	case "tools":
		return p.tools(), nil
	case "call":
		tool, args, _ := strings.Cut(rest, " ")
		return p.call(ctx, tool, args), nil
	case "effects":
		return strings.Join(p.effects, "\n"), nil
	case "log":
		lines := p.log
		p.log = nil
		return strings.Join(lines, "\n"), nil
	default: // content
		text, ok := p.world.files[rest]
		if !ok {
			return "", fmt.Errorf("no such file")
		}
		return text, nil
	}
}

// load makes the VM before the first section that needs it.
func (p *player) load(ctx context.Context) {
	if p.vm != nil || p.problem != "" {
		return
	}
	p.consumed = map[*reply]bool{}
	p.sim = Simulation{Answer: p.answer, Trace: p.trace}
	program, err := luavm.Compile(p.world.name, p.world.source)
	if err != nil {
		p.problem = err.Error()
		return
	}
	p.vm = luavm.New(program, luavm.Options{
		Config: p.world.config,
		Log:    func(text string) { p.log = append(p.log, text) },
	})
	if r := p.sim.Run(ctx, p.vm.Load()); r.Failed {
		p.problem = r.Text
	}
}

func (p *player) tools() string {
	var lines []string
	if p.vm != nil {
		for _, t := range p.vm.Tools() {
			line := t.Name
			if t.NoPrompt {
				line += " no_prompt"
			}
			if t.Hidden {
				line += " hidden"
			}
			if t.Timeout > 0 {
				line += " " + t.Timeout.String()
			}
			lines = append(lines, line+" "+string(t.Schema))
		}
	}
	return strings.Join(lines, "\n")
}

func (p *player) call(ctx context.Context, tool, args string) string {
	p.effects, p.started = nil, p.sim.Now
	if p.vm == nil {
		return "[tool failed: " + p.problem + "]"
	}
	r := p.sim.Run(ctx, p.vm.Call(tool, args))
	if r.Failed {
		return "[tool failed: " + r.Text + "]"
	}
	return r.Text
}

func (p *player) trace(at time.Duration, t *luavm.Task, what any) {
	if _, ok := what.(luavm.Want); !ok && what != "cancelled" {
		return
	}
	who := "main"
	if t.ID() > 1 {
		who = fmt.Sprintf("task %d", t.ID()-1)
	}
	p.effects = append(p.effects, fmt.Sprintf("%v %s: %s", at-p.started, who, describe(what)))
}

func describe(what any) string {
	switch w := what.(type) {
	case luavm.HTTP:
		var b strings.Builder
		fmt.Fprintf(&b, "%s %s", w.Method, w.URL)
		for _, h := range w.Headers {
			fmt.Fprintf(&b, " %s=%q", h.Name, h.Value)
		}
		if w.Body != "" {
			fmt.Fprintf(&b, " %.200q", w.Body)
		}
		return b.String()
	case luavm.Sleep:
		return "sleep " + w.For.String()
	case luavm.ReadFile:
		return "read " + w.Path
	case luavm.WriteFile:
		return fmt.Sprintf("write %s, %d bytes", w.Path, len(w.Content))
	case luavm.CallTool:
		return fmt.Sprintf("call %s %s", w.Name, w.Args)
	case luavm.Wait:
		mode := [...]string{luavm.WaitAll: "all", luavm.WaitAny: "any", luavm.WaitTry: "try"}[w.Mode]
		text := fmt.Sprintf("wait for %s of", mode)
		for _, t := range w.Tasks {
			text += fmt.Sprintf(" %d", t.ID()-1)
		}
		if w.Timeout >= 0 {
			text += ", at most " + w.Timeout.String()
		}
		return text
	}
	return fmt.Sprint(what)
}

func (p *player) answer(_ *luavm.Task, want luavm.Want) (luavm.Answer, time.Duration) {
	switch w := want.(type) {
	case luavm.HTTP:
		return p.scripted(w.Method, w.URL)
	case luavm.CallTool:
		return p.scripted("tool", w.Name)
	case luavm.ReadFile:
		text, ok := p.world.files[w.Path]
		switch {
		case !ok:
			return luavm.Answer{Err: w.Path + ": no such file"}, 0
		case int64(len(text)) > w.MaxBytes:
			return luavm.Answer{Err: w.Path + ": too large"}, 0
		}
		return luavm.Answer{Text: text}, 0
	case luavm.WriteFile:
		p.world.files[w.Path] = w.Content
	}
	return luavm.Answer{}, 0
}

// scripted is the first reply that fits and was not used, or the last that fits.
func (p *player) scripted(method, target string) (luavm.Answer, time.Duration) {
	var last *reply
	for _, r := range p.world.replies {
		if r.method == method && r.pattern.MatchString(target) {
			last = r
			if !p.consumed[r] {
				break
			}
		}
	}
	if last == nil {
		return luavm.Answer{Err: fmt.Sprintf("the case has no reply for %s %s", method, target)}, 0
	}
	p.consumed[last] = true
	return last.answer, last.after
}
