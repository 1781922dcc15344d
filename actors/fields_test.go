package actors_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"clm/actors"
	"clm/actors/msg"
	"clm/llm"
)

// Faults that users of other tools reported in public; each test names the
// reports. Those of one package alone are in its own tests.

// wireMessage is a message as the server gets it.
type wireMessage struct {
	Role       string
	Content    any
	ToolCallID string `json:"tool_call_id"`
	ToolCalls  []struct {
		ID       string
		Function struct{ Name, Arguments string }
	} `json:"tool_calls"`
}

// valid checks what every server asks of a request: each call has its result
// directly behind it, and no message is empty. It returns the messages.
func valid(r *rig, body []byte) []wireMessage {
	r.Helper()
	var q struct{ Messages []wireMessage }
	if err := json.Unmarshal(body, &q); err != nil {
		r.Fatal(err)
	}
	var open []string
	for i, m := range q.Messages {
		text, _ := m.Content.(string)
		if strings.TrimSpace(text) == "" && len(m.ToolCalls) == 0 {
			r.Errorf("message %d, %s, is empty", i, m.Role)
		}
		switch {
		case m.Role == "tool" && len(open) > 0 && open[0] == m.ToolCallID:
			open = open[1:]
		case len(open) > 0 || m.Role == "tool":
			r.Errorf("message %d is %s %s, open are %v:\n%s", i, m.Role, m.ToolCallID, open, body)
			return q.Messages
		}
		for _, c := range m.ToolCalls {
			open = append(open, c.ID)
		}
	}
	if len(open) > 0 {
		r.Errorf("the last calls %v have no result", open)
	}
	return q.Messages
}

// charmbracelet/crush#529, #1206; dirge-code/dirge PR#757; anthropics/claude-code#62396
func TestCancelDuringAToolLeavesAValidConversation(t *testing.T) {
	bubble(t, actors.Options{}, func(r *rig) {
		a, l := r.spawn(actors.AgentOptions{Sequential: true, Tools: r.tools(goTool(func(ctx context.Context, c actors.ToolCall) (actors.ToolOutput, error) {
			if c.ID == "c1" {
				return actors.ToolOutput{Text: ""}, nil
			}
			<-ctx.Done()
			return actors.ToolOutput{}, ctx.Err()
		}))})
		n := r.begin(a, "go")
		if err := a.Cancel(); err != nil { // while the second of three runs
			r.Fatal(err)
		}
		r.end(l, n)
		r.turn(a, l, "go on") // answered by reasoning alone
		r.turn(a, l, "and now?")
		q := r.model.Requests()
		for _, q := range q {
			valid(r, q.Body)
		}
		if got := valid(r, q[1].Body); got[3].Content != "cancelled" || got[4].Content != "cancelled" {
			r.Errorf("%+v", got)
		}
	}, fanOut(3)+"!finish tool_calls\n", "!reasoning hm\n!finish stop\n", ok)
}

// crush PR#3439, PR#3743
func TestResultsFollowTheirCalls(t *testing.T) {
	bubble(t, actors.Options{}, func(r *rig) {
		a, l := r.spawn(actors.AgentOptions{Tools: r.tools(goTool(func(_ context.Context, c actors.ToolCall) (actors.ToolOutput, error) {
			time.Sleep(map[string]time.Duration{"c1": 3, "c2": 1}[c.ID] * time.Second)
			return actors.ToolOutput{Text: c.ID}, nil
		}))})
		n := r.begin(a, "go")
		time.Sleep(2 * time.Second) // c2 has ended, c1 runs
		if _, err := a.Steer("faster"); err != nil {
			r.Fatal(err)
		}
		r.end(l, n)
		m := valid(r, r.model.Requests()[1].Body)
		if len(m) != 5 || m[2].ToolCallID != "c1" || m[3].ToolCallID != "c2" || m[4].Content != "faster" {
			r.Errorf("%+v", m)
		}
	}, fanOut(2)+"!finish tool_calls\n", ok)
}

// crush PR#3881
func TestCrashBetweenCallAndResult(t *testing.T) {
	calls := []llm.ToolCall{{ID: "x1", Name: "t", Args: "{}"}, {ID: "x2", Name: "t", Args: "{}"}}
	history := []llm.Message{
		{Role: llm.RoleUser, Content: "go"},
		{Role: llm.RoleAssistant, ToolCalls: calls},
		{Role: llm.RoleTool, ToolCallID: "x1", ToolName: "t", Content: "done"},
	}
	for _, spawned := range []bool{true, false} {
		bubble(t, actors.Options{}, func(r *rig) {
			o := actors.AgentOptions{Tools: r.tools(goTool(func(context.Context, actors.ToolCall) (actors.ToolOutput, error) {
				r.Error("the call was run again")
				return actors.ToolOutput{}, nil
			}))}
			if spawned {
				o.History = history
			}
			a, l := r.spawn(o)
			if !spawned {
				if err := a.RestoreHistory(history); err != nil {
					r.Fatal(err)
				}
			}
			r.turn(a, l, "what happened?")
			m := valid(r, r.model.Requests()[0].Body)
			if text := fmt.Sprint(m[3].Content); len(m) != 5 || !strings.Contains(text, "interrupted") || !strings.Contains(text, "not known") {
				r.Errorf("%+v", m)
			}
		}, ok)
	}
}

// opencode#17065, #27594; earendil-works/pi#8667; openclaw#4739
func TestCompactionKeepsPairs(t *testing.T) {
	var history []llm.Message
	for i := range 60 {
		history = append(history, llm.Message{Role: llm.RoleUser, Content: fmt.Sprint("question ", i)})
		m := llm.Message{Role: llm.RoleAssistant, Content: strings.Repeat("a", 200)}
		var res []llm.Message
		for j := range 3 {
			id := fmt.Sprintf("h%d.%d", i, j)
			m.ToolCalls = append(m.ToolCalls, llm.ToolCall{ID: id, Name: "t", Args: "{}"})
			res = append(res, llm.Message{Role: llm.RoleTool, ToolCallID: id, ToolName: "t", Content: strings.Repeat("r", 300)})
		}
		history = append(append(history, m), res...)
	}
	bubble(t, actors.Options{}, func(r *rig) {
		a, l := r.spawn(actors.AgentOptions{Model: mock(40_000), History: history, Tools: r.tools(goTool(says(strings.Repeat("r", 10000))))})
		d, events := r.turn(a, l, "go on")
		if d.Status != "done" || phases(events) != "started true, succeeded true" {
			r.Errorf("%+v, %s", d, phases(events))
		}
		q := r.model.Requests()
		m := valid(r, q[len(q)-1].Body)
		if len(m) >= len(history)/2 {
			r.Errorf("%d messages are left", len(m))
		}
	}, fanOut(3)+"!finish tool_calls\n", "!text a short summary\n!finish stop\n", ok)
}

// earendil-works/pi#6284; ahwurm/localharness#77; 2389-research/tracker#507
func TestCallsOfACutAnswerDoNotRun(t *testing.T) {
	bubble(t, actors.Options{}, func(r *rig) {
		a, l := r.spawn(actors.AgentOptions{Tools: r.tools(goTool(func(context.Context, actors.ToolCall) (actors.ToolOutput, error) {
			r.Error("a call of a cut answer was run")
			return actors.ToolOutput{}, nil
		}))})
		d, events := r.turn(a, l, "go")
		if got := results(events)["c1"]; d.Text != "ok" || !strings.Contains(got, "cut by the token limit") {
			r.Errorf("%+v, %q", d, got)
		}
		valid(r, r.model.Requests()[1].Body)
	}, strings.Replace(call, "tool_calls", "length", 1), ok)
}

// vercel/workflow#1387; BerriAI/litellm#40069; vllm PR#39615
func TestCallsAreRunWhateverTheFinishSays(t *testing.T) {
	bubble(t, actors.Options{}, func(r *rig) {
		got := ""
		a, l := r.spawn(actors.AgentOptions{Tools: r.tools(goTool(func(_ context.Context, c actors.ToolCall) (actors.ToolOutput, error) {
			got = c.Args
			return actors.ToolOutput{Text: "x"}, nil
		}))})
		d, _ := r.turn(a, l, "go")
		m := valid(r, r.model.Requests()[1].Body)
		if d.Text != "ok" || got != "{}" || m[1].ToolCalls[0].Function.Arguments != "{}" || m[1].ToolCalls[0].ID == "" {
			r.Errorf("%+v, the tool got %q, the server %+v", d, got, m[1])
		}
	}, `!sse
data: {"choices":[{"delta":{"tool_calls":[{"index":0,"function":{"name":"t","arguments":""}}]}}]}

data: {"choices":[{"delta":{},"finish_reason":"stop"}]}

data: [DONE]

`, ok)
}

// crush#497, #2882, #2368, #3892: what "always" covers
func TestAlwaysCoversOneCommand(t *testing.T) {
	commands := []string{"touch 1", "touch  1", "rm 1", "touch 1; rm 1", "touch 1 > x", "sudo touch 1", "FOO=1 touch 1", "touch 1\nrm 1", "touch `rm 1`"}
	replies := make([]string, len(commands)+1)
	for i, c := range commands {
		args, _ := json.Marshal(map[string]string{"command": c})
		replies[i] = callOf(fmt.Sprint("c", i), "shell_exec", string(args))
	}
	replies[len(commands)] = ok
	dir := t.TempDir()
	r := newRig(t, actors.Options{}, replies...)
	a, l := r.spawn(actors.AgentOptions{Builtins: &actors.Builtins{Dir: dir}, Permissions: actors.Permissions{Ask: true}})
	n, err := a.Submit("go")
	if err != nil {
		t.Fatal(err)
	}
	asked := map[string]bool{}
	if _, err := l.Turn(context.Background(), n, func(e actors.Event) {
		if p, ok := e.Data.(msg.PermissionAsked); ok {
			asked[p.CallID] = true
			answer := msg.DenyOnce
			if p.CallID == "c0" {
				answer = msg.AllowAlways
			}
			if err := a.Permit(p.ID, answer); err != nil {
				t.Error(err)
			}
		}
	}); err != nil {
		t.Fatal(err)
	}
	for i, c := range commands {
		if want := i != 1; asked[fmt.Sprint("c", i)] != want {
			t.Errorf("%q was asked: %v, want %v", c, !want, want)
		}
	}
	if _, err := os.Stat(filepath.Join(dir, "1")); err != nil {
		t.Error(err)
	}
	r.close()
}

// nextlevelbuilder/goclaw#1201; agentic-os-org/ANOLISA#2298
func TestWritingThroughALinkShowsWhere(t *testing.T) {
	dir, out := t.TempDir(), t.TempDir()
	out, _ = filepath.EvalSymlinks(out)
	if err := os.Symlink(filepath.Join(out, "new"), filepath.Join(dir, "notes")); err != nil {
		t.Skip(err)
	}
	r := newRig(t, actors.Options{}, callOf("c1", "write_file", `{"path":"notes","content":"x"}`), callOf("c2", "write_file", `{"path":"notes","content":"y"}`), ok)
	a, l := r.spawn(actors.AgentOptions{Builtins: &actors.Builtins{Dir: dir}, Permissions: actors.Permissions{Ask: true}})
	n, err := a.Submit("go")
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	if _, err := l.Turn(context.Background(), n, func(e actors.Event) {
		switch d := e.Data.(type) {
		case msg.PermissionAsked:
			if !strings.Contains(d.Question, filepath.Join(out, "new")) {
				t.Errorf("the question does not show where the link leads:\n%s", d.Question)
			}
			if d.CallID == "c2" { // the link is swapped between the question and the answer
				_ = os.Remove(filepath.Join(dir, "notes"))
				_ = os.Symlink(filepath.Join(out, "other"), filepath.Join(dir, "notes"))
			}
			if err := a.Permit(d.ID, msg.AllowOnce); err != nil {
				t.Error(err)
			}
		case msg.ToolResult:
			got[d.CallID] = d.Text
		}
	}); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(out, "other")); err == nil || !strings.Contains(got["c2"], "nothing was written") {
		t.Errorf("results %q", got)
	}
	if b, _ := os.ReadFile(filepath.Join(out, "new")); string(b) != "x" {
		t.Errorf("the file holds %q", b)
	}
	r.close()
}

// mark3labs/mcp-go#224; modelcontextprotocol/servers#3051; promptfoo#5960; github/github-mcp-server#2587
func TestSchemasAreNormalised(t *testing.T) {
	bubble(t, actors.Options{}, func(r *rig) {
		var tools actors.GoTools
		for i, s := range []string{"", "{}", `{"type":"object"}`, `{"type":"object","properties":null,"required":null}`, `{"$schema":"x","type":["object","null"]}`} {
			tools = append(tools, actors.Tool{Name: fmt.Sprint("t", i), Schema: json.RawMessage(s), Run: says("x")})
		}
		a, l := r.spawn(actors.AgentOptions{Tools: r.tools(tools)})
		r.turn(a, l, "go")
		var q struct {
			Tools []struct {
				Function struct{ Parameters map[string]any }
			}
		}
		if err := json.Unmarshal(r.model.Requests()[0].Body, &q); err != nil {
			r.Fatal(err)
		}
		for i, tool := range q.Tools {
			p := tool.Function.Parameters
			_, properties := p["properties"].(map[string]any)
			if required, there := p["required"]; p["type"] != "object" || !properties || there && required == nil {
				r.Errorf("t%d: %v", i, p)
			}
		}
		if len(q.Tools) != 5 {
			r.Errorf("%d tools", len(q.Tools))
		}
	}, ok)
}

// mark3labs/mcp-go#779: streams that idle when they are cancelled
func TestManyCancelledStreamsLeaveNothing(t *testing.T) {
	const agents = 300
	bubble(t, actors.Options{}, func(r *rig) {
		var all [agents]*actors.Agent
		var l [agents]*actors.Listener
		for range agents {
			r.model.Replies = append(r.model.Replies, "!text half an\n!hang\n")
		}
		for i := range all {
			all[i], l[i] = r.spawn(actors.AgentOptions{})
			if _, err := all[i].Submit("go"); err != nil {
				r.Fatal(err)
			}
		}
		synctest.Wait()
		if r.model.Active() != agents {
			r.Fatalf("%d streams", r.model.Active())
		}
		for _, a := range all {
			if err := a.Cancel(); err != nil {
				r.Fatal(err)
			}
		}
		for i := range l {
			if d, _ := r.end(l[i], 1); d.Status != "canceled" {
				r.Errorf("%+v", d)
			}
		}
		r.idle()
	})
}

// NousResearch/hermes-agent PR#109234: agents that were refused together
func TestRefusedTogetherDoesNotComeBackTogether(t *testing.T) {
	const agents = 200
	var mu sync.Mutex
	at := map[time.Duration]int{}
	bubble(t, actors.Options{}, func(r *rig) {
		for range agents {
			r.model.Replies = append(r.model.Replies, "!status 429\n!header Retry-After: 10\n{\"error\":{\"message\":\"slow down\"}}")
		}
		for range agents {
			r.model.Replies = append(r.model.Replies, ok)
		}
		start := time.Now()
		var l [agents]*actors.Listener
		for i := range l {
			var a *actors.Agent
			a, l[i] = r.spawn(actors.AgentOptions{})
			if _, err := a.Submit("go"); err != nil {
				r.Fatal(err)
			}
		}
		for i := range l {
			d, events := r.end(l[i], 1)
			if d.Status != "done" {
				r.Errorf("%+v", d)
			}
			mu.Lock()
			at[events[len(events)-1].Time.Sub(start).Round(10*time.Millisecond)]++
			mu.Unlock()
		}
		for when, n := range at {
			if when < 10*time.Second || n > agents/10 {
				r.Errorf("%d came back after %v", n, when)
			}
		}
	})
}

// Relative file: rules mean the folder that the file tools work in.
func TestFileRulesBeginInTheWorkingFolder(t *testing.T) {
	dir := t.TempDir()
	r := newRig(t, actors.Options{}, callOf("c1", "write_file", `{"path":"a/ok","content":"x"}`), callOf("c2", "write_file", `{"path":"a/no/x","content":"x"}`), ok)
	a, l := r.spawn(actors.AgentOptions{
		Builtins: &actors.Builtins{Dir: dir}, Permissions: actors.Permissions{Allow: []string{"file:a/**"}, Deny: []string{"file:a/no/*"}},
	})
	_, events := r.turn(a, l, "go")
	if got := results(events); !strings.HasPrefix(got["c1"], "wrote 1 bytes") || !strings.Contains(got["c2"], "denied by the rule") {
		t.Errorf("results %q", got)
	}
	r.close()
}
