//go:build unix

package mcp

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"clm/actors/internal/tool"
)

func toolCall(args string) tool.Call { return tool.Call{ID: "1", Args: args} }

func names(tools []tool.Tool) string {
	var out []string
	for _, t := range tools {
		out = append(out, strings.TrimPrefix(t.Name, "mcp__x__"))
	}
	return strings.Join(out, " ")
}

func TestStdio(t *testing.T) {
	var changes atomic.Int32
	m := start(t, Options{OnChange: func() {
		for range 1000 {
			runtime.Gosched() // whoever waits could go on, if it could
		}
		changes.Add(1)
	}}, "ok")
	m.WaitReady(t.Context(), 20*time.Second)
	if st := m.States()[0]; st.Phase != Ready || st.Tools != 8 || changes.Load() == 0 {
		t.Fatalf("got %+v after %d changes", st, changes.Load())
	}
	if got, want := names(m.Tools()), "bad_name__ child crash echo env fail grow slow"; got != want {
		t.Errorf("tools %s, want %s", got, want)
	}
	for _, tl := range m.Tools() {
		if tl.NoPrompt || tl.Source != "mcp:x" || tl.Timeout != 20*time.Second || !strings.Contains(string(tl.Schema), `"properties":{}`) {
			t.Errorf("%+v", tl)
		}
	}
	for _, c := range []struct{ name, args, want, err string }{
		{"echo", `{"n":9007199254740993}`, `{"n":9007199254740993}`, ""},
		{"echo", ``, `{}`, ""},
		{"bad_name__", `{}`, "mapped", ""},
		{"fail", `{}`, "", "it did not work"},
	} {
		got, err := call(t, m, "mcp__x__"+c.name, c.args)
		if got != c.want || fmt.Sprint(err) != c.err && (err != nil || c.err != "") {
			t.Errorf("%s: got %q, %v", c.name, got, err)
		}
	}
	env, err := call(t, m, "mcp__x__env", "")
	if err != nil || strings.Contains(env, "sk-SECRET99") || strings.Contains(env, "CLM_API_KEY") || !strings.Contains(env, "PATH=") {
		t.Errorf("environment: %v\n%s", err, env)
	}
}

func TestListChanged(t *testing.T) {
	m := start(t, Options{}, "ok")
	wait(t, m, "ready", ready)
	before := m.Tools()
	if _, err := call(t, m, "mcp__x__grow", ""); err != nil {
		t.Fatal(err)
	}
	wait(t, m, "grown", func(st State) bool { return st.Tools == 9 })
	if len(before) != 8 {
		t.Error("a snapshot changed")
	}
	if got, err := call(t, m, "mcp__x__grown", ""); got != "yes" || err != nil {
		t.Errorf("got %q, %v", got, err)
	}
}

func TestNoise(t *testing.T) {
	m := start(t, Options{}, "chatty")
	wait(t, m, "ready", ready)
	if got, err := call(t, m, "mcp__x__echo", `{"a":1}`); got != `{"a":1}` || err != nil {
		t.Errorf("got %q, %v", got, err)
	}
}

func TestCursorThatNeverAdvances(t *testing.T) {
	m := start(t, Options{}, "cursor")
	st := wait(t, m, "ready", ready)
	if got := names(m.Tools()); got != "one" || st.Tools != 1 {
		t.Errorf("tools %q", got)
	}
	if got := string(m.Tools()[0].Schema); got != `{"properties":{},"type":"object"}` {
		t.Errorf("schema %s", got)
	}
}

func TestServerWithoutTools(t *testing.T) {
	m := start(t, Options{}, "toolless")
	if st := wait(t, m, "ready", ready); st.Tools != 0 {
		t.Errorf("got %+v", st)
	}
}

// Servers that never get ready: nobody waits for them, and their end is clean.
func TestNeverReady(t *testing.T) {
	for _, kind := range []string{"mute", "endless"} {
		m := start(t, Options{start: 200 * time.Millisecond}, kind)
		if len(m.Tools()) != 0 {
			t.Errorf("%s: tools without a server", kind)
		}
		st := wait(t, m, "failed", failed)
		if !strings.Contains(st.Reason, "no answer within 200ms") {
			t.Errorf("%s: reason %q", kind, st.Reason)
		}
	}
	m := start(t, Options{}, "mute")
	begun := time.Now()
	m.WaitReady(t.Context(), 50*time.Millisecond)
	m.Close() // in the middle of the handshake
	if took := time.Since(begun); took > 15*time.Second {
		t.Errorf("Close took %v", took)
	}
}

func TestDies(t *testing.T) {
	m := start(t, Options{}, "dies")
	st := wait(t, m, "failed", failed)
	for _, part := range []string{"exit status 7", "no database at [redacted]"} {
		if !strings.Contains(st.Reason, part) {
			t.Errorf("reason %q, without %q", st.Reason, part)
		}
	}
	if strings.ContainsAny(st.Reason, "\x1b") {
		t.Errorf("reason %q", st.Reason)
	}
}

func TestCrashAndRestart(t *testing.T) {
	m := start(t, Options{}, "ok")
	wait(t, m, "ready", ready)
	_, err := call(t, m, "mcp__x__crash", "")
	for _, part := range []string{"ended during the call", "exit status 3", "out of luck"} {
		if err == nil || !strings.Contains(err.Error(), part) {
			t.Errorf("got %v, without %q", err, part)
		}
	}
	if len(m.Tools()) != 8 {
		t.Errorf("%d tools while it starts again", len(m.Tools()))
	}
	if got, err := call(t, m, "mcp__x__echo", `{}`); got != `{}` || err != nil { // waits for the new one
		t.Errorf("after the restart: %q, %v", got, err)
	}
	for range maxRestarts {
		_, _ = call(t, m, "mcp__x__crash", "")
	}
	st := wait(t, m, "failed", failed)
	if len(m.Tools()) != 0 || !strings.Contains(st.Reason, "exit status 3") {
		t.Errorf("given up: %d tools, %+v", len(m.Tools()), st)
	}
}

func TestCrashAtStart(t *testing.T) {
	m := start(t, Options{}, "once", filepath.Join(t.TempDir(), "mark"))
	wait(t, m, "ready", ready)
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// eventually asks until the server's process has done something.
func eventually(t *testing.T, what string, is func() bool) {
	t.Helper()
	for end := time.Now().Add(20 * time.Second); !is(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("not %s", what)
		}
	}
}

func TestCancelIsSeenByTheServer(t *testing.T) {
	m := start(t, Options{}, "ok")
	wait(t, m, "ready", ready)
	var slow tool.Tool
	for _, tl := range m.Tools() {
		if tl.Name == "mcp__x__slow" {
			slow = tl
		}
	}
	mark := filepath.Join(t.TempDir(), "mark")
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error)
	go func() {
		_, err := slow.Run(ctx, toolCall(fmt.Sprintf(`{"mark":%q}`, mark)))
		done <- err
	}()
	eventually(t, "begun", func() bool { return exists(mark + ".begun") })
	cancel()
	if err := <-done; err != context.Canceled {
		t.Errorf("got %v", err)
	}
	eventually(t, "cancelled", func() bool { return exists(mark + ".cancelled") })
	if got, err := call(t, m, "mcp__x__echo", ""); got != "{}" || err != nil {
		t.Errorf("the next call: %q, %v", got, err)
	}
}

func TestCallTimesOut(t *testing.T) {
	m := start(t, Options{}, "deaf")
	wait(t, m, "ready", ready)
	m.servers[0].cfg.Timeout = 100 * time.Millisecond
	for _, args := range []string{"{}", `{"a":"` + strings.Repeat("x", 1<<20) + `"}`} { // the second fills the pipe
		if _, err := call(t, m, "mcp__x__one", args); err == nil || err.Error() != "timed out after 100 ms" {
			t.Errorf("%d bytes: got %v", len(args), err)
		}
	}
}

func dead(pid int) bool {
	if syscall.Kill(pid, 0) == syscall.ESRCH {
		return true
	}
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	return err == nil && strings.Contains(string(stat), ") Z ")
}

func TestCloseLeavesNoProcess(t *testing.T) {
	m := start(t, Options{}, "ok")
	wait(t, m, "ready", ready)
	pids, err := call(t, m, "mcp__x__child", "")
	if err != nil {
		t.Fatal(err)
	}
	m.Close()
	for _, f := range strings.Fields(pids) {
		if pid, err := strconv.Atoi(f); err != nil || !dead(pid) {
			t.Errorf("process %s is alive (%v)", f, err)
		}
	}
	if _, err := m.servers[0].call(t.Context(), "echo", ""); err == nil || !strings.Contains(err.Error(), "closed") {
		t.Errorf("a call after Close: %v", err)
	}
}

func TestBadServers(t *testing.T) {
	m := Start(t.Context(), []Server{
		{Name: "none", Command: []string{"/does/not/exist"}},
		{Name: "nowhere", Command: []string{"no-such-program-anywhere"}},
		{Name: ""},
		{Name: "none", URL: "http://x"},
		{Name: "both", URL: "http://x", Command: []string{"x"}},
		{Name: "neither"},
		{Name: "scheme", URL: "file:///etc"},
	}, Options{backoff: time.Millisecond})
	defer m.Close()
	m.WaitReady(t.Context(), 20*time.Second)
	for i, want := range []string{"no such file", "not found", "no name", "another server", "either", "either", "not an http"} {
		if st := m.States()[i]; st.Phase != Failed || !strings.Contains(st.Reason, want) {
			t.Errorf("got %+v, want %q", st, want)
		}
	}
}

func TestHTTP(t *testing.T) {
	var keys atomic.Int32
	srv := newServer("", nil)
	handler := sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return srv }, nil)
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") == "Bearer sk-key" {
			keys.Add(1)
		}
		handler.ServeHTTP(w, r)
	}))
	defer web.Close()
	rt := &http.Transport{}
	defer rt.CloseIdleConnections()
	m := Start(t.Context(), []Server{{Name: "x", URL: web.URL, APIKey: "sk-key"}}, Options{Transport: rt, backoff: time.Millisecond})
	defer m.Close()
	wait(t, m, "ready", ready)
	if got, err := call(t, m, "mcp__x__echo", `{"a":1}`); got != `{"a":1}` || err != nil {
		t.Errorf("got %q, %v", got, err)
	}
	if keys.Load() == 0 {
		t.Error("the key was not sent")
	}
	if _, err := call(t, m, "mcp__x__grow", ""); err != nil {
		t.Fatal(err)
	}
	wait(t, m, "grown", func(st State) bool { return st.Tools == 9 })
}

func TestHTTPFails(t *testing.T) {
	other := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "" {
			t.Error("the key was sent to another host")
		}
	}))
	defer other.Close()
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/401":
			http.Error(w, "who are you? Bearer sk-key12", http.StatusUnauthorized)
		case "/away":
			http.Redirect(w, r, strings.Replace(other.URL, "127.0.0.1", "localhost", 1), http.StatusTemporaryRedirect)
		case "/hang":
			_, _ = io.Copy(io.Discard, r.Body) // else the end of the request is not seen
			<-r.Context().Done()
		}
	}))
	defer web.Close()
	rt := &http.Transport{}
	defer rt.CloseIdleConnections()
	for path, want := range map[string]string{"/401": "Unauthorized", "/away": "", "/hang": "no answer within"} {
		m := Start(t.Context(), []Server{{Name: "x", URL: web.URL + path, APIKey: "sk-key12"}}, Options{
			Transport: rt, backoff: time.Millisecond, start: 300 * time.Millisecond,
		})
		st := wait(t, m, "failed", failed)
		if !strings.Contains(st.Reason, want) || strings.Contains(st.Reason, "sk-key12") {
			t.Errorf("%s: reason %q", path, st.Reason)
		}
		m.Close()
	}
}

func TestManyServersDoNotWaitForEachOther(t *testing.T) {
	env := append(os.Environ(), "MCP_TEST_SERVER=1")
	m := Start(t.Context(), []Server{
		{Name: "mute", Command: []string{os.Args[0], "mute"}}, {Name: "x", Command: []string{os.Args[0], "ok"}},
	}, Options{Env: env})
	defer m.Close()
	eventually(t, "ready", func() bool { return m.States()[1].Phase == Ready })
	if got, err := call(t, m, "mcp__x__echo", ""); got != "{}" || err != nil {
		t.Errorf("got %q, %v", got, err)
	}
	if _, err := m.servers[0].live(expired(t)); !errors.Is(err, context.Canceled) {
		t.Errorf("a call to a server that starts: %v", err)
	}
}

func expired(t *testing.T) context.Context {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	return ctx
}
