package anthropic

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"clm/llm"
	"clm/llm/internal/conformance"
	"clm/llm/internal/wire"
)

var dialect = conformance.Dialect{
	Kind: llm.KindAnthropic, Path: path,
	New:    func(conn llm.Connection, rt http.RoundTripper) (llm.Client, error) { return New(conn, rt) },
	Render: render, Whole: renderWhole,
	Decoder: func(r *wire.Response, emit func(llm.Delta)) wire.Decoder { return newDecoder(r, emit, origin("m")) },
	Ping:    "event: ping\ndata: {\"type\":\"ping\"}\n\n",
	Error: func(msg string) string {
		return fmt.Sprintf("event: error\ndata: {\"type\":\"error\",\"error\":{\"type\":\"api_error\",\"message\":%q}}\n\n", msg)
	},
	MaxCalls: maxBlocks,
}

func TestConformance(t *testing.T) { conformance.Run(t, dialect) }

func TestAnswers(t *testing.T) { conformance.Files(t, dialect) }

func FuzzAnswer(f *testing.F) { conformance.Fuzz(f, dialect) }

var stopReasons = map[llm.Finish]string{
	llm.FinishStop: "end_turn", llm.FinishToolCalls: "tool_use", llm.FinishLength: "max_tokens", llm.FinishFilter: "refusal",
}

// render takes the text as JSON strings without their quotes.
func render(inner []string, a conformance.Answer) string {
	var b strings.Builder
	event := func(kind, format string, args ...any) {
		fmt.Fprintf(&b, "event: %s\ndata: {\"type\":\"%s\"%s}\n\n", kind, kind, fmt.Sprintf(format, args...))
	}
	event("message_start", `,"message":{"id":"m","role":"assistant","model":"m","content":[],"usage":{"input_tokens":%d,"output_tokens":1}}`, a.Usage.Input)
	n := 0
	if len(inner) > 0 {
		event("content_block_start", `,"index":0,"content_block":{"type":"text","text":""}`)
		for _, s := range inner {
			event("content_block_delta", `,"index":0,"delta":{"type":"text_delta","text":"%s"}`, s)
		}
		event("content_block_stop", `,"index":0`)
		n = 1
	}
	for i, c := range a.Calls {
		event("content_block_start", `,"index":%d,"content_block":{"type":"tool_use","id":%s,"name":%s,"input":{}}`, n+i, conformance.Quote(c.ID), conformance.Quote(c.Name))
		for _, s := range c.Args {
			event("content_block_delta", `,"index":%d,"delta":{"type":"input_json_delta","partial_json":%s}`, n+i, conformance.Quote(s))
		}
		event("content_block_stop", `,"index":%d`, n+i)
	}
	event("message_delta", `,"delta":{"stop_reason":%q},"usage":{"output_tokens":%d}`, stopReasons[a.Finish], a.Usage.Output)
	event("message_stop", "")
	return b.String()
}

func renderWhole(a conformance.Answer) string {
	content := []any{}
	if len(a.Text) > 0 {
		content = append(content, map[string]any{"type": "text", "text": strings.Join(a.Text, "")})
	}
	for _, c := range a.Calls {
		args := strings.Join(c.Args, "")
		if args == "" {
			args = "{}"
		}
		content = append(content, map[string]any{"type": "tool_use", "id": c.ID, "name": c.Name, "input": json.RawMessage(args)})
	}
	return conformance.JSON(map[string]any{
		"type": "message", "content": content, "stop_reason": stopReasons[a.Finish],
		"usage": map[string]any{"input_tokens": a.Usage.Input, "output_tokens": a.Usage.Output},
	})
}

func client(t testing.TB, rt http.RoundTripper) *Client {
	t.Helper()
	c, err := New(llm.Connection{Kind: llm.KindAnthropic, URL: "http://h/v1", Key: "key-abcd"}, rt)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestModels(t *testing.T) {
	s := &conformance.Server{Body: `{"data":[{"type":"model","id":"claude-a","display_name":"A","max_input_tokens":200000},{"id":"b"},{"display_name":"nameless"}],"has_more":false}`}
	models, err := client(t, s).Models(t.Context())
	if err != nil || len(models) != 2 || models[0] != (llm.Model{ID: "claude-a", ContextSize: 200000}) || models[1].ID != "b" {
		t.Errorf("models %v, %v", models, err)
	}
	if got := s.Last.URL.String(); got != "http://h/v1/models?limit=1000" {
		t.Errorf("asked %s", got)
	}
	if got := s.Last.Header.Get("X-Api-Key") + s.Last.Header.Get("Anthropic-Version"); got != "key-abcd2023-06-01" {
		t.Errorf("headers %v", s.Last.Header)
	}
	s = &conformance.Server{Body: `{"id":"x/y","max_input_tokens":1000000}`}
	if n, err := client(t, s).ContextSize(t.Context(), "x/y"); n != 1000000 || err != nil || s.Last.URL.EscapedPath() != "/v1/models/x%2Fy" {
		t.Errorf("window %d, %v, asked %s", n, err, s.Last.URL.EscapedPath())
	}
	s = &conformance.Server{Body: `{"id":"x","default_generation_settings":{"n_ctx":4096}}`} // a gateway that knows the model, not its window
	if n, err := client(t, s).ContextSize(t.Context(), "x"); n != 4096 || err != nil || s.Last.URL.Path != "/props" {
		t.Errorf("window %d, %v, asked %s", n, err, s.Last.URL)
	}
	for status, last := range map[int]string{405: "/v1/models", 501: "/v1/models", 401: "/v1/models/x"} {
		s = &conformance.Server{Status: status, Body: `{"error":"no"}`}
		if n, err := client(t, s).ContextSize(t.Context(), "x"); n != 0 || err == nil || s.Last.URL.Path != last {
			t.Errorf("%d: window %d, %v, asked %s last", status, n, err, s.Last.URL)
		}
	}
	s = &conformance.Server{Status: 404, Body: `{"type":"error","error":{"type":"not_found_error","message":"model: x"}}`}
	if n, err := client(t, s).ContextSize(t.Context(), "x"); n != 0 || err == nil || s.Last.URL.Path != "/v1/models" {
		t.Errorf("window of an unknown model: %d, %v, asked %s last", n, err, s.Last.URL)
	}
}

func TestURL(t *testing.T) {
	for base, want := range map[string]string{
		"https://api.anthropic.com":         "https://api.anthropic.com/v1/messages",
		"https://api.anthropic.com/":        "https://api.anthropic.com/v1/messages",
		"https://api.anthropic.com/v1":      "https://api.anthropic.com/v1/messages",
		"http://gateway/anthropic":          "http://gateway/anthropic/messages",
		"http://gateway/v1/messages?beta=1": "http://gateway/v1/messages?beta=1",
	} {
		s := &conformance.Server{Body: renderWhole(conformance.Answer{})}
		c, err := New(llm.Connection{URL: base}, s)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := c.Complete(t.Context(), &llm.Request{Model: "m"}, nil); err != nil || s.Last.URL.String() != want {
			t.Errorf("%s: asked %s, %v", base, s.Last.URL, err)
		}
	}
}
