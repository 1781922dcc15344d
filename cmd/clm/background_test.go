//go:build unix

package main

import (
	"bytes"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"clm/llm/llmtest"
)

// script is a run of clm off a terminal, against a model that is a function.
type script struct {
	cmd         *exec.Cmd
	stdin       io.WriteCloser
	out, errOut bytes.Buffer
	log         string // of what actors tell each other
}

func newScript(t *testing.T, reply func(s *script, r *llmtest.Request) string, args ...string) *script {
	t.Helper()
	home := t.TempDir()
	s := &script{log: filepath.Join(home, "log")}
	m := llmtest.New()
	m.Reply = func(r *llmtest.Request) string { return reply(s, r) }
	server, err := llmtest.ListenTCP(m)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(server.Close)
	s.cmd = exec.Command("clm", append(args, "-u", server.URL, "-m", "mock", "--yes")...)
	s.cmd.Dir = home
	s.cmd.Env = []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + home, "XDG_CONFIG_HOME=" + home + "/config",
		"XDG_STATE_HOME=" + home + "/state", "CLM_DEBUG_LOG=" + s.log, "CLM_DEBUG_LEVEL=trace",
	}
	s.cmd.Stdout, s.cmd.Stderr = &s.out, &s.errOut
	if s.stdin, err = s.cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	return s
}

// run runs clm to its end and holds what it says and its exit status.
func (s *script) run(t *testing.T, status int, stdout string) {
	t.Helper()
	if err := s.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	limit := time.AfterFunc(patience, func() { _ = s.cmd.Process.Kill() })
	defer limit.Stop()
	if got := exitOf(s.cmd.Wait()); got != status || s.out.String() != stdout {
		t.Errorf("exit status %d, stdout %q; want %d, %q; stderr:\n%s", got, s.out.String(), status, stdout, s.errOut.String())
	}
}

// told waits until an actor was told something.
func (s *script) told(what string) {
	for limit := time.Now().Add(patience); time.Now().Before(limit); time.Sleep(2 * time.Millisecond) {
		if b, _ := os.ReadFile(s.log); strings.Contains(string(b), what) {
			return
		}
	}
}

const (
	startJob  = "!tool c1 bg_exec {\"command\":\"true\",\"label\":\"lamp\"}\n!finish tool_calls\n"
	startLong = "!tool c1 bg_exec {\"command\":\"sleep 60\",\"label\":\"lamp\"}\n!finish tool_calls\n"
)

func says(text string) string { return "!text " + text + "\n!finish stop\n" }

// A background job's result is a turn of its own: the line that comes while it
// runs waits for it, and is a turn after it.
func TestPipeLineWaitsForTheTurnOfABackgroundJob(t *testing.T) {
	s := newScript(t, func(s *script, r *llmtest.Request) string {
		switch r.N {
		case 1:
			return startJob
		case 2:
			return says("started")
		case 3:
			_, _ = io.WriteString(s.stdin, "second\nthird\n")
			_ = s.stdin.Close()
			return "!sleep 300\n" + says("the job is over")
		case 4:
			if !bytes.Contains(r.Body, []byte("lamp")) {
				return says("nothing is known of the job")
			}
		}
		return says("answer " + string(rune('0'+r.N)))
	})
	_, _ = io.WriteString(s.stdin, "first\n")
	s.run(t, 0, "started\nthe job is over\nanswer 4\nanswer 5\n")
}

// The end of input waits for the turn that a job's result is about to begin;
// the exit status is that of the last line.
func TestEndOfInputWaitsForTheTurnOfABackgroundJob(t *testing.T) {
	for name, args := range map[string][]string{"lines": nil, "one": {"-o", "first"}} {
		for last, status := range map[string]int{says("the job is over"): 0, "!status 400\n{}\n": 0} {
			t.Run(name, func(t *testing.T) {
				s := newScript(t, func(s *script, r *llmtest.Request) string {
					switch r.N {
					case 1:
						return startJob
					case 2:
						s.told("msg.Notify")
						return says("started")
					}
					return last
				}, args...)
				if args == nil {
					_, _ = io.WriteString(s.stdin, "first\n")
				}
				_ = s.stdin.Close()
				want := "started\n"
				if strings.HasPrefix(last, "!text") {
					want += "the job is over\n"
				}
				s.run(t, status, want)
			})
		}
	}
}

// A job that still runs when the program ends is ended with it: it is said.
func TestARunningBackgroundJobIsNamedAtTheEnd(t *testing.T) {
	for name, args := range map[string][]string{"lines": nil, "one": {"-o", "first"}} {
		t.Run(name, func(t *testing.T) {
			s := newScript(t, func(_ *script, r *llmtest.Request) string {
				if r.N == 1 {
					return startLong
				}
				return says("started")
			}, args...)
			if args == nil {
				_, _ = io.WriteString(s.stdin, "first\n")
			}
			_ = s.stdin.Close()
			s.run(t, 0, "started\n")
			if !strings.Contains(s.errOut.String(), "clm: background job 1 (lamp) still runs: it ends with the program") {
				t.Errorf("stderr: %s", s.errOut.String())
			}
		})
	}
}
