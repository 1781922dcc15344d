package mcp

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"clm/actors/internal/proc"
)

const (
	maxLine   = 16 << 20 // bytes of a message
	maxWords  = 8 << 10  // bytes kept of what a server writes beside its messages
	exitGrace = time.Second
	termGrace = 500 * time.Millisecond
	pipeGrace = 200 * time.Millisecond
	// writeLimit is for a server that does not read. Calls end earlier, with
	// their contexts.
	writeLimit = 30 * time.Second
)

// command is a server that is a process.
type command struct {
	group *proc.Group
	in    *os.File // its standard input
	out   *messages
	err   *os.File // its standard error
	words ring
	wg    sync.WaitGroup
	eof   chan struct{} // closed when all of err was read
}

func startCommand(argv []string, o Options) (*command, error) {
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Dir, cmd.Env = o.Dir, proc.Env(o.Env, o.SecretEnv, o.Secrets)
	if cmd.Err != nil {
		return nil, cmd.Err
	}
	var ours, theirs []*os.File
	closeAll := func(files []*os.File) {
		for _, f := range files {
			f.Close()
		}
	}
	for i := range 3 {
		r, w, err := os.Pipe()
		if err != nil {
			closeAll(append(ours, theirs...))
			return nil, err
		}
		if i == 0 {
			r, w = w, r
		}
		ours, theirs = append(ours, r), append(theirs, w)
	}
	cmd.Stdin, cmd.Stdout, cmd.Stderr = theirs[0], theirs[1], theirs[2]
	group, err := proc.Start(cmd)
	closeAll(theirs)
	if err != nil {
		closeAll(ours)
		return nil, &exec.Error{Name: argv[0], Err: err}
	}
	c := &command{group: group, in: ours[0], err: ours[2], eof: make(chan struct{})}
	c.out = newMessages(ours[1], &c.words)
	c.wg.Go(func() {
		defer close(c.eof)
		_, _ = io.Copy(&c.words, struct{ io.Reader }{c.err}) // ends with close
	})
	return c, nil
}

func (c *command) transport() sdk.Transport {
	// The lines are bounded by c.out.
	return &sdk.IOTransport{Reader: c.out, Writer: deadlineWriter{c.in}, MaxLineLength: -1}
}

// deadlineWriter is a pipe whose reader may have stopped reading.
type deadlineWriter struct{ *os.File }

func (w deadlineWriter) Write(p []byte) (int, error) {
	if err := w.SetWriteDeadline(time.Now().Add(writeLimit)); err != nil && !errors.Is(err, os.ErrNoDeadline) {
		return 0, err
	}
	return w.File.Write(p)
}

func (c *command) abort() {
	c.in.Close()
	c.group.Stop(0)
}

// close gives the server time to end by itself, as the protocol wants, since
// its input is closed.
func (c *command) close() {
	c.in.Close()
	wait := time.NewTimer(exitGrace)
	select {
	case <-c.group.Done():
	case <-wait.C:
	}
	wait.Stop()
	c.group.Stop(termGrace)
	c.drain()
	c.err.Close()
	c.wg.Wait()
	c.out.Close()
}

// drain waits until its last words are read. Who has escaped may hold the pipe.
func (c *command) drain() {
	wait := time.NewTimer(pipeGrace)
	defer wait.Stop()
	select {
	case <-c.eof:
	case <-wait.C:
		_ = c.err.SetReadDeadline(time.Now()) // else Close ends it
	}
}

// why ends the server, of which no more is expected, and says how it ended and
// what it wrote last.
func (c *command) why() string {
	select {
	case <-c.group.Done():
	case <-time.After(pipeGrace): // it closed its output, or broke the protocol
	}
	state := c.group.State()
	c.group.Stop(termGrace)
	c.drain()
	var parts []string
	if state != nil {
		parts = append(parts, fmt.Sprintf("%s: %s", c.name(), ending(state)))
	}
	if words := strings.TrimSpace(c.words.String()); words != "" {
		parts = append(parts, "its last words:\n"+words)
	}
	return strings.Join(parts, "\n")
}

func (c *command) name() string { return fmt.Sprintf("process %d", c.group.PID()) }

func ending(state *os.ProcessState) string {
	if ws, ok := state.Sys().(syscall.WaitStatus); ok && ws.Signaled() {
		return fmt.Sprintf("killed by signal %d, %s", int(ws.Signal()), ws.Signal())
	}
	return fmt.Sprintf("exit status %d", state.ExitCode())
}

// ring keeps the end of what is written to it.
type ring struct {
	mu  sync.Mutex
	buf []byte
}

func (r *ring) Write(p []byte) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.buf = append(r.buf, p[max(0, len(p)-maxWords):]...)
	if len(r.buf) > 2*maxWords {
		r.buf = append(r.buf[:0], r.buf[len(r.buf)-maxWords:]...)
	}
	return len(p), nil
}

// String is the end of what was written, at most 1 KiB of it.
func (r *ring) String() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return string(r.buf[max(0, len(r.buf)-1<<10):])
}
