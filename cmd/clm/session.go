package main

import (
	"errors"

	"github.com/spf13/cobra"

	"clm/llm"
)

// storedSession is the session file of a conversation; nil keeps nothing.
type storedSession struct{}

func (c *conversation) openSession(*cobra.Command) error {
	if c.p.flags.resume.set || c.p.flags.cont || c.p.flags.session {
		return errors.New("sessions: not there yet")
	}
	return nil
}

func (s *storedSession) history() []llm.Message { return nil }
func (s *storedSession) id() string             { return "" }
func (s *storedSession) close() error           { return nil }
