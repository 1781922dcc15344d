//go:build unix

package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/creack/pty"
	"github.com/google/go-cmp/cmp"
	"golang.org/x/term"

	"clm/llm/llmtest"
)

// person is somebody at a terminal that clm runs on.
type person struct {
	t      *testing.T
	cmd    *exec.Cmd
	pty    *os.File
	before *term.State // of the terminal, before clm
	slave  *os.File
	home   string
	model  *llmtest.Model

	mu   sync.Mutex
	seen bytes.Buffer // all that was shown and not yet expected
	all  bytes.Buffer
	more chan struct{}
}

const patience = 20 * time.Second

// sit starts clm on a terminal of its own.
func sit(t *testing.T, m *llmtest.Model, config string, args ...string) *person {
	t.Helper()
	return sitAt(t, t.TempDir(), m, config, args...)
}

func sitAt(t *testing.T, home string, m *llmtest.Model, config string, args ...string) *person {
	t.Helper()
	return sitWith(t, home, "xterm", m, config, args...)
}

func sitWith(t *testing.T, home, terminal string, m *llmtest.Model, config string, args ...string) *person {
	t.Helper()
	return sitBefore(t, home, terminal, m, config, func(url string) *exec.Cmd {
		return exec.Command("clm", append(args, "-u", url, "-m", "mock")...)
	})
}

// sitBefore starts a command on a terminal of its own.
func sitBefore(t *testing.T, home, terminal string, m *llmtest.Model, config string, command func(url string) *exec.Cmd) *person {
	t.Helper()
	s, err := llmtest.ListenTCP(m)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	for name, text := range map[string]string{"config.lua": config, "plugins/p.lua": gatedPlugin} {
		path := filepath.Join(home, "config", "clm", name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(strings.ReplaceAll(text, "$URL", s.URL)), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	p := &person{t: t, home: home, model: m, more: make(chan struct{}, 1)}
	p.cmd = command(s.URL)
	p.cmd.Dir = home
	p.cmd.Env = []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + home, "TERM=" + terminal, "LANG=C.UTF-8",
		"XDG_CONFIG_HOME=" + home + "/config", "XDG_STATE_HOME=" + home + "/state",
	}
	tty, slave, err := pty.Open()
	if err != nil {
		t.Fatal(err)
	}
	p.pty = tty
	if err := pty.Setsize(tty, &pty.Winsize{Rows: 24, Cols: 100}); err != nil {
		t.Fatal(err)
	}
	if p.before, err = term.GetState(int(slave.Fd())); err != nil {
		t.Fatal(err)
	}
	p.cmd.Stdin, p.cmd.Stdout, p.cmd.Stderr = slave, slave, slave
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go p.look()
	t.Cleanup(func() { _ = p.cmd.Process.Kill(); _ = tty.Close(); _ = slave.Close() })
	p.slave = slave
	return p
}

const gatedPlugin = `clm.tool_register("gated", { invoke = function(a, ctx) ctx:complete("it ran") end })`

// look collects what the terminal shows.
func (p *person) look() {
	buf := make([]byte, 4096)
	for {
		n, err := p.pty.Read(buf)
		p.mu.Lock()
		p.seen.Write(buf[:n])
		p.all.Write(buf[:n])
		p.mu.Unlock()
		select {
		case p.more <- struct{}{}:
		default:
		}
		if err != nil {
			return
		}
	}
}

// expect waits until a text is shown, after what was expected before.
func (p *person) expect(text string) {
	p.t.Helper()
	limit := time.After(patience)
	for {
		p.mu.Lock()
		i := bytes.Index(p.seen.Bytes(), []byte(text))
		if i >= 0 {
			p.seen.Next(i + len(text))
		}
		p.mu.Unlock()
		if i >= 0 {
			return
		}
		select {
		case <-p.more:
		case <-limit:
			p.t.Fatalf("%q did not show in %q; all: %q", text, p.seen.String(), p.all.String())
		}
	}
}

func (p *person) types(keys string) {
	p.t.Helper()
	if _, err := p.pty.WriteString(keys); err != nil {
		p.t.Fatal(err)
	}
}

// says waits for the prompt and types a line.
func (p *person) says(line string) {
	p.t.Helper()
	p.expect("> ")
	p.types(line + "\r")
}

// leaves waits for the end and holds the status, and that the terminal is as it was.
func (p *person) leaves(status int) {
	p.t.Helper()
	done := make(chan error, 1)
	go func() { done <- p.cmd.Wait() }()
	select {
	case err := <-done:
		if got := exitOf(err); got != status {
			p.t.Errorf("exit status %d, want %d; shown: %q", got, status, p.all.String())
		}
	case <-time.After(patience):
		p.t.Fatalf("clm did not end; shown: %q", p.all.String())
	}
	after, err := term.GetState(int(p.slave.Fd()))
	if err != nil {
		p.t.Fatal(err)
	}
	if diff := cmp.Diff(p.before, after, cmp.Exporter(func(reflect.Type) bool { return true })); diff != "" {
		p.t.Errorf("the terminal is not as it was: %s", diff)
	}
	for limit := time.After(patience); ; { // the end of the output is still on its way
		p.mu.Lock()
		on, off := strings.LastIndex(p.all.String(), pasteOn), strings.LastIndex(p.all.String(), pasteOff)
		p.mu.Unlock()
		if on <= off {
			return
		}
		select {
		case <-p.more:
		case <-limit:
			p.t.Fatal("bracketed paste was left on")
		}
	}
}

// body is the body of request n, once it has arrived.
func (p *person) body(n int) string {
	p.t.Helper()
	limit := time.Now().Add(patience)
	for len(p.model.Requests()) < n {
		if time.Now().After(limit) {
			p.t.Fatalf("request %d did not arrive; shown: %q", n, p.all.String())
		}
		time.Sleep(time.Millisecond) // another process: nothing else tells
	}
	return string(p.model.Requests()[n-1].Body)
}

func (p *person) asked(n int, text string) {
	p.t.Helper()
	if b := p.body(n); !strings.Contains(b, text) {
		p.t.Errorf("request %d lacks %q: %.600s", n, text, b)
	}
}

func TestConversation(t *testing.T) {
	p := sit(t, llmtest.New("!text **one** and `code`\n!finish stop\n", "!text two\n!finish stop\n"), "return {}")
	p.expect("clm ")
	p.says("first")
	p.expect("one")
	p.says("two lines \\")
	p.expect("… ")
	p.types("of input\r")
	p.expect("two")
	p.asked(2, `two lines \nof input`)
	p.says("a mistake \\")
	p.expect("… ")
	p.types("that\x03")
	p.expect("^C again ends clm")
	p.says("/help")
	p.expect("/reasoning")
	p.says("/nope")
	p.expect("no command /nope")
	p.says("//slash")
	p.asked(3, `"/slash"`)
	p.expect("done")
	p.says("/tree")
	p.expect("engine")
	p.says("/tools")
	p.expect("gated")
	p.says("/clear")
	p.says("again")
	if b := p.body(4); strings.Contains(b, `"first"`) {
		t.Error("/clear did not forget")
	}
	p.expect("> ")
	p.types("\x04")
	p.leaves(0)
	if !strings.Contains(p.all.String(), styleStrong+"one") || !strings.Contains(p.all.String(), styleCode+"code") {
		t.Errorf("markdown is not shown: %q", p.all.String())
	}
}

func TestPaste(t *testing.T) {
	p := sit(t, llmtest.New(), "return {}")
	p.expect("> ")
	p.types("\x1b[200~a\r\nb\x1b]0;title\x07\x1b")
	p.types("[201~")
	p.types(" end\r")
	p.asked(1, `"a\nb]0;title end"`)
	p.expect("> ")
	long := strings.Repeat("0123456789\n", 1000)
	p.types("\x1b[200~" + long + "\x1b[201~")
	p.expect("[paste 1: 11000 characters]")
	p.types("\r")
	p.asked(2, strings.ReplaceAll(strings.TrimSuffix(long, "\n"), "\n", `\n`))
	p.expect("> ")
	p.types("grüße 日本 🙂\r")
	p.asked(3, "grüße 日本 🙂")
	p.says("/quit")
	p.leaves(0)
}

func TestPermissionQuestion(t *testing.T) {
	call := "!tool c1 gated {\"x\":\"\\u001b[2Jdangerous\"}\n!finish tool_calls\n"
	p := sit(t, llmtest.New(call, "!text a\n!finish stop\n", call, "!text b\n!finish stop\n", call, "!text c\n!finish stop\n", call), "return {}")
	p.says("go")
	p.expect("run gated")
	p.expect("dangerous")
	p.expect("[y]es, [n]o, [a]lways, [d]eny always: ")
	p.types("perhaps\n")
	p.expect("always: ")
	p.types("n\n")
	if b := p.body(2); strings.Contains(b, "it ran") {
		t.Error("it ran against a no")
	}
	p.says("go")
	p.expect("always: ")
	p.types("y\n")
	p.asked(4, "it ran")
	p.says("go")
	p.expect("always: ")
	p.types("a\n")
	p.asked(6, "it ran")
	p.says("go")
	p.asked(8, "it ran")
	p.expect("> ")
	if strings.Contains(p.all.String(), "\x1b[2J") {
		t.Error("an escape sequence of the model reached the terminal")
	}
	p.types("\x04")
	p.leaves(0)
}

// TestQuestionOfOneshot holds that -o at a terminal asks there, and stores nothing.
func TestQuestionOfOneshot(t *testing.T) {
	p := sit(t, llmtest.New("!tool c1 gated {}\n!finish tool_calls\n"), "return {}", "-o", "go")
	p.expect("always: ")
	p.types("y\n")
	p.asked(2, "it ran")
	p.leaves(0)
	if list, _ := filepath.Glob(filepath.Join(p.home, "state/clm/*.jsonl")); len(list) > 0 {
		t.Errorf("a session was stored: %v", list)
	}
}

// TestBackgroundJob holds that a job's result begins a turn at the prompt, and
// that what is typed there goes on.
func TestBackgroundJob(t *testing.T) {
	p := sit(t, llmtest.New("!tool c1 bg_exec {\"command\":\"sleep 0.4; echo job is over\"}\n!finish tool_calls\n", "!text started\n!finish stop\n", "!text I saw it\n!finish stop\n"), "return {}", "--yes")
	p.says("go")
	p.expect("started")
	p.expect("> ")
	p.types("half ")
	p.asked(3, "job is over")
	p.expect("I saw it")
	p.types("typed\r")
	p.asked(4, `"half typed"`)
	p.expect("done")
	p.says("/quit")
	p.leaves(0)
}

func TestSteering(t *testing.T) {
	p := sit(t, llmtest.New("!text begun\n!sleep 600\n!tool c1 read_file {\"path\":\"none\"}\n!finish tool_calls\n", "!text steered\n!finish stop\n"), "return {}")
	p.says("go")
	p.expect("begun")
	p.types("and\\\nleft\n")
	p.expect("steering: and left")
	p.asked(2, `"and\nleft"`)
	p.expect("steered")
	p.says("/quit")
	p.leaves(0)
}

func TestInterrupt(t *testing.T) {
	slow := "!text begun\n!hang\n"
	p := sit(t, llmtest.New(slow, "!text fine\n!finish stop\n", slow), "return {}")
	p.says("go")
	p.expect("begun")
	p.types("\x03")
	p.expect("cancelled")
	p.says("go on")
	p.expect("fine")
	p.says("go")
	p.expect("begun")
	p.types("\x03")
	p.expect("> ")
	p.types("\x03")
	p.leaves(130)
}

func TestInterruptAtPrompt(t *testing.T) {
	p := sit(t, llmtest.New(), "return {}")
	p.expect("> ")
	p.types("half a line\x03")
	p.expect("^C again ends clm")
	p.types("whole\r")
	p.expect("done")
	p.expect("> ")
	p.asked(1, `"whole"`)
	p.types("\x03")
	p.expect("^C again ends clm")
	p.types("\x03")
	p.leaves(130)
}

// TestSuspend holds that ^Z leaves the line as it was. (Nothing stops here: the
// test's session has no shell that could continue it.)
func TestSuspend(t *testing.T) {
	p := sit(t, llmtest.New(), "return {}")
	p.expect("> ")
	p.types("ab\x1a")
	p.expect("> ab")
	p.types("cd\r")
	p.asked(1, `"abcd"`)
	p.says("/quit")
	p.leaves(0)
}

// TestSuspendInShell holds that the line is edited again after a shell had the
// terminal in a mode of its own.
func TestSuspendInShell(t *testing.T) {
	p := sitBefore(t, t.TempDir(), "xterm", llmtest.New(), "return {}", func(url string) *exec.Cmd {
		return exec.Command("sh", "-mc", "mode=$(stty -g); clm -m mock -u "+url+"; stty $mode; echo stopped; fg")
	})
	p.expect("> ")
	p.types("ab\x1a")
	p.expect("stopped")
	p.expect("> ab")
	p.types("\x7fc\r") // a terminal in its normal mode would keep the b
	p.asked(1, `"ac"`)
	p.says("/quit")
	p.leaves(0)
}

func TestTerminalIsRestored(t *testing.T) {
	for _, s := range []struct {
		sig    syscall.Signal
		status int
	}{{syscall.SIGTERM, 143}, {syscall.SIGHUP, 129}} {
		p := sit(t, llmtest.New(), "return {}")
		p.expect("> ")
		if err := p.cmd.Process.Signal(s.sig); err != nil {
			t.Fatal(err)
		}
		p.leaves(s.status)
	}
}

func TestCompletionAndHistory(t *testing.T) {
	config := `return { providers = { lab = { url = "$URL", models = { ["org/m-4.1"] = {}, other = {} } } }, agents = { pirate = { system_prompt = "arr" } } }`
	home := t.TempDir()
	p := sitAt(t, home, llmtest.New(), config)
	p.expect("> ")
	p.types("/mod\t")
	p.types("lab/or\t\r")
	p.expect("lab/org/m-4.1 at ")
	p.says("/model nowhere/x")
	p.expect("no provider")
	p.says("/provider")
	p.expect("there are lab, demo")
	p.says("/agent pirate")
	p.expect("pirate")
	p.says("remember me")
	p.asked(1, "remember me")
	p.asked(1, "arr")
	p.says(" not me")
	p.asked(2, "not me")
	p.says("/quit")
	p.leaves(0)

	p = sitAt(t, home, llmtest.New(), config)
	p.expect("> ")
	p.types("\x1b[A\x1b[A\r") // /quit, then the line before it
	p.asked(1, `"remember me"`)
	p.says("/quit")
	p.leaves(0)
}

func TestResumeByChoice(t *testing.T) {
	home := t.TempDir()
	p := sitAt(t, home, llmtest.New(), "return {}")
	p.says("the first prompt")
	p.expect("done")
	p.says("/quit")
	p.expect("clm -r 2")
	p.leaves(0)
	p = sitAt(t, home, llmtest.New(), "return {}", "-r")
	p.expect("the first prompt")
	p.expect(" (1)? ")
	p.types("1\n")
	p.says("the second")
	p.asked(1, "the first prompt")
	p.says("/compact")
	p.expect("> ")
	p.types("\x04")
	p.leaves(0)
}

func TestForever(t *testing.T) {
	p := sit(t, llmtest.New("!text a\n!finish stop\n", "!text b\n!finish stop\n", "!status 400\n{\"error\":{\"message\":\"enough\"}}\n"), "return {}", "-f", "again")
	p.expect("a")
	p.expect("b")
	p.expect("enough")
	p.says("/quit")
	p.leaves(1)
	p.asked(3, "again")
}

// TestDumbTerminal holds that without editing there is a conversation too, and
// not one escape sequence.
func TestDumbTerminal(t *testing.T) {
	p := sitWith(t, t.TempDir(), "dumb", llmtest.New("!text **one**\n!finish stop\n"), "return {}")
	p.says("first")
	p.expect("**one**")
	p.says("/help")
	p.expect("/tree")
	p.says("/quit")
	p.leaves(0)
	if strings.Contains(p.all.String(), "\x1b") {
		t.Errorf("an escape sequence: %q", p.all.String())
	}
}
