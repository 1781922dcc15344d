package main

import (
	"os"
	"os/signal"
	"syscall"
)

// notify delivers the signals that end turns and programs. SIGPIPE is among
// them so that a write to a reader that went away is an error and not the end
// of the process; ignoring it instead would be inherited by commands.
func (p *Program) notify() (<-chan os.Signal, func()) {
	c := make(chan os.Signal, 8)
	signal.Notify(c, append(moreSignals(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGPIPE)...)
	return c, func() { signal.Stop(c) }
}
