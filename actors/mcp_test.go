package actors_test

import (
	"context"
	"encoding/json"
	"net/http"
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"clm/actors"
)

// mcpServer is an MCP server over HTTP with a tool that answers, one that
// waits for ever, and what a test adds.
type mcpServer struct {
	*sdk.Server
	http.Handler
	delay atomic.Int64 // before anything is answered
	hangs atomic.Int64
}

func newMCPServer(names ...string) *mcpServer {
	s := &mcpServer{Server: sdk.NewServer(&sdk.Implementation{Name: "fake", Version: "1"}, nil)}
	s.Handler = sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return s.Server }, nil)
	for _, name := range names {
		s.add(name)
	}
	return s
}

func (s *mcpServer) add(name string) {
	s.AddTool(&sdk.Tool{Name: name, InputSchema: json.RawMessage(`{"type":"object"}`)}, func(ctx context.Context, _ *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		if name == "hang" {
			s.hangs.Add(1)
			defer s.hangs.Add(-1)
			<-ctx.Done()
			return nil, ctx.Err()
		}
		return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: name + " answers"}}}, nil
	})
}

func (s *mcpServer) ServeHTTP(w http.ResponseWriter, q *http.Request) {
	select {
	case <-time.After(time.Duration(s.delay.Load())):
	case <-q.Context().Done():
		return
	}
	s.Handler.ServeHTTP(w, q)
}

// startMCP starts a group of the servers s1, s2, …
func (r *rig) startMCP(servers ...*mcpServer) *actors.MCP {
	r.Helper()
	var list []actors.MCPServer
	r.mcp = map[string]http.Handler{}
	for i, s := range servers {
		name := "s" + string(rune('1'+i))
		r.mcp[name] = s
		list = append(list, actors.MCPServer{Name: name, URL: "http://" + name + "/mcp"})
	}
	m, err := r.engine.StartMCP(context.Background(), list, actors.MCPOptions{})
	if err != nil {
		r.Fatal(err)
	}
	return m
}

// offered is the names of the tools in a request.
func offered(r *rig, i int) []string {
	r.Helper()
	var q struct {
		Tools []struct{ Function struct{ Name string } }
	}
	if err := json.Unmarshal(r.model.Requests()[i].Body, &q); err != nil {
		r.Fatal(err)
	}
	var names []string
	for _, t := range q.Tools {
		names = append(names, t.Function.Name)
	}
	return names
}

func TestMCPTools(t *testing.T) {
	bubble(t, actors.Options{}, func(r *rig) {
		s := newMCPServer("one", "two")
		m := r.startMCP(s)
		m.WaitReady(context.Background(), time.Minute)
		if st := m.States(); len(st) != 1 || st[0].Phase != "ready" || st[0].Tools != 2 {
			r.Fatalf("%+v", st)
		}
		a, l := r.spawn(actors.AgentOptions{MCP: m, Tools: r.tools(goTool(says("x"))), Permissions: actors.Permissions{AllowAll: true}})
		_, events := r.turn(a, l, "go")
		if got := results(events)["c1"]; got != "one answers" {
			r.Errorf("result %q", got)
		}
		want := []string{"t", "mcp__s1__one", "mcp__s1__two"}
		if got := offered(r, 0); !slices.Equal(got, want) {
			r.Errorf("offered %v, want %v", got, want)
		}
		s.add("later") // the server says so
		time.Sleep(time.Second)
		r.turn(a, l, "again")
		if got := offered(r, 2); !slices.Contains(got, "mcp__s1__later") || !slices.Equal(got[:1], want[:1]) {
			r.Errorf("after the change %v are offered", got)
		}
		if got := len(a.Tools()); got != 4 {
			r.Errorf("%d tools are listed", got)
		}
	}, "!tool c1 mcp__s1__one {}\n!finish tool_calls\n", ok, ok)
}

// MCP tools are gated as others are.
func TestMCPPermission(t *testing.T) {
	bubble(t, actors.Options{}, func(r *rig) {
		m := r.startMCP(newMCPServer("one"))
		m.WaitReady(context.Background(), time.Minute)
		a, l := r.spawn(actors.AgentOptions{MCP: m})
		_, events := r.turn(a, l, "go")
		if got := results(events)["c1"]; !strings.Contains(got, "--allow 'mcp__s1__one'") {
			r.Errorf("result %q", got)
		}
	}, "!tool c1 mcp__s1__one {}\n!finish tool_calls\n", ok)
}

// A slow server does not keep a turn waiting: it goes on with the tools that
// there are.
func TestSlowMCPServer(t *testing.T) {
	bubble(t, actors.Options{}, func(r *rig) {
		slow := newMCPServer("late")
		slow.delay.Store(int64(20 * time.Second))
		m := r.startMCP(newMCPServer("one"), slow)
		start := time.Now()
		m.WaitReady(context.Background(), 3*time.Second)
		if took := time.Since(start); took != 3*time.Second {
			r.Errorf("waited %v for the servers", took)
		}
		a, l := r.spawn(actors.AgentOptions{MCP: m})
		start = time.Now()
		r.turn(a, l, "go")
		if took := time.Since(start); took > time.Second {
			r.Errorf("the first turn took %v", took)
		}
		time.Sleep(10 * time.Minute)
		slow.delay.Store(0) // so that it sees its client leave
		r.turn(a, l, "later")
		if got := offered(r, 0); !slices.Equal(got, []string{"mcp__s1__one"}) {
			r.Errorf("at first %v", got)
		}
		if got := offered(r, 1); !slices.Equal(got, []string{"mcp__s1__one", "mcp__s2__late"}) {
			r.Errorf("later %v", got)
		}
	}, ok, ok)
}

func TestCancelReachesMCPCalls(t *testing.T) {
	bubble(t, actors.Options{}, func(r *rig) {
		s := newMCPServer("hang")
		m := r.startMCP(s)
		m.WaitReady(context.Background(), time.Minute)
		a, l := r.spawn(actors.AgentOptions{MCP: m, Permissions: actors.Permissions{AllowAll: true}})
		n := r.begin(a, "go")
		if s.hangs.Load() != 1 {
			r.Fatalf("%d calls are with the server", s.hangs.Load())
		}
		if err := a.Cancel(); err != nil {
			r.Fatal(err)
		}
		d, _ := r.end(l, n)
		synctest.Wait()
		if d.Status != "canceled" || s.hangs.Load() != 0 {
			r.Errorf("%+v, %d calls are with the server", d, s.hangs.Load())
		}
		// The connection is as good as before: the next call ends by its deadline.
		_, events := r.turn(a, l, "again")
		if got := results(events)["c2"]; got != "[tool failed: timed out after 30000 ms]" {
			r.Errorf("result %q", got)
		}
	}, "!tool c1 mcp__s1__hang {}\n!finish tool_calls\n", "!tool c2 mcp__s1__hang {}\n!finish tool_calls\n", ok)
}

// A tool whose name is taken is left out; the others of its server stay.
func TestMCPToolWhoseNameIsTaken(t *testing.T) {
	bubble(t, actors.Options{}, func(r *rig) {
		m := r.startMCP(newMCPServer("one", "two"))
		m.WaitReady(context.Background(), time.Minute)
		mine := actors.GoTools{{Name: "mcp__s1__one", NoPrompt: true, Run: says("mine")}}
		a, l := r.spawn(actors.AgentOptions{MCP: m, Tools: r.tools(mine)})
		_, events := r.turn(a, l, "go")
		if got := results(events)["c1"]; got != "mine" || len(offered(r, 0)) != 2 {
			r.Errorf("result %q, offered %v", got, offered(r, 0))
		}
	}, "!tool c1 mcp__s1__one {}\n!finish tool_calls\n", ok)
}

func TestMCPServersOfOneName(t *testing.T) {
	bubble(t, actors.Options{}, func(r *rig) {
		for _, names := range [][2]string{{"a", "a"}, {"a.b", "a_b"}, {"a", ""}} {
			var list []actors.MCPServer
			for _, name := range names {
				list = append(list, actors.MCPServer{Name: name, URL: "http://web/text/x"})
			}
			if _, err := r.engine.StartMCP(context.Background(), list, actors.MCPOptions{}); err == nil || !strings.Contains(err.Error(), "name") {
				r.Errorf("%q: %v", names, err)
			}
		}
		if n := len(r.engine.Tree().Children); n != 0 {
			r.Errorf("%d actors were started", n)
		}
		// What is wrong with one server is told as its state, beside the others.
		m, err := r.engine.StartMCP(context.Background(), []actors.MCPServer{{Name: "neither"}}, actors.MCPOptions{})
		if err != nil {
			r.Fatal(err)
		}
		if st := m.States(); len(st) != 1 || st[0].Phase != "failed" || st[0].Reason == "" {
			r.Errorf("%+v", st)
		}
	})
}

// A server that does not answer is waited for, and tried again, by the
// embedder's clock.
func TestSilentMCPServerByTheEmbeddersClock(t *testing.T) {
	clock := &handClock{now: time.Date(2001, 2, 3, 4, 5, 6, 0, time.UTC)}
	bubble(t, actors.Options{Clock: clock}, func(r *rig) {
		begun := time.Now()
		var asked atomic.Int64
		r.mcp = map[string]http.Handler{"silent": http.HandlerFunc(func(_ http.ResponseWriter, q *http.Request) {
			asked.Add(1)
			<-q.Context().Done()
		})}
		m, err := r.engine.StartMCP(context.Background(), []actors.MCPServer{{Name: "s", URL: "http://silent/mcp"}}, actors.MCPOptions{})
		if err != nil {
			r.Fatal(err)
		}
		var waited atomic.Bool
		go func() {
			m.WaitReady(context.Background(), 30*time.Second)
			waited.Store(true)
		}()
		synctest.Wait()
		if steps := clock.until(1000, waited.Load); steps != 30 {
			r.Errorf("waited %d s for the server, want 30", steps)
		}
		steps := clock.until(1000, func() bool { return m.States()[0].Reason != "" })
		if steps != 90 || !strings.Contains(m.States()[0].Reason, "no answer within 2m0s") {
			r.Errorf("after %d s more: %+v", steps, m.States()[0])
		}
		before := asked.Load()
		if steps := clock.until(1000, func() bool { return asked.Load() > before }); steps > 1 {
			r.Errorf("tried again after %d s", steps)
		}
		if passed := time.Since(begun); passed != 0 {
			r.Errorf("%v of the machine's time passed", passed)
		}
	})
}

// An MCP server's name is no agent's.
func TestMCPServerNamedAsAnAgent(t *testing.T) {
	bubble(t, actors.Options{}, func(r *rig) {
		r.spawn(actors.AgentOptions{ID: "s1"})
		// Ready, so that the fake server sees its client leave.
		r.startMCP(newMCPServer("one")).WaitReady(context.Background(), time.Minute)
		if _, err := r.engine.Spawn(context.Background(), actors.AgentOptions{ID: "s1", Model: mock(1)}); err == nil {
			r.Error("two agents of one id")
		}
	})
}

// stubbornServer is this test's binary as an MCP server that ignores the end of
// its input and SIGTERM.
func stubbornServer() {
	signal.Ignore(syscall.SIGTERM)
	s := newMCPServer("one")
	_ = s.Run(context.Background(), &sdk.StdioTransport{})
	time.Sleep(time.Minute)
}

// The engine's end includes that of its servers' processes.
func TestStubbornMCPServerEndsWithTheEngine(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("no signals to ignore")
	}
	r := newRig(t, actors.Options{})
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("CLM_TEST_SERVER", "stubborn")
	m, err := r.engine.StartMCP(context.Background(), []actors.MCPServer{{Name: "s", Command: []string{self, "stubborn-marker"}}}, actors.MCPOptions{})
	if err != nil {
		t.Fatal(err)
	}
	m.WaitReady(context.Background(), 20*time.Second)
	if st := m.States(); st[0].Phase != "ready" {
		t.Fatalf("%+v", st)
	}
	r.close() // fails if something is left behind
	if out, err := exec.Command("pgrep", "-f", "^"+self+" stubborn-marker").Output(); err == nil {
		t.Errorf("the server is alive: %s", out)
	}
}
