package proc

import (
	"crypto/rand"
	"errors"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"time"
)

const (
	markVar  = "CLM_JOB"
	killWait = 2 * time.Second // after SIGKILL: only a process stuck in the kernel, or another user's, takes longer
)

// Group is a running command with all that it started. Its methods may be
// called from any goroutine.
type Group struct {
	cmd  *exec.Cmd
	pid  int
	mark string
	born uint64 // when the system says that the command started, for strays
	done chan struct{}
	err  error
}

// Start starts a command. cmd's standard streams must be nil or files, so that
// its end does not depend on who else holds them; cmd.Env must be set. The
// caller must call [Group.Stop] whatever happens.
func Start(cmd *exec.Cmd) (*Group, error) {
	for _, stream := range []any{cmd.Stdin, cmd.Stdout, cmd.Stderr} {
		if _, isFile := stream.(*os.File); stream != nil && !isFile {
			return nil, errors.New("proc: a standard stream is neither nil nor a file")
		}
	}
	g := &Group{cmd: cmd, mark: rand.Text()[:16], done: make(chan struct{})}
	cmd.Env = mark(cmd.Env, g.mark)
	separate(cmd)
	started := make(chan error)
	go func() {
		// The thread that forks must live as long as the child: the signal
		// for the parent's death goes out when that thread ends.
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := cmd.Start()
		if err != nil {
			started <- err
			return
		}
		g.pid, g.born = cmd.Process.Pid, bornAt(cmd.Process.Pid)
		started <- nil
		g.err = cmd.Wait()
		close(g.done)
	}()
	if err := <-started; err != nil {
		return nil, err
	}
	return g, nil
}

// mark adds a command's mark to those of the commands around it.
func mark(env []string, id string) []string {
	out := make([]string, 0, len(env)+1)
	value := id
	for _, kv := range env {
		if old, ok := strings.CutPrefix(kv, markVar+"="); ok {
			value = old + "/" + id
			continue
		}
		out = append(out, kv)
	}
	return append(out, markVar+"="+value)
}

// PID is the process id of the command, and of its group.
func (g *Group) PID() int { return g.pid }

// Done is closed when the command itself has exited.
func (g *Group) Done() <-chan struct{} { return g.done }

// State is how the command exited; nil before Done is closed.
func (g *Group) State() *os.ProcessState {
	select {
	case <-g.done:
		return g.cmd.ProcessState
	default:
		return nil
	}
}

// Err is what waiting for the command gave, once Done is closed.
func (g *Group) Err() error {
	<-g.done
	return g.err
}

// Stop ends everything that is left of the group and waits for its end. It
// returns false when something could not be ended. It may be called again.
func (g *Group) Stop(grace time.Duration) bool {
	ok := true
	if g.signal(false) && !g.wait(grace) {
		g.signal(true)
		ok = g.wait(killWait)
	}
	return g.sweep() && ok
}

// wait waits until the command has exited and its group is empty.
func (g *Group) wait(limit time.Duration) bool {
	deadline := time.NewTimer(limit)
	defer deadline.Stop()
	select {
	case <-g.done:
	case <-deadline.C:
		return false
	}
	// Grandchildren are nobody's to wait for; there is only asking.
	return poll(limit, func() bool { return !g.alive() })
}

// poll asks until it is told true or the time is over.
func poll(limit time.Duration, ask func() bool) bool {
	pause, end := time.Millisecond, time.Now().Add(limit)
	for !ask() {
		if time.Now().After(end) {
			return false
		}
		time.Sleep(pause)
		pause = min(2*pause, 20*time.Millisecond)
	}
	return true
}

// Env is an environment for a command: base without CLM_API_KEY, the variables
// named, and every variable that holds one of the secrets.
func Env(base, names, secrets []string) []string {
	out := make([]string, 0, len(base))
next:
	for _, kv := range base {
		name, value, _ := strings.Cut(kv, "=")
		if strings.EqualFold(name, "CLM_API_KEY") {
			continue
		}
		for _, n := range names {
			if name == n {
				continue next
			}
		}
		for _, secret := range secrets {
			if secret != "" && (value == secret || len(secret) >= 8 && strings.Contains(value, secret)) {
				continue next
			}
		}
		out = append(out, kv)
	}
	return out
}
