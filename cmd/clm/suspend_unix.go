//go:build unix

package main

import (
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"
)

// moreSignals are those that only some systems have: the terminal's size changed.
func moreSignals() []os.Signal { return []os.Signal{syscall.SIGWINCH} }

// suspend stops the program as ^Z does in other programs, with the terminal in
// its normal mode, and goes on where it was when it is continued.
func (r *repl) suspend(prompt string) {
	r.edit.end()
	fmt.Fprintln(r.screen)
	continued := make(chan os.Signal, 1)
	signal.Notify(continued, syscall.SIGCONT)
	defer signal.Stop(continued)
	_ = syscall.Kill(0, syscall.SIGTSTP) // the whole job, as the terminal does
	// The signal takes effect a moment later: a terminal that was made ready for
	// editing before that would be as the shell wants it afterwards.
	select {
	case <-continued:
	case <-time.After(100 * time.Millisecond): // nobody can continue it, so nothing stopped
	}
	if err := r.edit.begin(prompt); err != nil {
		r.end(err)
		return
	}
	_, _ = r.edit.term.Write([]byte("\n")) // shows the prompt and what was typed again
}
