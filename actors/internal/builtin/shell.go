package builtin

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"time"

	"clm/actors/internal/family"
	"clm/actors/internal/proc"
	"clm/actors/internal/tool"
)

const (
	defaultTimeout = 2 * time.Minute
	maxTimeout     = 10 * time.Minute
	termGrace      = 300 * time.Millisecond // between SIGTERM and SIGKILL
	// pipeGrace is for what stands in the pipe when all writers but an
	// escaped one are dead.
	pipeGrace = 200 * time.Millisecond
)

var shellSchema = object(`"command":{"type":"string","description":"command for the shell"},`+
	`"stdin":{"type":"string","description":"standard input; closed if not given"},`+
	`"timeout_ms":{"type":"integer","minimum":1,"maximum":600000,"description":"limit in milliseconds, 120000 by default"}`, "command")

func (s *Set) shellExec() tool.Tool {
	return tool.Tool{
		Name: "shell_exec",
		Description: "Run a shell command in the working folder and give its output, standard error included, and its exit status. " +
			"The command has no terminal. It ends with everything that it started: for what should go on running use bg_exec.",
		Schema:  shellSchema,
		Timeout: maxTimeout + time.Minute,
		Run: func(ctx context.Context, call tool.Call) (tool.Result, error) {
			args := struct {
				Command, Stdin string
				TimeoutMS      float64 `json:"timeout_ms"`
			}{TimeoutMS: float64(defaultTimeout / time.Millisecond)}
			if err := decode(call.Args, &args); err != nil {
				return tool.Result{}, err
			}
			if strings.TrimSpace(args.Command) == "" {
				return tool.Result{}, errors.New("the argument command is missing")
			}
			ms := min(max(args.TimeoutMS, 1), float64(maxTimeout/time.Millisecond))
			text, err := s.run(ctx, args.Command, args.Stdin, time.Duration(ms)*time.Millisecond)
			return tool.Result{Text: text}, err
		},
		Reason: func(string) string { return "in " + s.opts.Dir },
	}
}

// run runs a command to its end. It returns the result's text also when ctx
// ended it, with ctx's error. A timeout of 0 is none.
func (s *Set) run(ctx context.Context, command, stdin string, timeout time.Duration) (string, error) {
	if err := ctx.Err(); err != nil {
		return "", err
	}
	r, err := s.start(command, stdin)
	if err != nil {
		return "", err
	}
	return s.finish(ctx, r, timeout)
}

// finish waits for a command's end, or brings it about.
func (s *Set) finish(ctx context.Context, r *running, timeout time.Duration) (string, error) {
	var expired <-chan struct{}
	if timeout > 0 {
		rings, stop := family.Alarm(s.opts.Clock, timeout)
		defer stop()
		expired = rings
	}
	note, err := "", error(nil)
	select {
	case <-r.group.Done():
	case <-ctx.Done():
		err = ctx.Err()
	case <-expired:
		note = fmt.Sprintf("(timed out after %d ms)", timeout.Milliseconds())
	}
	out, ended := r.end()
	if note == "" && err == nil {
		note = status(r.group)
	}
	if !ended {
		note += fmt.Sprintf("(a process of the command could not be ended; its group is %d)", r.group.PID())
	}
	text := out.finish()
	if out.path != "" {
		s.mu.Lock()
		s.spools = append(s.spools, out.path)
		s.mu.Unlock()
	}
	return s.safe(join(text, note)), err
}

// join puts a note after an output.
func join(text, note string) string {
	switch {
	case text == "" && note == "":
		return "(command produced no output)"
	case text == "":
		return "(command produced no output)\n" + note
	case note == "" || strings.HasSuffix(text, "\n"):
		return text + note
	}
	return text + "\n" + note
}

// status is the note about how a command ended; empty for exit status 0.
func status(g *proc.Group) string {
	state := g.State()
	if state == nil || state.Success() {
		return ""
	}
	if ws, ok := state.Sys().(syscall.WaitStatus); ok && ws.Signaled() {
		return fmt.Sprintf("(killed by signal %d, %s)", int(ws.Signal()), ws.Signal())
	}
	return fmt.Sprintf("(exit status %d)", state.ExitCode())
}

// running is a command that runs, with the two ends that this process holds of
// its pipes.
type running struct {
	group *proc.Group
	out   *output
	read  *os.File // standard output and error
	write *os.File // standard input; nil if closed
	io    sync.WaitGroup
	eof   chan struct{}
}

func (s *Set) start(command, stdin string) (*running, error) {
	shell, flag := shell()
	cmd := exec.Command(shell, flag, command)
	cmd.Dir, cmd.Env = s.opts.Dir, s.env()
	r := &running{out: newOutput(s.opts.SpoolDir), eof: make(chan struct{})}
	read, theirs, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer theirs.Close()
	r.read, cmd.Stdout, cmd.Stderr = read, theirs, theirs
	if stdin != "" {
		in, write, err := os.Pipe()
		if err != nil {
			read.Close()
			return nil, err
		}
		defer in.Close()
		cmd.Stdin, r.write = in, write
	}
	if r.group, err = proc.Start(cmd); err != nil {
		read.Close()
		if r.write != nil {
			r.write.Close()
		}
		return nil, fmt.Errorf("the command does not start: %w", err)
	}
	r.io.Go(func() {
		defer close(r.eof)
		_, _ = io.CopyBuffer(r.out, struct{ io.Reader }{read}, make([]byte, 32<<10)) // ends by end of file or by end's deadline
	})
	if r.write != nil {
		r.io.Go(func() {
			_, _ = io.WriteString(r.write, stdin) // a command need not read its input
			r.write.Close()
		})
	}
	return r, nil
}

// end ends the command with all that it started and joins what reads its
// output. It returns false if something could not be ended.
func (r *running) end() (*output, bool) {
	ended := r.group.Stop(termGrace)
	if r.write != nil {
		r.write.Close()
	}
	wait := time.NewTimer(pipeGrace)
	defer wait.Stop()
	select {
	case <-r.eof:
	case <-wait.C:
		if r.read.SetReadDeadline(time.Now()) != nil {
			r.read.Close()
		}
	}
	r.io.Wait()
	r.read.Close()
	return r.out, ended
}

// env is the environment of commands.
func (s *Set) env() []string {
	base := s.opts.Env
	if base == nil {
		base = os.Environ()
	}
	return proc.Env(base, s.opts.SecretEnv, s.opts.Secrets)
}
