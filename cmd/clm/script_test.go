package main

import (
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"clm/llm/llmtest"
)

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"clm": func() { os.Exit(run()) }, "mcpserver": mcpServer})
}

// TestScript runs the cases in testdata/script, one file a behaviour, against
// the program. Besides testscript's own commands there are
//
//	model FILE…           a model server that plays a file a request; $URL
//	requests N            how many requests it has got
//	request K [!] REGEXP  what the body of request K matches
//	header K NAME VALUE   a header of request K
//	status N clm ARG…     run clm and hold its exit status
//	signal SIG N clm ARG… the same, with a signal once a request has arrived
//	gone N clm ARG…       the same, with a reader of stdout that takes one byte
//	events FILE           each line is valid by `clm schema`, the last is the outcome
//	mode PATH OCTAL       a file's permissions
func TestScript(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir: "testdata/script",
		Setup: func(env *testscript.Env) error {
			for _, d := range []string{"config/clm/plugins", "config/clm/agents", "home", "tmp"} {
				if err := os.MkdirAll(filepath.Join(env.WorkDir, d), 0o700); err != nil {
					return err
				}
			}
			env.Setenv("HOME", filepath.Join(env.WorkDir, "home"))
			env.Setenv("XDG_CONFIG_HOME", filepath.Join(env.WorkDir, "config"))
			env.Setenv("XDG_STATE_HOME", filepath.Join(env.WorkDir, "state"))
			env.Setenv("TMPDIR", filepath.Join(env.WorkDir, "tmp"))
			env.Setenv("TERM", "dumb")
			return nil
		},
		Cmds: map[string]func(ts *testscript.TestScript, neg bool, args []string){
			"model": scriptModel, "requests": scriptRequests, "request": scriptRequest, "header": scriptHeader,
			"status": scriptStatus, "signal": scriptSignal, "gone": scriptGone, "events": scriptEvents, "mode": scriptMode,
		},
	})
}

// modelOf holds the server of each running script, by its folder.
var modelOf sync.Map

// scriptModel starts a model server.
func scriptModel(ts *testscript.TestScript, _ bool, files []string) {
	m := llmtest.New()
	for _, f := range files {
		m.Replies = append(m.Replies, ts.ReadFile(f))
	}
	s, err := llmtest.ListenTCP(m)
	ts.Check(err)
	ts.Defer(s.Close)
	ts.Setenv("URL", s.URL)
	modelOf.Store(ts.Getenv("WORK"), m)
}

func theModel(ts *testscript.TestScript) *llmtest.Model {
	m, ok := modelOf.Load(ts.Getenv("WORK"))
	if !ok {
		ts.Fatalf("no model was started")
	}
	return m.(*llmtest.Model)
}

func number(ts *testscript.TestScript, s string) int {
	n, err := strconv.Atoi(s)
	ts.Check(err)
	return n
}

func scriptRequests(ts *testscript.TestScript, _ bool, args []string) {
	if got := len(theModel(ts).Requests()); got != number(ts, args[0]) {
		ts.Fatalf("%d requests", got)
	}
}

func oneRequest(ts *testscript.TestScript, k string) *llmtest.Request {
	all, n := theModel(ts).Requests(), number(ts, k)
	if n > len(all) {
		ts.Fatalf("only %d requests", len(all))
	}
	return all[n-1]
}

func scriptRequest(ts *testscript.TestScript, neg bool, args []string) {
	body := string(oneRequest(ts, args[0]).Body)
	if strings.Contains(body, args[1]) == neg {
		ts.Fatalf("request %s: %s", args[0], body)
	}
}

func scriptHeader(ts *testscript.TestScript, _ bool, args []string) {
	if got := oneRequest(ts, args[0]).Header.Get(args[1]); got != args[2] {
		ts.Fatalf("header %s: %q", args[1], got)
	}
}

func exitOf(err error) int {
	var e *exec.ExitError
	switch {
	case err == nil:
		return 0
	case errors.As(err, &e):
		return e.ExitCode()
	}
	return -1
}

func scriptStatus(ts *testscript.TestScript, _ bool, args []string) {
	err := ts.Exec(args[1], args[2:]...)
	if got := exitOf(err); got != number(ts, args[0]) {
		ts.Fatalf("exit status %d (%v)", got, err)
	}
}

// command makes a process as testscript would, to be watched from here.
func command(ts *testscript.TestScript, args []string) *exec.Cmd {
	path := args[0]
	for _, dir := range filepath.SplitList(ts.Getenv("PATH")) {
		if p := filepath.Join(dir, args[0]); fileExists(p) {
			path = p
			break
		}
	}
	cmd := exec.Command(path, args[1:]...)
	cmd.Dir = ts.Getenv("WORK")
	for _, name := range []string{"PATH", "HOME", "XDG_CONFIG_HOME", "XDG_STATE_HOME", "TMPDIR", "TERM", "WORK"} {
		cmd.Env = append(cmd.Env, name+"="+ts.Getenv(name))
	}
	return cmd
}

func fileExists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

func scriptSignal(ts *testscript.TestScript, _ bool, args []string) {
	sigs := map[string]syscall.Signal{"INT": syscall.SIGINT, "TERM": syscall.SIGTERM, "HUP": syscall.SIGHUP}
	cmd := command(ts, args[2:])
	var out, errOut strings.Builder
	cmd.Stdout, cmd.Stderr = &out, &errOut
	ts.Check(cmd.Start())
	model := theModel(ts)
	limit := time.Now().Add(20 * time.Second)
	for len(model.Requests()) == 0 {
		if time.Now().After(limit) {
			_ = cmd.Process.Kill()
			ts.Fatalf("no request arrived; stderr: %s", errOut.String())
		}
		time.Sleep(2 * time.Millisecond) // another process: nothing else tells
	}
	ts.Check(cmd.Process.Signal(sigs[args[0]]))
	start := time.Now()
	err := cmd.Wait()
	if got := exitOf(err); got != number(ts, args[1]) {
		ts.Fatalf("exit status %d after %s; stderr: %s", got, args[0], errOut.String())
	}
	if took := time.Since(start); took > 4*time.Second {
		ts.Fatalf("ended %v after the signal", took)
	}
	for !model.Requests()[0].Ended() {
		if time.Now().After(limit) {
			ts.Fatalf("the request goes on")
		}
		time.Sleep(2 * time.Millisecond)
	}
}

func scriptGone(ts *testscript.TestScript, _ bool, args []string) {
	cmd := command(ts, args[1:])
	r, w, err := os.Pipe()
	ts.Check(err)
	var errOut strings.Builder
	cmd.Stdout, cmd.Stderr = w, &errOut
	ts.Check(cmd.Start())
	_ = w.Close()
	_, err = io.ReadFull(r, make([]byte, 1))
	ts.Check(err)
	_ = r.Close()
	if got := exitOf(cmd.Wait()); got != number(ts, args[0]) {
		ts.Fatalf("exit status %d; stderr: %s", got, errOut.String())
	}
	if strings.Contains(errOut.String(), "clm:") || strings.Contains(errOut.String(), "panic") {
		ts.Fatalf("not quiet: %s", errOut.String())
	}
}

func scriptEvents(ts *testscript.TestScript, _ bool, args []string) {
	doc, err := jsonschema.UnmarshalJSON(strings.NewReader(eventSchema))
	ts.Check(err)
	c := jsonschema.NewCompiler()
	ts.Check(c.AddResource("events.json", doc))
	schema, err := c.Compile("events.json")
	ts.Check(err)
	text := ts.ReadFile(args[0])
	lines := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
	seq := 0
	for i, line := range lines {
		v, err := jsonschema.UnmarshalJSON(strings.NewReader(line))
		if err != nil {
			ts.Fatalf("line %d is not JSON: %s", i+1, line)
		}
		if err := schema.Validate(v); err != nil {
			ts.Fatalf("line %d: %v\n%s", i+1, err, line)
		}
		var head struct {
			Type string
			Seq  int
		}
		ts.Check(json.Unmarshal([]byte(line), &head))
		if last := i == len(lines)-1; last != (head.Type == "outcome") {
			ts.Fatalf("line %d of %d is %s", i+1, len(lines), head.Type)
		}
		if head.Seq != 0 && head.Seq <= seq {
			ts.Fatalf("line %d: seq %d after %d", i+1, head.Seq, seq)
		}
		seq = max(seq, head.Seq)
		if !strings.Contains(eventSchema, `{ "const": "`+head.Type+`" }`) {
			ts.Fatalf("line %d: the schema does not describe %s", i+1, head.Type)
		}
	}
}

func scriptMode(ts *testscript.TestScript, _ bool, args []string) {
	st, err := os.Stat(ts.MkAbs(args[0]))
	ts.Check(err)
	if got := strconv.FormatUint(uint64(st.Mode().Perm()), 8); got != args[1] {
		ts.Fatalf("mode %s", got)
	}
}
