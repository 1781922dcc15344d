//go:build unix

package mcp

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"go.uber.org/goleak"
)

// The test binary is also the servers that are tested against: its argument
// says which.
func TestMain(m *testing.M) {
	if os.Getenv("MCP_TEST_SERVER") != "" {
		runServer(os.Args[1], os.Args[2:])
		return
	}
	goleak.VerifyTestMain(m)
}

func runServer(kind string, args []string) {
	switch kind {
	case "mute":
		_, _ = bufio.NewReader(os.Stdin).ReadBytes(0)
		return
	case "endless":
		for {
			if _, err := os.Stdout.WriteString(strings.Repeat("x", 1<<16)); err != nil {
				return
			}
		}
	case "dies":
		fmt.Fprintln(os.Stderr, "no database at sk-SECRET99\x1b[2J")
		os.Exit(7)
	case "deaf", "cursor", "toolless":
		rawServer(kind)
		return
	case "chatty":
		fmt.Fprint(os.Stderr, strings.Repeat("a log line that nobody reads\n", 9000))
		fmt.Println("starting...")
		fmt.Println(`{"level":"info"}`)
		fmt.Println("[INFO] ready")
		fmt.Println(strings.Repeat("x", 17<<20))
	}
	_ = newServer(kind, args).Run(context.Background(), &sdk.StdioTransport{})
}

// newServer is a server with all that the tests call.
func newServer(kind string, args []string) *sdk.Server {
	s := sdk.NewServer(&sdk.Implementation{Name: "fake", Version: "1"}, &sdk.ServerOptions{PageSize: 2})
	any := json.RawMessage(`{"type":"object"}`)
	add := func(name string, run func(ctx context.Context, args string) (*sdk.CallToolResult, error)) {
		s.AddTool(&sdk.Tool{Name: name, Description: "does " + name, InputSchema: any}, func(ctx context.Context, r *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
			return run(ctx, string(r.Params.Arguments))
		})
	}
	text := func(s string) *sdk.CallToolResult {
		return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: s}}}
	}
	add("echo", func(_ context.Context, args string) (*sdk.CallToolResult, error) { return text(args), nil })
	add("bad.name/ü", func(context.Context, string) (*sdk.CallToolResult, error) { return text("mapped"), nil })
	add("fail", func(context.Context, string) (*sdk.CallToolResult, error) {
		res := text("it did not work")
		res.IsError = true
		return res, nil
	})
	add("env", func(context.Context, string) (*sdk.CallToolResult, error) {
		return text(strings.Join(os.Environ(), "\n")), nil
	})
	add("slow", func(ctx context.Context, args string) (*sdk.CallToolResult, error) {
		var a struct{ Mark string }
		_ = json.Unmarshal([]byte(args), &a)
		_ = os.WriteFile(a.Mark+".begun", nil, 0o600)
		<-ctx.Done()
		_ = os.WriteFile(a.Mark+".cancelled", nil, 0o600)
		return nil, ctx.Err()
	})
	add("crash", func(context.Context, string) (*sdk.CallToolResult, error) {
		fmt.Fprintln(os.Stderr, "fatal: out of luck")
		os.Exit(3)
		return nil, nil
	})
	add("grow", func(context.Context, string) (*sdk.CallToolResult, error) {
		add("grown", func(context.Context, string) (*sdk.CallToolResult, error) { return text("yes"), nil })
		return text("ok"), nil
	})
	add("child", func(context.Context, string) (*sdk.CallToolResult, error) {
		cmd := exec.Command("sleep", "1000")
		err := cmd.Start()
		return text(fmt.Sprint(cmd.Process.Pid, " ", os.Getpid())), err
	})
	if kind == "once" { // crashes at its first start only
		if _, err := os.Stat(args[0]); err != nil {
			_ = os.WriteFile(args[0], nil, 0o600)
			os.Exit(4)
		}
	}
	return s
}

// rawServer speaks the protocol by hand: "cursor" has a cursor that never
// advances, "deaf" stops reading after the list.
func rawServer(kind string) {
	in := bufio.NewScanner(os.Stdin)
	in.Buffer(nil, 1<<20)
	for in.Scan() {
		var req struct {
			ID     json.RawMessage
			Method string
		}
		_ = json.Unmarshal(in.Bytes(), &req)
		var result string
		switch req.Method {
		case "initialize":
			result = `{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"raw","version":"1"}}`
		case "tools/list":
			result = `{"tools":[{"name":"one","inputSchema":{"$schema":"x","properties":null,"required":null}},{"name":"bad","inputSchema":{"type":"string"}},{"name":""}]`
			if kind == "cursor" {
				result += `,"nextCursor":"a"`
			}
			result += "}"
		default:
			continue
		}
		if kind == "toolless" && req.Method == "tools/list" {
			fmt.Printf(`{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"no tools"}}`+"\n", req.ID)
			continue
		}
		fmt.Printf(`{"jsonrpc":"2.0","id":%s,"result":%s}`+"\n", req.ID, result)
		if kind == "deaf" && req.Method == "tools/list" {
			time.Sleep(time.Hour)
		}
	}
}

// start starts a manager for one server that is this test binary.
func start(t *testing.T, o Options, kind string, args ...string) *Manager {
	t.Helper()
	o.Env = append(os.Environ(), "MCP_TEST_SERVER=1", "TOKEN=sk-SECRET99", "CLM_API_KEY=k")
	o.Secrets = []string{"sk-SECRET99"}
	if o.backoff == 0 {
		o.backoff = time.Millisecond
	}
	m := Start(t.Context(), []Server{{Name: "x", Command: append([]string{os.Args[0], kind}, args...), Timeout: 20 * time.Second}}, o)
	t.Cleanup(m.Close)
	return m
}

// wait waits until the manager's only server is as wanted.
func wait(t *testing.T, m *Manager, what string, is func(State) bool) State {
	t.Helper()
	end := time.After(30 * time.Second)
	for {
		m.mu.Lock()
		changed := m.changed
		m.mu.Unlock()
		st := m.States()[0]
		if is(st) {
			return st
		}
		select {
		case <-changed:
		case <-end:
			t.Fatalf("not %s: %+v", what, st)
		}
	}
}

func ready(st State) bool  { return st.Phase == Ready }
func failed(st State) bool { return st.Phase == Failed }

// call calls a tool by our name for it.
func call(t *testing.T, m *Manager, name, args string) (string, error) {
	t.Helper()
	for _, tl := range m.Tools() {
		if tl.Name == name {
			res, err := tl.Run(t.Context(), toolCall(args))
			return res.Text, err
		}
	}
	return "", errors.New("no tool " + name)
}
