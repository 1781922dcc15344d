package llmtest

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// demoAsk gives the demo model a conversation and renders its answer in one
// line: the text, then the calls.
func demoAsk(t *testing.T, tools []string, messages ...object) string {
	t.Helper()
	req := object{"model": "demo", "messages": messages}
	var list []any
	for _, name := range tools {
		list = append(list, object{"type": "function", "function": object{"name": name, "description": "Does " + name + ".\nMore."}})
	}
	if list != nil {
		req["tools"] = list
	}
	body, err := json.Marshal(req)
	if err != nil {
		t.Fatal(err)
	}
	_, got, err := playHandler(t, Demo{}, string(body))
	if err != nil {
		t.Fatal(err)
	}
	var answer struct {
		Choices []struct {
			Message struct {
				Content   string
				ToolCalls []struct {
					ID       string
					Function struct{ Name, Arguments string }
				} `json:"tool_calls"`
			}
			Finish string `json:"finish_reason"`
		}
		Usage struct {
			Total int `json:"total_tokens"`
		}
	}
	if err := json.Unmarshal([]byte(got), &answer); err != nil || len(answer.Choices) != 1 || answer.Usage.Total == 0 {
		t.Fatalf("%v: %s", err, got)
	}
	c := answer.Choices[0]
	out := c.Message.Content
	for _, call := range c.Message.ToolCalls {
		out += fmt.Sprintf("[%s %s(%s)]", call.ID, call.Function.Name, call.Function.Arguments)
	}
	if (c.Finish == "tool_calls") != (len(c.Message.ToolCalls) > 0) {
		t.Errorf("finish %s beside %s", c.Finish, out)
	}
	return out
}

func says(role, text string) object { return object{"role": role, "content": text} }

func TestDemoAnswers(t *testing.T) {
	tools := []string{"hello", "slow_task"}
	for _, tt := range []struct{ prompt, want string }{
		{`hello {"name":"Ada"}`, `[call_1 hello({"name":"Ada"})]`},
		{"hello", "[call_1 hello({})]"},
		{"call hello with {\"name\":\"Ada\"}", `[call_1 hello({"name":"Ada"})]`},
		{"please do these:\nhello {\"name\":\"a b\"}\n  slow_task\nhello", `[call_1 hello({"name":"a b"})][call_2 slow_task({})][call_3 hello({})]`},
		{`hello {"name":`, `I would call hello, but its arguments are not JSON: {"name":`},
		{`nothing {"a":1}`, "I have no tool named nothing. I can call:\n- hello: Does hello.\n- slow_task: Does slow_task."},
		{"tools", "I can call:\n- hello: Does hello.\n- slow_task: Does slow_task."},
		{"(2 + 3) * 4", "20"},
		{"What is 7 / 2?", "3.5"},
		{"1/0", "I cannot work that out: division by zero."},
		{"2-1=", "1"},
		{"count to 3", "1 2 3"},
		{"the 3-4 things", "You said: the 3-4 things"},
		{"", "Say something, or help."},
		{"Hi!", "Hello! Say help to see what I can do."},
		{"Tell me more.", "You said: Tell me more."},
		{strings.Repeat("(", 500) + "1+1", "I cannot work that out: too many parentheses."},
	} {
		if got := demoAsk(t, tools, says("system", "be brief"), says("user", tt.prompt)); got != tt.want {
			t.Errorf("%.60s\ngot  %s\nwant %s", tt.prompt, got, tt.want)
		}
	}
	if got := demoAsk(t, nil, says("user", "hello")); !strings.HasPrefix(got, "Hello!") {
		t.Errorf("hello without a tool: %s", got)
	}
	if got := demoAsk(t, nil, says("user", "help")); got != demoHelp {
		t.Errorf("help: %s", got)
	}
}

func TestDemoReportsResults(t *testing.T) {
	call := func(id, name string) object {
		return object{"id": id, "type": "function", "function": object{"name": name, "arguments": "{}"}}
	}
	conversation := []object{
		says("user", "hello\nnow"),
		{"role": "assistant", "content": nil, "tool_calls": []any{call("c1", "hello"), call("c2", "now")}},
		{"role": "tool", "tool_call_id": "c1", "content": "Hello, Ada"},
		{"role": "tool", "tool_call_id": "c2", "content": "noon"},
	}
	if got, want := demoAsk(t, []string{"hello"}, conversation...), "hello says: Hello, Ada\nnow says: noon"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	steered := append(conversation, says("user", "hello"))
	if got, want := demoAsk(t, []string{"hello"}, steered...), "hello says: Hello, Ada\nnow says: noon[call_1 hello({})]"; got != want {
		t.Errorf("steered: got %q, want %q", got, want)
	}
	image := object{"role": "user", "content": []any{object{"type": "text", "text": "see"}, object{"type": "image_url"}}}
	if got, want := demoAsk(t, nil, image), "I got 1 attached file(s), but I cannot see. You said: see"; got != want {
		t.Errorf("image: got %q, want %q", got, want)
	}
}

// A tool's long result is repeated in a moment.
func TestDemoPacesTheBeginning(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		rt := NewTransport(Demo{Pace: 10 * time.Millisecond})
		defer rt.Wait()
		for words, want := range map[int]time.Duration{10: 100 * time.Millisecond, 30_000: time.Second} {
			start := time.Now()
			body, _ := json.Marshal(object{"stream": true, "messages": []any{object{"role": "tool", "content": strings.Repeat("x ", words-2)}}})
			resp, err := post(t.Context(), rt, "http://demo/v1/chat/completions", string(body))
			if err != nil {
				t.Fatal(err)
			}
			b, err := io.ReadAll(resp.Body)
			_ = resp.Body.Close()
			if n := strings.Count(string(b), `"content"`); err != nil || n < words {
				t.Errorf("%d words of %d, %v", n, words, err)
			}
			if took := time.Since(start); took < want || took > want+100*time.Millisecond {
				t.Errorf("%d words took %v, want about %v", words, took, want)
			}
		}
	})
}

func TestDemoIsSlowOnDemand(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		rt := NewTransport(Demo{})
		ctx, cancel := context.WithTimeout(t.Context(), 1050*time.Millisecond)
		defer cancel()
		resp, err := post(ctx, rt, "http://demo/v1/chat/completions", `{"stream":true,"messages":[{"role":"user","content":"count to 1000"}]}`)
		if err != nil {
			t.Fatal(err)
		}
		b := make([]byte, 1<<20)
		n := 0
		for err == nil {
			var k int
			k, err = resp.Body.Read(b[n:])
			n += k
		}
		_ = resp.Body.Close()
		rt.Wait()
		if got := strings.Count(string(b[:n]), `"content"`); got != 10 {
			t.Errorf("%d words in 1.05 s, want 10", got)
		}
	})
}

func TestDemoTakesNoNonsense(t *testing.T) {
	resp, got, err := playHandler(t, Demo{}, `{"messages":`)
	if err != nil || resp.StatusCode != http.StatusBadRequest || !strings.Contains(got, "not JSON") {
		t.Errorf("%q, %v", got, err)
	}
}

func FuzzDemo(f *testing.F) {
	f.Add(`{"messages":[{"role":"tool","content":[{"type":"text"}]},{"role":"user","content":"hello {"}],"stream":true}`)
	f.Add(`{"messages":[{"role":"user","content":"((1+2)*-3"}],"tools":[{"function":{"name":"a"}}]}`)
	f.Fuzz(func(t *testing.T, body string) {
		if strings.Contains(strings.ToLower(body), "count") {
			return // takes its time
		}
		if _, _, err := playHandler(t, Demo{}, body); err != nil {
			t.Error(err)
		}
	})
}
