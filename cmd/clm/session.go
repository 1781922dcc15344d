package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"

	"clm/actors"
	"clm/llm"
)

// storedSession is the session file of a conversation; nil keeps nothing.
type storedSession struct {
	file   *actors.Session
	before []llm.Message // what it held when it was opened
}

func (s *storedSession) id() string {
	if s == nil {
		return ""
	}
	return s.file.ID()
}

func (p *Program) sessions() (actors.Sessions, error) {
	dir := p.stateDir()
	if dir == "" {
		return actors.Sessions{}, usageError(errors.New("sessions: neither XDG_STATE_HOME nor HOME is set: set one, so that they have a place"))
	}
	return actors.OpenSessions(dir), nil
}

// openSession opens or begins the session that the flags ask for.
func (c *conversation) openSession() error {
	f := &c.p.flags
	id, err := c.p.chosenSession()
	switch {
	case err != nil:
		return usageError(err)
	case id != "":
		return c.resume(id)
	case c.keep || f.session:
		return c.create()
	}
	return nil
}

func (c *conversation) create() error {
	dir, err := os.Getwd()
	if err != nil {
		return fmt.Errorf("working folder: %w", err)
	}
	s, err := c.p.sessions()
	if err != nil {
		return err
	}
	file, err := s.Create(actors.SessionMeta{Model: c.target.Name(), Dir: dir})
	if err != nil {
		return fmt.Errorf("session: %w", err)
	}
	c.store = &storedSession{file: file}
	return nil
}

func (c *conversation) resume(id string) error {
	s, err := c.p.sessions()
	if err != nil {
		return err
	}
	file, loaded, err := s.Open(id)
	if err != nil {
		return err
	}
	c.store = &storedSession{file: file, before: loaded.Messages}
	c.p.tellSkipped(loaded)
	if loaded.Closed > 0 {
		c.p.say("session %s: interrupted: %s; the model is told", id, count(loaded.Closed, "tool call"))
	}
	return nil
}

// tellSkipped says what of a session could not be read.
func (p *Program) tellSkipped(l actors.LoadedSession) {
	if l.Skipped > 0 {
		p.say("session %s: left out, as it cannot be read: %s", l.Meta.ID, count(l.Skipped, "line"))
	}
}

// reopen opens the session again for another agent, after the one before has
// let go of it.
func (c *conversation) reopen() error {
	if c.store == nil {
		return nil
	}
	err := c.resume(c.store.id())
	if errors.Is(err, actors.ErrSessionNotFound) { // nothing was said yet
		return c.create()
	}
	return err
}

// chosenSession is the id of the session that -r or -c names, or "".
func (p *Program) chosenSession() (string, error) {
	f := &p.flags
	if !f.cont && !f.resume.set {
		return "", nil
	}
	s, err := p.sessions()
	switch {
	case err != nil:
		return "", err
	case f.cont:
		return s.Newest()
	case f.resume.id != "":
		return p.findSession(f.resume.id)
	}
	return p.chooseSession(s)
}

// findSession is the id of the one session that a prefix names.
func (p *Program) findSession(prefix string) (string, error) {
	s, err := p.sessions()
	if err != nil {
		return "", err
	}
	id, err := s.Find(prefix)
	if errors.Is(err, actors.ErrSessionNotFound) {
		err = fmt.Errorf("%w: clm sessions list shows those that are there", err)
	}
	return id, err
}

// chooseSession shows the newest sessions and lets the person choose one; off
// a terminal nobody can.
func (p *Program) chooseSession(s actors.Sessions) (string, error) {
	list, err := s.List(20)
	if err != nil {
		return "", err
	}
	if len(list) == 0 {
		return "", fmt.Errorf("-r: %w: there are none yet", actors.ErrSessionNotFound)
	}
	if p.terminal() == nil {
		return "", fmt.Errorf("-r needs an ID where nobody can choose: the newest is -r %s", list[0].ID)
	}
	for i, info := range list {
		fmt.Fprintf(p.Stderr, "%3d  %s\n", i+1, sessionLine(info))
	}
	in := bufio.NewReader(oneByte{p.Stdin})
	for {
		fmt.Fprintf(p.Stderr, "which of 1 to %d (1)? ", len(list))
		line, err := in.ReadString('\n')
		if err != nil && line == "" {
			return "", errors.New("-r: no session was chosen")
		}
		if line = strings.TrimSpace(line); line == "" {
			line = "1"
		}
		if n, err := strconv.Atoi(line); err == nil && n >= 1 && n <= len(list) {
			return list[n-1].ID, nil
		}
	}
}

// oneByte reads a byte at a time, so that a buffered reader on top of it takes
// nothing that belongs to who reads next.
type oneByte struct{ r io.Reader }

func (o oneByte) Read(p []byte) (int, error) { return o.r.Read(p[:min(1, len(p))]) }

func sessionLine(i actors.SessionInfo) string {
	model := i.Model
	if model == "" {
		model = "-"
	}
	title := i.Title
	if i.Err != nil {
		title = "(written by a later version of clm)"
	}
	return fmt.Sprintf("%s  %-16s  %-20s  %s", i.ID, i.Modified.Local().Format("2006-01-02 15:04"), clip(oneLine(model), 20), clip(oneLine(title), 60))
}

// changeAgent goes on with another profile and the same conversation.
func (c *conversation) changeAgent(ctx context.Context, name string) error {
	next := *c
	cfg, err := c.p.configOf(c.flagSet, name)
	if err != nil {
		return err
	}
	if next.target, err = cfg.Target(c.p.choice()); err != nil {
		return err
	}
	next.cfg = cfg
	history, err := c.agent.History()
	if err != nil {
		return err
	}
	stop, cancel := context.WithTimeout(ctx, stopTime)
	defer cancel()
	if err := c.agent.Stop(stop); err != nil {
		return err
	}
	if err := next.reopen(); err != nil {
		return err
	}
	if err := next.spawn(ctx, history); err != nil {
		// The agent before is gone: it comes back as it was.
		return errors.Join(err, c.reopen(), c.spawn(ctx, history))
	}
	*c = next
	return nil
}
