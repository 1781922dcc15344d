package main

import (
	"errors"
	"syscall"

	"clm/config"
)

// The exit statuses. clm(1) lists them, and a test holds the list to these.
const (
	exitDone        = 0
	exitFailed      = 1 // the turn failed
	exitUsage       = 2 // usage or configuration
	exitCeiling     = 3 // --max-turns or --max-tokens-total
	exitHUP         = 129
	exitInterrupted = 130
	exitPipe        = 141 // the reader of standard output went away
	exitTERM        = 143
)

// exitError is an error with the status that it ends the program with. A nil
// err ends it without a word: all was said.
type exitError struct {
	status int
	err    error
}

func (e *exitError) Error() string {
	if e.err == nil {
		return "exit"
	}
	return e.err.Error()
}

func (e *exitError) Unwrap() error { return e.err }

func usageError(err error) error { return &exitError{exitUsage, err} }

// exitStatus is the one place that maps what happened to an exit status.
func exitStatus(err error) int {
	var e *exitError
	var c *config.Error
	switch {
	case err == nil:
		return exitDone
	case errors.Is(err, syscall.EPIPE):
		return exitPipe
	case errors.As(err, &e):
		return e.status
	case errors.As(err, &c):
		return exitUsage
	}
	return exitFailed
}
