package main

import (
	"bytes"
	"io"
	"os"
	"sync"

	"golang.org/x/term"
)

// tty is the terminal of a conversation.
type tty struct {
	in, out *os.File
	dumb    bool // no editing: TERM=dumb
}

// terminal is the terminal that standard input and output are, or nil.
func (p *Program) terminal() *tty {
	in, ok1 := p.Stdin.(*os.File)
	out, ok2 := p.Stdout.(*os.File)
	if !ok1 || !ok2 || !term.IsTerminal(int(in.Fd())) || !term.IsTerminal(int(out.Fd())) {
		return nil
	}
	t := p.env("TERM")
	return &tty{in: in, out: out, dumb: t == "dumb" || t == ""}
}

// screen is what a conversation writes to. While a line is edited, whole lines
// go above it; otherwise everything goes out as it comes.
type screen struct {
	w io.Writer

	mu   sync.Mutex // the editor's goroutine and the loop both write
	edit *term.Terminal
	held []byte
}

// Write implements io.Writer.
func (s *screen) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.edit == nil {
		return s.w.Write(p)
	}
	s.held = append(s.held, p...)
	if i := bytes.LastIndexByte(s.held, '\n'); i >= 0 {
		_, err := s.edit.Write(s.held[:i+1])
		s.held = append([]byte(nil), s.held[i+1:]...)
		return len(p), err
	}
	return len(p), nil
}

// editing says that a line is edited from now on; nil that none is any more.
func (s *screen) editing(t *term.Terminal) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.edit = t
	if t == nil && len(s.held) > 0 {
		_, _ = s.w.Write(s.held)
		s.held = nil
	}
}

// editor reads edited lines from a terminal.
type editor struct {
	tty    *tty
	keys   *keyboard
	screen *screen
	term   *term.Terminal
	raw    *term.State // how the terminal was; nil when it is in its normal mode
}

func newEditor(t *tty, s *screen, h term.History, complete func(line string, pos int, key rune) (string, int, bool)) *editor {
	e := &editor{tty: t, keys: newKeyboard(t.in), screen: s}
	e.term = term.NewTerminal(struct {
		io.Reader
		io.Writer
	}{e.keys, t.out}, "")
	e.term.History = h
	e.term.AutoCompleteCallback = complete
	return e
}

// bracketed paste on and off: while a turn runs the terminal echoes, and
// would show the marks.
const (
	pasteOn  = "\x1b[?2004h"
	pasteOff = "\x1b[?2004l"
)

// begin brings the terminal into the editor's mode.
func (e *editor) begin(prompt string) error {
	raw, err := term.MakeRaw(int(e.tty.in.Fd()))
	if err != nil {
		return err
	}
	e.raw = raw
	e.resize()
	_, _ = io.WriteString(e.tty.out, pasteOn)
	e.term.SetPrompt(prompt)
	e.screen.editing(e.term)
	return nil
}

// resize tells the editor how large the terminal is now.
func (e *editor) resize() {
	if w, h, err := term.GetSize(int(e.tty.out.Fd())); err == nil && w > 0 {
		_ = e.term.SetSize(w, h)
	}
}

// end brings the terminal back to how it was. It may be called at any time.
func (e *editor) end() {
	if e.raw == nil {
		return
	}
	_, _ = io.WriteString(e.tty.out, pasteOff)
	_ = term.Restore(int(e.tty.in.Fd()), e.raw)
	e.raw = nil
	e.screen.editing(nil)
}

// read reads one line on a goroutine; the terminal is in the editor's mode.
func (e *editor) read() <-chan inputLine {
	out := make(chan inputLine, 1)
	go func() {
		text, err := e.term.ReadLine()
		out <- inputLine{text, err}
	}()
	return out
}

// sameTerminal says whether a stream goes to the terminal: then notes and text
// must not write past each other.
func sameTerminal(f, terminal *os.File) bool {
	if !term.IsTerminal(int(f.Fd())) {
		return false
	}
	a, err1 := f.Stat()
	b, err2 := terminal.Stat()
	return err1 == nil && err2 == nil && os.SameFile(a, b)
}
