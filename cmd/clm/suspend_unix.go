//go:build unix

package main

import (
	"fmt"
	"os"
	"syscall"
)

// moreSignals are those that only some systems have: the terminal's size changed.
func moreSignals() []os.Signal { return []os.Signal{syscall.SIGWINCH} }

// suspend stops the program as ^Z does in other programs, with the terminal in
// its normal mode, and goes on where it was when it is continued.
func (r *repl) suspend(prompt string) {
	r.edit.end()
	fmt.Fprintln(r.screen)
	_ = syscall.Kill(0, syscall.SIGTSTP) // the whole job, as the terminal does
	if err := r.edit.begin(prompt); err != nil {
		r.end(err)
		return
	}
	_, _ = r.edit.term.Write([]byte("\n")) // shows the prompt and what was typed again
}
