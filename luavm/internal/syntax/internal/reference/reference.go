// Package reference runs programs on a reference interpreter of Lua 5.4, for
// tests that compare.
package reference

import (
	"bufio"
	"bytes"
	_ "embed"
	"fmt"
	"io"
	"os/exec"
	"strings"
)

// File is the name that programs have in messages.
const File = "p.lua"

// OverBudget is the output of a program that runs more than 400,000 instructions.
const OverBudget = "error: over budget\n"

//go:embed driver.lua
var driver string

// Find returns the path of the reference interpreter, or "" if there is none.
func Find() string {
	path, err := exec.LookPath("lua5.4")
	if err != nil {
		return ""
	}
	return path
}

// A Batch is programs that run in one process.
type Batch struct {
	cmd *exec.Cmd
	out bytes.Buffer
	n   int
}

// Start starts the interpreter on programs, one after the other.
func Start(interpreter string, programs []string) (*Batch, error) {
	b := &Batch{n: len(programs), cmd: exec.Command(interpreter, "-e", "\n"+driver)}
	var in strings.Builder
	for _, p := range programs {
		fmt.Fprintf(&in, "%d\n%s", len(p), p)
	}
	b.cmd.Stdin = strings.NewReader(in.String())
	b.cmd.Stdout = &b.out
	if err := b.cmd.Start(); err != nil {
		return nil, fmt.Errorf("reference interpreter: %w", err)
	}
	return b, nil
}

// Wait returns what each program printed, and as a last line "error: …" if it
// failed. The process may die; what is missing then is "".
func (b *Batch) Wait() []string {
	_ = b.cmd.Wait() // what is missing tells
	out := make([]string, b.n)
	r := bufio.NewReader(&b.out)
	for i := range out {
		var n int
		if _, err := fmt.Fscanf(r, "%d\n", &n); err != nil {
			break
		}
		text := make([]byte, n)
		if _, err := io.ReadFull(r, text); err != nil {
			break
		}
		out[i] = string(text)
	}
	return out
}

// Run runs one program.
func Run(interpreter, program string) (string, error) {
	b, err := Start(interpreter, []string{program})
	if err != nil {
		return "", err
	}
	return b.Wait()[0], nil
}
