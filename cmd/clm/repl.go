package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"clm/actors"
	"clm/actors/msg"
	"clm/llm"
)

// repl is a conversation at a terminal: at the prompt lines are edited, while
// a turn runs they steer it or answer its questions.
type repl struct {
	*runner
	p      *Program
	edit   *editor
	screen *screen
	plain  *plainSink
	files  []llm.Attachment // of the next turn
	asked  []msg.PermissionAsked
	queue  []string // lines for turns to come
	begun  string   // lines of a text that goes on in the next one
	quit   bool
	keyed  chan byte // ^C and ^Z while editing
}

// interactive runs a conversation at a terminal, or, with a prompt, one turn
// of one, in which its questions can be answered.
func (p *Program) interactive(ctx context.Context, cmd *cobra.Command, t *tty, prompt string) error {
	files, err := readImages(p.flags.images)
	if err != nil {
		return usageError(err)
	}
	oneshot := cmd.Flags().Changed("oneshot")
	c, err := p.begin(ctx, cmd, runMode{ask: true, keep: !oneshot})
	if err != nil {
		return err
	}
	signals, stopSignals := p.notify()
	defer stopSignals()
	r := p.newREPL(c, t)
	r.signals, r.files = signals, files
	defer r.edit.end()
	if oneshot {
		err = r.converse(prompt)
	} else {
		r.greet()
		err = r.loop()
	}
	r.edit.end()
	if id := c.store.id(); id != "" && r.turns > 0 && !oneshot {
		r.plain.note("session %s: clm -r %s", id, id)
	}
	return errors.Join(r.finish(err), p.tell(c.close()))
}

func (p *Program) newREPL(c *conversation, t *tty) *repl {
	s := &screen{w: t.out}
	colour := p.colour(t.out)
	var notes io.Writer = s
	if f, ok := p.Stderr.(*os.File); !ok || !sameTerminal(f, t.out) {
		notes = p.Stderr
	}
	var text textWriter = plainText{s}
	if colour {
		text = newMarkdown(s)
	}
	r := &repl{p: p, screen: s, keyed: make(chan byte, 8)}
	r.plain = newPlainSink(text, notes, colour)
	r.runner = &runner{c: c, out: r.plain}
	history := ""
	if dir := p.stateDir(); dir != "" {
		history = filepath.Join(dir, "history")
	}
	h := openHistory(history, c.cfg.Secrets())
	r.edit = newEditor(t, s, h, r.complete)
	r.edit.keys.onKey = func(key byte) {
		select {
		case r.keyed <- key:
		default: // nobody presses eight keys before one is served
		}
	}
	return r
}

func (r *repl) greet() {
	r.plain.note("clm %s, %s. /help lists the commands, ^D ends.", version, r.where())
	if s := r.c.store; s != nil && len(s.before) > 0 {
		last := ""
		for _, m := range s.before {
			if m.Role == llm.RoleUser {
				last = m.Content
			}
		}
		r.plain.note("session %s goes on after %s, the last: %s", s.id(), count(len(s.before), "message"), clip(oneLine(last), 60))
	}
}

// where names the model and its place.
func (r *repl) where() string {
	name := r.c.target.Name()
	if name == "" {
		name = "the server's model"
	}
	if r.c.target.URL != "" {
		name += " at " + oneLine(withoutPassword(r.c.target.URL))
	}
	return name
}

// loop reads lines and runs turns until the end of input, /quit, a signal, or
// a run that cannot go on.
func (r *repl) loop() error {
	for !r.quit && r.ended == nil {
		line, err := r.next()
		switch {
		case errors.Is(err, io.EOF):
			select { // a terminal that went away ends the input too
			case s := <-r.signals:
				r.signal(s)
			default:
			}
			return r.ended
		case err != nil:
			return err
		case len(r.asked) > 0: // of a turn that began by itself
			r.answer(line)
		case strings.TrimSpace(line) == "":
		case strings.HasPrefix(line, "/") && !strings.HasPrefix(line, "//"):
			r.command(line)
		default:
			if err := r.converse(strings.TrimPrefix(line, "/")); err != nil {
				return err
			}
		}
	}
	return r.ended
}

// next is the next line to act on: one that was queued, the prompt of -f, or
// one that the person types.
func (r *repl) next() (string, error) {
	if len(r.queue) > 0 {
		line := r.queue[0]
		r.queue = r.queue[1:]
		return line, nil
	}
	if f := r.p.flags.forever; f != "" && r.last.Status != "failed" && r.last.Status != "canceled" {
		return f, nil
	}
	return r.readPrompt()
}

// converse runs a turn and those that follow from it.
func (r *repl) converse(prompt string) error {
	files := r.files
	r.files = nil
	r.tellNotReady()
	n, err := r.c.agent.Submit(prompt, files...)
	if errors.Is(err, actors.ErrBusy) { // a turn began by itself
		n, err = r.c.agent.Steer(prompt)
	}
	if err != nil {
		err := r.refused(err)
		if exitStatus(err) == exitCeiling {
			return err
		}
		r.plain.note("%v", err)
		return nil
	}
	r.turns, r.since = r.turns+1, time.Time{}
	err = r.watchTurn(n)
	if exitStatus(err) == exitCeiling && r.p.flags.maxTurns == 0 && r.p.flags.maxTokens == 0 {
		return nil // no ceiling of this run
	}
	return err
}

// watchTurn shows a turn that runs, and takes what is typed meanwhile.
func (r *repl) watchTurn(n uint64) error {
	var late <-chan time.Time
	for {
		if r.ended != nil && late == nil {
			late = time.After(stopTime)
		}
		select {
		case s := <-r.signals:
			if s == os.Interrupt {
				r.begun, r.plain.mid = "", true // the terminal echoed ^C
			}
			r.signal(s)
		case <-late:
			return r.ended
		case chunk, ok := <-r.edit.keys.chunksOrNil():
			r.typed(chunk, ok)
		case e := <-r.c.feed:
			r.show(e)
			switch d := e.Data.(type) {
			case msg.PermissionAsked:
				r.question(d)
			case msg.PermissionSettled:
				r.settled(d)
			case msg.TurnDone:
				if e.Turn < n || d.Pending > 0 {
					continue // a turn follows that was wanted meanwhile
				}
				r.last, r.asked = d, nil
				if d.Status == "ceiling" && r.ended == nil {
					return &exitError{status: exitCeiling}
				}
				return r.ended
			}
		}
	}
}

// typed takes what was typed while a turn runs.
func (r *repl) typed(chunk []byte, ok bool) {
	k := r.edit.keys
	k.rest, k.ended = append(k.rest, chunk...), k.ended || !ok
	for {
		line, ok := k.line()
		if !ok {
			return
		}
		if len(r.asked) > 0 {
			r.answer(line)
			continue
		}
		if text, more := strings.CutSuffix(line, `\`); more {
			r.begun += text + "\n"
			continue
		}
		line, r.begun = r.begun+line, ""
		switch {
		case strings.TrimSpace(line) == "":
		case strings.HasPrefix(line, "/") && !strings.HasPrefix(line, "//"):
			r.commandInTurn(line)
		default:
			if _, err := r.c.agent.Steer(strings.TrimPrefix(line, "/")); err != nil {
				r.plain.note("%v", err)
				continue
			}
			r.plain.note("steering: %s", clip(oneLine(line), 100))
		}
	}
}

// readPrompt lets the person edit a line. Events of turns that begin by
// themselves show above it.
func (r *repl) readPrompt() (string, error) {
	for {
		prompt := "> "
		if r.begun != "" {
			prompt = "… "
		}
		line, err := r.readOne(prompt)
		if err != nil {
			return "", err
		}
		if text, more := strings.CutSuffix(line, `\`); more {
			r.begun += text + "\n"
			continue
		}
		text := r.edit.keys.paste.unpaste(r.begun + line)
		r.begun, r.edit.keys.paste.long = "", nil
		return text, nil
	}
}

func (r *repl) readOne(prompt string) (string, error) {
	if r.edit.tty.dumb {
		return r.readDumb(prompt)
	}
	if err := r.edit.begin(prompt); err != nil {
		return "", fmt.Errorf("terminal: %w", err)
	}
	defer func() { r.edit.end() }()
	lines := r.edit.read()
	for {
		select {
		case l := <-lines:
			return l.text, l.err
		case s := <-r.signals:
			r.edit.resize()
			if r.signalAtPrompt(s); r.ended != nil {
				return "", r.ended
			}
		case key := <-r.keyed:
			if key == keySuspend {
				r.suspend(prompt)
				continue
			}
			if r.signalAtPrompt(os.Interrupt); r.ended != nil {
				return "", r.ended
			}
		case e := <-r.c.feed:
			r.show(e)
			if d, ok := e.Data.(msg.PermissionAsked); ok {
				r.question(d)
			}
		}
	}
}

// readDumb reads a line without editing it.
func (r *repl) readDumb(prompt string) (string, error) {
	fmt.Fprint(r.screen, prompt)
	k := r.edit.keys
	for {
		if line, ok := k.line(); ok {
			return line, nil
		}
		if k.ended {
			return "", io.EOF
		}
		select {
		case chunk, ok := <-k.chunks:
			k.rest, k.ended = append(k.rest, chunk...), !ok
		case s := <-r.signals:
			if r.signalAtPrompt(s); r.ended != nil {
				return "", r.ended
			}
		case e := <-r.c.feed:
			r.show(e)
		}
	}
}

// signalAtPrompt takes a signal while no turn that the person started runs.
func (r *repl) signalAtPrompt(s os.Signal) {
	first := r.since.IsZero() || time.Since(r.since) >= secondInterrupt
	r.signal(s)
	if s == os.Interrupt {
		r.begun = ""
		r.edit.term.SetPrompt("> ")
	}
	if s == os.Interrupt && first {
		r.plain.note("^C again ends clm")
	}
}

// chunksOrNil is the input, or nil once it has ended.
func (k *keyboard) chunksOrNil() <-chan []byte {
	if k.ended {
		return nil
	}
	return k.chunks
}
