package openai

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"clm/llm"
	"clm/llm/llmtest"
)

// sent encodes a request and returns it as indented JSON, for comparison.
func sent(t *testing.T, conn llm.Connection, req *llm.Request) string {
	t.Helper()
	c, err := New(conn, http.DefaultTransport)
	if err != nil {
		t.Fatal(err)
	}
	return normal(t, bytes.Join(c.encode(req), nil))
}

func normal(t *testing.T, b []byte) string {
	t.Helper()
	var v any
	if err := json.Unmarshal(b, &v); err != nil {
		t.Fatalf("%v: %s", err, b)
	}
	out, err := json.MarshalIndent(v, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}

func TestRequest(t *testing.T) {
	conn := llm.Connection{Kind: llm.KindOpenAI, URL: "http://h/v1"}
	user := llm.Message{Role: llm.RoleUser, Content: "hi \"you\""}
	call := llm.Message{Role: llm.RoleAssistant, ToolCalls: []llm.ToolCall{{ID: "c1", Name: "now", Args: ""}, {ID: "c2", Name: "add", Args: `{"x":1}`}}}
	image := []llm.Attachment{{MediaType: "image/png", Data: []byte("abc")}}
	for _, tt := range []struct {
		name string
		req  llm.Request
		want string
	}{
		{
			"least",
			llm.Request{Model: "m", Messages: []llm.Message{user}},
			`{"model":"m","messages":[{"role":"user","content":"hi \"you\""}],"stream":false}`,
		},
		{
			"stream, tools, limits",
			llm.Request{
				Model: "a/b:c", System: "s", Messages: []llm.Message{user}, Stream: true, MaxTokens: 7, DisableParallelToolCalls: true,
				Tools: []llm.Tool{{Name: "now", Description: "tells", Schema: json.RawMessage(`{"required":null}`)}, {Name: "b", Schema: nil}},
			},
			`{"model":"a/b:c","messages":[{"role":"system","content":"s"},{"role":"user","content":"hi \"you\""}],
			"tools":[{"type":"function","function":{"name":"now","description":"tells","parameters":{"type":"object","properties":{}}}},
			{"type":"function","function":{"name":"b","description":"","parameters":{"type":"object","properties":{}}}}],
			"parallel_tool_calls":false,"max_tokens":7,"stream":true,"stream_options":{"include_usage":true}}`,
		},
		{
			"parallel calls are nobody's business without tools",
			llm.Request{Model: "m", Messages: []llm.Message{user}, DisableParallelToolCalls: true},
			`{"model":"m","messages":[{"role":"user","content":"hi \"you\""}],"stream":false}`,
		},
		{
			"calls and results, images after the group",
			llm.Request{Model: "m", Messages: []llm.Message{
				user, call,
				{Role: llm.RoleTool, ToolCallID: "c1", ToolName: "now", Content: "noon", Attachments: image},
				{Role: llm.RoleTool, ToolCallID: "c2", ToolName: "add", Content: ""},
				{Role: llm.RoleAssistant, Content: "ok"},
			}},
			`{"model":"m","messages":[{"role":"user","content":"hi \"you\""},
			{"role":"assistant","content":null,"tool_calls":[{"id":"c1","type":"function","function":{"name":"now","arguments":"{}"}},{"id":"c2","type":"function","function":{"name":"add","arguments":"{\"x\":1}"}}]},
			{"role":"tool","tool_call_id":"c1","content":"noon"},{"role":"tool","tool_call_id":"c2","content":""},
			{"role":"user","content":[{"type":"text","text":"Attached to the result of now (c1):"},{"type":"image_url","image_url":{"url":"data:image/png;base64,YWJj"}}]},
			{"role":"assistant","content":"ok"}],"stream":false}`,
		},
		{
			"images last",
			llm.Request{Model: "m", Messages: []llm.Message{call, {Role: llm.RoleTool, ToolCallID: "c1", ToolName: "now", Content: "x", Attachments: image}}},
			`{"model":"m","messages":[{"role":"assistant","content":null,"tool_calls":[{"id":"c1","type":"function","function":{"name":"now","arguments":"{}"}},{"id":"c2","type":"function","function":{"name":"add","arguments":"{\"x\":1}"}}]},
			{"role":"tool","tool_call_id":"c1","content":"x"},
			{"role":"user","content":[{"type":"text","text":"Attached to the result of now (c1):"},{"type":"image_url","image_url":{"url":"data:image/png;base64,YWJj"}}]}],"stream":false}`,
		},
		{
			"files",
			llm.Request{Model: "m", Messages: []llm.Message{{Role: llm.RoleUser, Attachments: []llm.Attachment{{Name: "a\".pdf", MediaType: "application/pdf", Data: []byte("abc")}, {Data: []byte("abc")}}}}},
			`{"model":"m","messages":[{"role":"user","content":[{"type":"file","file":{"filename":"a\".pdf","file_data":"data:application/pdf;base64,YWJj"}},{"type":"file","file":{"filename":"file","file_data":"data:application/octet-stream;base64,YWJj"}}]}],"stream":false}`,
		},
		{
			"nothing said, and arguments that are none",
			llm.Request{Model: "m", Messages: []llm.Message{{Role: llm.RoleAssistant}, {Role: llm.RoleAssistant, Content: "t", ToolCalls: []llm.ToolCall{{ID: "c", Name: "n", Args: `{"a":`}, {ID: "d", Name: "n", Args: `[1]`}}}}},
			`{"model":"m","messages":[{"role":"assistant","content":""},{"role":"assistant","content":"t","tool_calls":[{"id":"c","type":"function","function":{"name":"n","arguments":"{\"invalid_arguments\":\"{\\\"a\\\":\"}"}},{"id":"d","type":"function","function":{"name":"n","arguments":"{\"invalid_arguments\":\"[1]\"}"}}]}],"stream":false}`,
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got, want := sent(t, conn, &tt.req), normal(t, []byte(tt.want)); got != want {
				t.Errorf("got\n%s\nwant\n%s", got, want)
			}
		})
	}
	openAI := llm.Connection{Kind: llm.KindOpenAI, URL: "https://api.openai.com/v1"}
	if got := sent(t, openAI, &llm.Request{Model: "m", MaxTokens: 5}); !strings.Contains(got, `"max_completion_tokens": 5`) || strings.Contains(got, `"max_tokens"`) {
		t.Errorf("the limit for OpenAI: %s", got)
	}
}

// TestReasoningGoesBack has the model refuse a conversation that lacks the
// reasoning of its call.
func TestReasoningGoesBack(t *testing.T) {
	for name, chunk := range map[string]string{
		"reasoning_content": "!reasoning think hard\n!tool c1 add {}\n!finish tool_calls\n",
		"reasoning":         "data: {\"choices\":[{\"delta\":{\"reasoning\":\"think hard\",\"tool_calls\":[{\"id\":\"c1\",\"function\":{\"name\":\"add\"}}]},\"finish_reason\":\"stop\"}]}\n\n",
		"reasoning_details": "data: {\"choices\":[{\"delta\":{\"reasoning_details\":[{\"type\":\"reasoning.text\",\"text\":\"think hard\",\"x\":{\"y\":[1,2]}}],\"tool_calls\":[{\"id\":\"c1\",\"function\":{\"name\":\"add\"}}]},\"finish_reason\":\"stop\"}]}\n\n",
	} {
		model := &llmtest.Model{Reply: func(r *llmtest.Request) string {
			if r.N == 1 {
				return chunk
			}
			if msgs, _ := r.JSON()["messages"].([]any); len(msgs) > 1 {
				if _, ok := msgs[1].(map[string]any)[name]; ok && strings.Contains(string(r.Body), "think hard") {
					return llmtest.DefaultReply
				}
			}
			return "!status 400\n{\"error\":\"the reasoning is missing\"}\n"
		}}
		c, err := New(llm.Connection{Kind: llm.KindOpenAI, URL: "http://h/v1"}, llmtest.NewTransport(model))
		if err != nil {
			t.Fatal(err)
		}
		h := llm.NewHistory([]llm.Message{{Role: llm.RoleUser, Content: "hi"}})
		ask := func(m string) (*llm.Response, error) {
			return c.Complete(t.Context(), &llm.Request{Model: m, Stream: true, Messages: h.Request("openai/" + m)}, nil)
		}
		resp, err := ask("m")
		if err != nil {
			t.Fatal(err)
		}
		h.Append(resp.Message, llm.Message{Role: llm.RoleTool, ToolCallID: "c1", Content: "3"})
		if _, err := ask("m"); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if _, err := ask("other"); err == nil {
			t.Errorf("%s: went to another model", name)
		}
	}
}

// TestReasoningStaysOutOfPlainAnswers: some servers refuse it there.
func TestReasoningStaysOutOfPlainAnswers(t *testing.T) {
	m := llm.Message{Role: llm.RoleAssistant, Content: "a", Reasoning: []llm.Reasoning{{Origin: "openai/m", Text: "t", Raw: json.RawMessage(`{"reasoning_content":"t"}`)}}}
	if got := sent(t, llm.Connection{Kind: llm.KindOpenAI, URL: "h"}, &llm.Request{Model: "m", Messages: []llm.Message{m}}); strings.Contains(got, "reasoning") {
		t.Error(got)
	}
}

func TestAdapts(t *testing.T) {
	for _, tt := range []struct{ refuses, says string }{
		{"stream_options", "Unrecognized request argument supplied: stream_options"},
		{"parallel_tool_calls", "parallel_tool_calls is not supported"},
		{"max_tokens", "Unsupported parameter: 'max_tokens'. Use 'max_completion_tokens' instead."},
	} {
		model := &llmtest.Model{Reply: func(r *llmtest.Request) string {
			if _, ok := r.JSON()[tt.refuses]; ok {
				return "!status 400\n{\"error\":{\"message\":\"" + tt.says + "\"}}\n"
			}
			return llmtest.DefaultReply
		}}
		c, err := New(llm.Connection{URL: "http://h"}, llmtest.NewTransport(model))
		if err != nil {
			t.Fatal(err)
		}
		req := &llm.Request{Model: "m", Stream: true, MaxTokens: 5, DisableParallelToolCalls: true, Tools: []llm.Tool{{Name: "a"}}}
		for range 2 {
			if _, err := c.Complete(t.Context(), req, nil); err != nil {
				t.Errorf("%s: %v", tt.refuses, err)
			}
		}
		if n := len(model.Requests()); n != 3 {
			t.Errorf("%s: %d requests, want 3", tt.refuses, n)
		}
	}
	// One thing after the other.
	picky := &llmtest.Model{Reply: func(r *llmtest.Request) string {
		for _, name := range []string{"stream_options", "parallel_tool_calls"} {
			if _, ok := r.JSON()[name]; ok {
				return "!status 422\n{\"error\":\"" + name + " is not known\"}\n"
			}
		}
		return llmtest.DefaultReply
	}}
	p, err := New(llm.Connection{URL: "http://h"}, llmtest.NewTransport(picky))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := p.Complete(t.Context(), &llm.Request{Model: "m", Stream: true, DisableParallelToolCalls: true, Tools: []llm.Tool{{Name: "a"}}}, nil); err != nil || len(picky.Requests()) != 3 {
		t.Errorf("%v after %d requests", err, len(picky.Requests()))
	}
	model := &llmtest.Model{Reply: func(*llmtest.Request) string { return "!status 400\n{\"error\":\"no stream_options, ever\"}\n" }}
	c, err := New(llm.Connection{URL: "http://h"}, llmtest.NewTransport(model))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Complete(t.Context(), &llm.Request{Stream: true}, nil); err == nil || len(model.Requests()) != 2 {
		t.Errorf("a server that always refuses: %v after %d requests", err, len(model.Requests()))
	}
}

// TestAdaptsToEachModel holds that what one model of a gateway refuses another
// gets, and that each costs its lessons once.
func TestAdaptsToEachModel(t *testing.T) {
	refused := map[string]map[string]string{
		"new": {"max_tokens": "Unsupported parameter: 'max_tokens'. Use 'max_completion_tokens' instead."},
		"old": {
			"max_completion_tokens": "body.max_completion_tokens: Extra inputs are not permitted",
			"stream_options":        "Unrecognized request argument supplied: stream_options",
			"parallel_tool_calls":   "parallel_tool_calls is not supported",
		},
	}
	for base, lessons := range map[string]int{"http://h": 1 + 2, "https://api.openai.com/v1": 0 + 3} {
		model := &llmtest.Model{Reply: func(r *llmtest.Request) string {
			body := r.JSON()
			for name, says := range refused[body["model"].(string)] {
				if _, ok := body[name]; ok {
					return "!status 400\n{\"error\":{\"message\":\"" + says + "\"}}\n"
				}
			}
			return llmtest.DefaultReply
		}}
		c, err := New(llm.Connection{URL: base}, llmtest.NewTransport(model))
		if err != nil {
			t.Fatal(err)
		}
		for range 3 {
			for _, name := range []string{"new", "old"} {
				req := &llm.Request{Model: name, Stream: true, MaxTokens: 5, DisableParallelToolCalls: true, Tools: []llm.Tool{{Name: "a"}}}
				if _, err := c.Complete(t.Context(), req, nil); err != nil {
					t.Errorf("%s, %s: %v", base, name, err)
				}
			}
		}
		all := model.Requests()
		if len(all) != 6+lessons {
			t.Errorf("%s: %d requests, want %d", base, len(all), 6+lessons)
		}
		body := all[len(all)-2].JSON()
		for name, want := range map[string]bool{"max_completion_tokens": true, "stream_options": true, "parallel_tool_calls": true} {
			if _, has := body[name]; has != want {
				t.Errorf("%s: the new model is sent %s: %v", base, name, has)
			}
		}
	}
}

func TestContextSize(t *testing.T) {
	for _, tt := range []struct {
		name, models, props string
		want                int64
		gets                string
	}{
		{"llama.cpp", `{"data":[{"id":"m","meta":{"n_ctx_train":131072}}]}`, `{"default_generation_settings":{"n_ctx":4096},"n_ctx":16384}`, 4096, "/props"},
		{"older llama.cpp", "", `{"n_ctx":16384.0}`, 16384, "/props"},
		{"props without it", `{"data":[{"id":"m","meta":{"n_ctx_train":131072}}]}`, `{"default_generation_settings":null}`, 131072, "/props /v1/models"},
		{"vLLM", `{"data":[{"id":"x","max_model_len":1},{"id":"m","max_model_len":32768}]}`, "", 32768, "/props /v1/models"},
		{"OpenRouter", `{"data":[{"id":"m","context_length":200000,"max_model_len":null}]}`, "", 200000, "/props /v1/models"},
		{"one model under another name", `{"data":[{"id":"x.gguf","context_length":"8192"}]}`, "", 8192, "/props /v1/models"},
		{"unknown", `{"data":[{"id":"x"},{"id":"y"}]}`, "", 0, "/props /v1/models"},
		{"a bare list", `[{"id":"m","context_window":5}]`, "", 5, "/props /v1/models"},
		{"models", `{"models":[{"name":"m","meta":null,"context_length":6}]}`, "", 6, "/props /v1/models"},
	} {
		model := &llmtest.Model{Models: tt.models, Props: tt.props}
		c, err := New(llm.Connection{Kind: llm.KindOpenAI, URL: "http://h/v1/"}, llmtest.NewTransport(model))
		if err != nil {
			t.Fatal(err)
		}
		got, err := c.ContextSize(t.Context(), "m")
		if err != nil || got != tt.want {
			t.Errorf("%s: %d, %v, want %d", tt.name, got, err, tt.want)
		}
		if gets := strings.Join(model.Gets(), " "); gets != tt.gets {
			t.Errorf("%s: asked %s", tt.name, gets)
		}
	}
	for _, bad := range []string{`{"error":"no models here"}`, `{"data":7}`, `x`} {
		c, err := New(llm.Connection{URL: "http://h"}, llmtest.NewTransport(&llmtest.Model{Models: bad}))
		if err != nil {
			t.Fatal(err)
		}
		var e *llm.Error
		if n, err := c.ContextSize(t.Context(), "m"); n != 0 || !errors.As(err, &e) {
			t.Errorf("%s: %d, %v", bad, n, err)
		}
	}
}

func TestOllamaIsFoundWithoutAPath(t *testing.T) {
	var paths []string
	rt := llmtest.NewTransport(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		paths = append(paths, r.URL.Path)
		if r.URL.Path == "/api/ps" {
			_, _ = io.WriteString(w, `{"models":[{"name":"m:latest","context_length":4096}]}`)
			return
		}
		w.WriteHeader(http.StatusBadRequest)
		_, _ = io.WriteString(w, `{"error":"registry.ollama.ai/library/m:latest does not support tools"}`)
	}))
	for _, base := range []string{"http://h:11434", "h:11434/", "http://h:11434/v1"} {
		c, err := New(llm.Connection{Kind: llm.KindOllama, URL: base}, rt)
		if err != nil {
			t.Fatal(err)
		}
		if n, err := c.ContextSize(t.Context(), "m"); n != 4096 || err != nil {
			t.Errorf("%s: %d, %v", base, n, err)
		}
		var e *llm.Error
		if _, err := c.Complete(t.Context(), &llm.Request{Model: "m"}, nil); !errors.As(err, &e) || e.Kind != llm.ErrNoTools {
			t.Errorf("%s: %v", base, err)
		}
	}
	for i, p := range paths {
		if want := []string{"/api/ps", "/v1/chat/completions"}[i%2]; p != want {
			t.Errorf("asked %s, want %s", p, want)
		}
	}
}

// TestDials holds that requests share connections: 200 at once need 200. On a
// machine that is busy with other things there are more, as the transport gives
// a connection up whose write it did not see end within 50 ms of the answer,
// and all dial while one is missing; a multiple of them is what must not be.
func TestDials(t *testing.T) {
	const parallel = 200
	if n := dials(t, 1000, parallel); n > 2*parallel {
		t.Errorf("%d dials for %d requests at once are too many", n, parallel)
	}
}

// BenchmarkDials reports the dials of 4,000 requests, 200 of them at once.
func BenchmarkDials(b *testing.B) {
	for b.Loop() {
		b.ReportMetric(float64(dials(b, 4000, 200)), "dials")
	}
}

func dials(t testing.TB, requests int64, parallel int) int {
	var first sync.WaitGroup
	first.Add(parallel)
	model := &llmtest.Model{Forget: true, Reply: func(r *llmtest.Request) string {
		if r.N <= parallel {
			first.Done()
			first.Wait()
		}
		return "!sleep 5\n!text a b c\n!finish stop\n"
	}}
	server, err := llmtest.ListenTCP(model)
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	rt := server.Attach(llm.NewTransport())
	defer rt.CloseIdleConnections()
	c, err := New(llm.Connection{URL: server.URL}, rt)
	if err != nil {
		t.Fatal(err)
	}
	var next atomic.Int64
	var all sync.WaitGroup
	for range parallel {
		all.Go(func() {
			for next.Add(1) <= requests {
				if _, err := c.Complete(t.Context(), &llm.Request{Model: "m", Stream: true}, nil); err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
	return int(server.Dials())
}
