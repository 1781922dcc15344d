package proc

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	if os.Getenv("PROC_TEST_PARENT") != "" {
		parent()
		return
	}
	goleak.VerifyTestMain(m)
}

// start runs a shell script and waits for its first line of output.
func start(t *testing.T, script string) (*Group, string) {
	t.Helper()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	cmd := exec.Command("bash", "-c", script)
	cmd.Env, cmd.Stdout = os.Environ(), w
	g, err := Start(cmd)
	w.Close()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { g.Stop(0) })
	line := make([]byte, 200)
	n, _ := r.Read(line)
	return g, strings.TrimSpace(string(line[:n]))
}

// assertGone fails if one of the processes runs.
func assertGone(t *testing.T, pids string) {
	t.Helper()
	for _, f := range strings.Fields(pids) {
		pid, err := strconv.Atoi(f)
		if err != nil {
			t.Fatalf("not a process id: %q", f)
		}
		if st, ok := readStat(pid); ok && st.running {
			t.Errorf("process %d is alive", pid)
		}
	}
}

func TestStopEndsAll(t *testing.T) {
	for name, script := range map[string]string{
		"plain":                  `echo $$; sleep 1000`,
		"ignores TERM":           `trap '' TERM; sleep 1000 & echo $$ $!; wait`,
		"a child keeps the pipe": `sleep 1000 & echo $!`,
		"job control":            `set -m; sleep 1000 & echo $!; exit`,
		"nohup":                  `nohup sleep 1000 2>/dev/null & echo $!; disown -a`,
		"setsid":                 `setsid bash -c 'echo $$; exec sleep 1000' & wait`,
		"daemon":                 `(setsid bash -c '(trap "" TERM; sleep 1000; echo) & echo $!' &)`,
		"stopped":                `sleep 1000 & echo $!; kill -STOP $!; wait`,
	} {
		t.Run(name, func(t *testing.T) {
			g, pids := start(t, script)
			if !g.Stop(50 * time.Millisecond) {
				t.Error("Stop says that something is alive")
			}
			assertGone(t, pids)
			if g.State() == nil {
				t.Error("the command has not exited")
			}
			if !g.Stop(0) {
				t.Error("a second Stop fails")
			}
		})
	}
}

func TestTermIsEnough(t *testing.T) {
	g, _ := start(t, `trap 'exit 7' TERM; echo ready; while :; do sleep 0.01; done`)
	g.Stop(10 * time.Second)
	if code := g.State().ExitCode(); code != 7 {
		t.Errorf("exit status %d: the command could not clean up", code)
	}
}

func TestNested(t *testing.T) {
	t.Setenv(markVar, "outer")
	g, _ := start(t, `echo x`)
	g.Stop(0)
	if i := slices.IndexFunc(g.cmd.Env, func(s string) bool { return s == markVar+"=outer/"+g.mark }); i < 0 {
		t.Error("the outer mark is lost")
	}
}

func TestStartFails(t *testing.T) {
	if _, err := Start(exec.Command("/does/not/exist")); err == nil {
		t.Error("no error")
	}
	cmd := exec.Command("true")
	cmd.Stdout = &strings.Builder{}
	if _, err := Start(cmd); err == nil {
		t.Error("a writer is taken for a file")
	}
}

// parent is the process that TestDiesWithParent kills.
func parent() {
	cmd := exec.Command("sh", "-c", "echo $$ > "+os.Getenv("PROC_TEST_PARENT")+".tmp; mv "+os.Getenv("PROC_TEST_PARENT")+".tmp "+os.Getenv("PROC_TEST_PARENT")+"; exec sleep 1000")
	cmd.Env = os.Environ()
	if _, err := Start(cmd); err != nil {
		panic(err)
	}
	time.Sleep(time.Minute)
}

func TestDiesWithParent(t *testing.T) {
	file := filepath.Join(t.TempDir(), "pid")
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), "PROC_TEST_PARENT="+file)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	var pid []byte
	if !poll(20*time.Second, func() bool { pid, _ = os.ReadFile(file); return len(pid) > 0 }) {
		t.Error("the child does not start")
	}
	_ = cmd.Process.Kill()
	_ = cmd.Wait()
	n, _ := strconv.Atoi(strings.TrimSpace(string(pid)))
	if !poll(10*time.Second, func() bool { return !anyRunning([]int{n}) }) {
		t.Error("the child outlives its killed parent")
	}
}

func TestEnv(t *testing.T) {
	got := Env([]string{"A=1", "CLM_API_KEY=x", "TOKEN=y", "URL=https://sk-12345678@x", "PIN=7", "Q=70"}, []string{"TOKEN"}, []string{"sk-12345678", "7", ""})
	if want := []string{"A=1", "Q=70"}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

func BenchmarkStartStop(b *testing.B) {
	for b.Loop() {
		cmd := exec.Command("true")
		cmd.Env = os.Environ()
		g, err := Start(cmd)
		if err != nil {
			b.Fatal(err)
		}
		<-g.Done()
		g.Stop(0)
	}
}

func BenchmarkStrays(b *testing.B) {
	g := &Group{mark: "none", pid: -1}
	g.born = bornAt(os.Getpid())
	for b.Loop() {
		g.strays()
	}
}
