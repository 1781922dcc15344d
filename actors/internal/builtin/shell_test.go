//go:build unix

package builtin

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"clm/actors/internal/family"
)

func TestShellExec(t *testing.T) {
	t.Setenv("CLM_API_KEY", "sk-key")
	t.Setenv("MY_TOKEN", "by-name")
	t.Setenv("DSN", "https://sk-SECRET99@host")
	b := newBench(t, Options{SecretEnv: []string{"MY_TOKEN"}, Secrets: []string{"sk-SECRET99"}})
	for _, c := range []struct{ command, want string }{
		{"printf abc; exit 3", "abc\n(exit status 3)"},
		{"echo out; echo err >&2", "out\nerr\n"},
		{"true", "(command produced no output)"},
		{"exit 1", "(command produced no output)\n(exit status 1)"},
		{"echo x; kill -9 $$", "x\n(killed by signal 9, killed)"},
		{"cat; echo closed", "closed\n"},
		{"no-such-command-at-all 2>/dev/null", "(command produced no output)\n(exit status 127)"},
		{"echo $CLM_API_KEY,$MY_TOKEN,$DSN", ",,\n"},
		{"pwd", b.dir + "\n"},
		{"echo sk-SECRET99", "[redacted]\n"},
		{`printf '\033[31mred\033[0m\r\n'`, "red\n"},
		{"tty", "not a tty\n(exit status 1)"},
		{"ps -o stat= -p $$ | cut -c1-2", "Ss\n"},
		{"printf 'a\\000b'", "a"},
	} {
		got := b.text("shell_exec", "command", c.command)
		if c.want == "a" {
			check(t, c.command, got, "binary output, not shown: 3 bytes; the first byte that is not text is at offset 1; the full output is in ")
		} else if got != c.want {
			t.Errorf("%s: got %q, want %q", c.command, got, c.want)
		}
	}
	if got := b.text("shell_exec", "command", "tr a-z A-Z", "stdin", "milk"); got != "MILK" {
		t.Errorf("input: got %q", got)
	}
	if got := b.text("shell_exec", "command", "echo unread", "stdin", strings.Repeat("x", 1<<20)); got != "unread\n" {
		t.Errorf("input that nobody reads: got %q", got)
	}
	check(t, "NUL", b.text("shell_exec", "command", "a\x00b"), "error: the command does not start")
}

func TestLargeOutput(t *testing.T) {
	b := newBench(t, Options{})
	for name, c := range map[string]struct {
		command string
		size    int64
	}{
		"lines":     {"seq 1 100000", 588895},
		"one line":  {"head -c 50000000 /dev/zero | tr '\\0' x", 50_000_000},
		"wide":      {"yes € | tr -d '\\n' | head -c 300000", 300_000},
		"just over": {fmt.Sprintf("head -c %d /dev/zero | tr '\\0' y", maxResult+1), maxResult + 1},
	} {
		got := b.text("shell_exec", "command", c.command)
		m := regexp.MustCompile(`\[… (\d+) bytes left out; the full output is in (\S+) …\]`).FindStringSubmatch(got)
		if m == nil {
			t.Fatalf("%s: no note in %d bytes: %.100q", name, len(got), got)
		}
		left, _ := strconv.ParseInt(m[1], 10, 64)
		if shown := int64(len(got) - len(m[0]) - 2); shown+left != c.size || shown < maxResult*9/10 {
			t.Errorf("%s: %d bytes are shown and %d left out of %d", name, shown, left, c.size)
		}
		info, err := os.Stat(m[2])
		if err != nil || info.Size() != c.size || info.Mode().Perm() != 0o600 {
			t.Errorf("%s: spool file %v, %v", name, info, err)
		}
		if strings.ContainsRune(got, '\uFFFD') {
			t.Errorf("%s: a character was cut", name)
		}
	}
	check(t, "tail", b.text("shell_exec", "command", "seq 1 100000; exit 2"), "\n100000\n(exit status 2)")
	b.Close()
	if left, _ := filepath.Glob(filepath.Join(filepath.Dir(b.dir), "clm-output-*")); len(left) > 0 {
		t.Errorf("%v are left after Close", left)
	}
}

func TestOutputEdges(t *testing.T) {
	var all strings.Builder
	for i := 0; all.Len() < 4*maxResult; i++ {
		fmt.Fprintf(&all, "%d€,", i)
	}
	for size := maxResult - 3; size < 4*maxResult; size += 4001 {
		o := newOutput(t.TempDir())
		text := strings.ToValidUTF8(all.String()[:size], "")
		for i := 0; i < len(text); i += 701 {
			_, _ = o.Write([]byte(text[i:min(len(text), i+701)]))
		}
		got := o.finish()
		head, tail, cut := strings.Cut(got, "\n[… ")
		_, tail, _ = strings.Cut(tail, " …]\n")
		if !strings.HasPrefix(text, head) || !strings.HasSuffix(text, tail) || cut != (len(text) > maxResult) || len(got) > maxResult {
			t.Fatalf("%d bytes: head %d, tail %d, cut %v, bad %d", len(text), len(head), len(tail), cut, o.bad)
		}
	}
}

// pid waits for a script to write its process id.
func (b *bench) pid(name string) int {
	b.t.Helper()
	for end := time.Now().Add(20 * time.Second); time.Now().Before(end); time.Sleep(time.Millisecond) {
		if data, _ := os.ReadFile(filepath.Join(b.dir, name)); strings.HasSuffix(string(data), "\n") {
			n, err := strconv.Atoi(strings.TrimSpace(string(data)))
			if err != nil {
				b.t.Fatal(err)
			}
			return n
		}
	}
	b.t.Fatalf("%s does not appear", name)
	return 0
}

// dead tells whether a process is gone, or a zombie that nobody reaps.
func dead(pid int) bool {
	if syscall.Kill(pid, 0) == syscall.ESRCH {
		return true
	}
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	return err == nil && strings.Contains(string(stat), ") Z ")
}

// quick is a clock whose time passes at once.
type quick struct{ family.SystemClock }

func (quick) AfterFunc(_ time.Duration, f func()) family.Timer { return time.AfterFunc(0, f) }

func TestCommandsTimeIsTheClocks(t *testing.T) {
	b := newBench(t, Options{Clock: quick{}})
	want := "(command produced no output)\n(timed out after 100000 ms)"
	if got := b.text("shell_exec", "command", "sleep 1000", "timeout_ms", 100_000); got != want {
		t.Errorf("got %q", got)
	}
}

func TestCommandEndsWithAllItStarted(t *testing.T) {
	b := newBench(t, Options{})
	for name, c := range map[string]struct {
		command string
		ms      int
		want    string
	}{
		"child keeps the pipe": {"sleep 1000 & echo $! >pid; echo done", 100_000, "done\n"},
		"setsid child":         {"setsid sh -c 'echo $$ >pid; exec sleep 1000' & while ! [ -s pid ]; do :; done; echo done", 100_000, "done\n"},
		"timeout":              {"echo $$ >pid; echo begun; sleep 1000", 300, "begun\n(timed out after 300 ms)"},
		"trap":                 {"trap '' TERM; sleep 1000 & echo $! >pid; wait; wait", 300, "(command produced no output)\n(timed out after 300 ms)"},
		"flood":                {"echo $$ >pid; exec yes", 300, "\n(timed out after 300 ms)"},
	} {
		os.Remove(filepath.Join(b.dir, "pid"))
		begun := time.Now()
		got := b.text("shell_exec", "command", c.command, "timeout_ms", c.ms)
		if !strings.HasSuffix(got, c.want) {
			t.Errorf("%s: got %.200q, want %q", name, got, c.want)
		}
		if took := time.Since(begun); took > 20*time.Second {
			t.Errorf("%s: took %v", name, took)
		}
		if !dead(b.pid("pid")) {
			t.Errorf("%s: a process is alive after the call", name)
		}
	}
}

func TestCancelCommand(t *testing.T) {
	b := newBench(t, Options{})
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error)
	go func() {
		_, err := b.call(ctx, "shell_exec", "command", "trap '' TERM; echo $$ >pid; echo x; while :; do sleep 1; done", "stdin", strings.Repeat("y", 1<<20))
		done <- err
	}()
	pid := b.pid("pid")
	cancel()
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	if !dead(pid) {
		t.Error("the command is alive after the call")
	}
	if _, err := b.call(ctx, "shell_exec", "command", "echo >ran"); !errors.Is(err, context.Canceled) {
		t.Errorf("a call after the cancel: %v", err)
	}
	if _, err := os.Stat(filepath.Join(b.dir, "ran")); err == nil {
		t.Error("a cancelled call ran its command")
	}
}

func TestBackgroundJob(t *testing.T) {
	notes := make(chan string, 100)
	b := newBench(t, Options{Notify: func(text string) { notes <- text }})
	check(t, "start", b.text("bg_exec", "command", "while ! [ -e go ]; do sleep 0.01; done; echo built; exit 4", "label", "make\x1b[2J\nit"), "background job 1 (make [2J it) started")
	select {
	case n := <-notes:
		t.Fatalf("an early result: %s", n)
	default:
	}
	b.file("go", "")
	check(t, "result", <-notes, "background job 1 (make", "ended after", "built\n(exit status 4)")

	b.text("bg_exec", "command", "trap '' TERM; echo $$ >pid; sleep 1000")
	pid := b.pid("pid")
	b.Close()
	if !dead(pid) {
		t.Error("a job is alive after Close")
	}
	select {
	case n := <-notes:
		t.Errorf("a result after Close: %s", n)
	default:
	}
	check(t, "after Close", b.text("bg_exec", "command", "true"), "error: ", "closing")
}

func TestTooManyJobs(t *testing.T) {
	b := newBench(t, Options{Notify: func(string) {}})
	for range maxJobs {
		check(t, "job", b.text("bg_exec", "command", "sleep 1000"), "started")
	}
	check(t, "one more", b.text("bg_exec", "command", "true"), "error: 16 background jobs")
}

func TestSpecialFiles(t *testing.T) {
	b := newBench(t, Options{})
	if err := syscall.Mkfifo(filepath.Join(b.dir, "fifo"), 0o600); err != nil {
		t.Fatal(err)
	}
	check(t, "read", b.text("read_file", "path", "fifo"), "error: ", "FIFO")
	check(t, "write", b.text("write_file", "path", "fifo", "content", "x"), "error: ", "FIFO")
	check(t, "list", b.text("list_dir", "path", "."), "fifo (special file)")
}

func BenchmarkShellExec(b *testing.B) {
	s := New(Options{Dir: b.TempDir(), SpoolDir: b.TempDir()})
	defer s.Close()
	for b.Loop() {
		if text, err := s.run(context.Background(), "echo x", "", time.Minute); text != "x\n" || err != nil {
			b.Fatal(text, err)
		}
	}
}

func BenchmarkIdleSet(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		s := New(Options{Dir: "/", SpoolDir: "/tmp", Notify: func(string) {}})
		if len(s.Tools()) != 5 {
			b.Fatal("tools are missing")
		}
		s.Close()
	}
}
