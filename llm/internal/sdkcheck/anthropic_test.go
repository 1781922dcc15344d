package sdkcheck

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"reflect"
	"strings"
	"testing"

	sdk "github.com/anthropics/anthropic-sdk-go"
	"github.com/anthropics/anthropic-sdk-go/option"

	"clm/llm"
	"clm/llm/anthropic"
)

const answer = `event: message_start
data: {"type":"message_start","message":{"id":"msg_1","type":"message","role":"assistant","model":"claude-x","content":[],"stop_reason":null,"usage":{"input_tokens":10,"output_tokens":1}}}

event: content_block_start
data: {"type":"content_block_start","index":0,"content_block":{"type":"thinking","thinking":"","signature":""}}

event: content_block_delta
data: {"type":"content_block_delta","index":0,"delta":{"type":"thinking_delta","thinking":"Let me <see> \"it\"."}}

event: content_block_delta
data: {"type":"content_block_delta","index":0,"delta":{"type":"signature_delta","signature":"EqQBCg+/="}}

event: content_block_stop
data: {"type":"content_block_stop","index":0}

event: content_block_start
data: {"type":"content_block_start","index":1,"content_block":{"type":"redacted_thinking","data":"Emw/K+=="}}

event: content_block_stop
data: {"type":"content_block_stop","index":1}

event: content_block_start
data: {"type":"content_block_start","index":2,"content_block":{"type":"text","text":""}}

event: content_block_delta
data: {"type":"content_block_delta","index":2,"delta":{"type":"text_delta","text":"I look."}}

event: content_block_stop
data: {"type":"content_block_stop","index":2}

event: content_block_start
data: {"type":"content_block_start","index":3,"content_block":{"type":"tool_use","id":"toolu_1","name":"up","input":{}}}

event: content_block_delta
data: {"type":"content_block_delta","index":3,"delta":{"type":"input_json_delta","partial_json":"{\"s\": \"a\", \"n\": 1.50}"}}

event: content_block_stop
data: {"type":"content_block_stop","index":3}

event: content_block_start
data: {"type":"content_block_start","index":4,"content_block":{"type":"tool_use","id":"toolu_2","name":"now","input":{}}}

event: content_block_stop
data: {"type":"content_block_stop","index":4}

event: message_delta
data: {"type":"message_delta","delta":{"stop_reason":"tool_use","stop_sequence":null},"usage":{"output_tokens":9}}

event: message_stop
data: {"type":"message_stop"}

`

// wire answers every request alike and keeps the requests.
type wire struct {
	bodies  []string
	headers []http.Header
	paths   []string
}

func (w *wire) RoundTrip(r *http.Request) (*http.Response, error) {
	b, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	w.bodies = append(w.bodies, string(b))
	w.headers = append(w.headers, r.Header)
	w.paths = append(w.paths, r.URL.Path)
	return &http.Response{
		StatusCode: 200, Header: http.Header{"Content-Type": {"text/event-stream"}},
		Body: io.NopCloser(strings.NewReader(answer)), Request: r,
	}, nil
}

const schema = `{"type":"object","properties":{"s":{"type":"string"}},"required":["s"]}`

// ours makes two requests with a batch of calls between them.
func ours(t *testing.T) *wire {
	t.Helper()
	w := &wire{}
	c, err := anthropic.New(llm.Connection{Kind: llm.KindAnthropic, URL: "http://h/v1", Key: "key-a"}, w)
	if err != nil {
		t.Fatal(err)
	}
	h := llm.NewHistory([]llm.Message{{
		Role: llm.RoleUser, Content: "hi <there> \u2028",
		Attachments: []llm.Attachment{{Name: "a.png", MediaType: "image/png", Data: []byte("png")}},
	}})
	for range 2 {
		resp, err := c.Complete(t.Context(), &llm.Request{
			Model: "claude-x", System: "be brief", MaxTokens: 100, Stream: true, DisableParallelToolCalls: true,
			Messages: h.Request("anthropic/claude-x"),
			Tools:    []llm.Tool{{Name: "now"}, {Name: "up", Description: "upcase", Schema: json.RawMessage(schema)}},
		}, nil)
		if err != nil {
			t.Fatal(err)
		}
		h.Append(
			resp.Message,
			llm.Message{Role: llm.RoleTool, ToolCallID: "toolu_1", Content: "A"},
			llm.Message{Role: llm.RoleTool, ToolCallID: "toolu_2", Content: "broken", Failed: true},
			llm.Message{Role: llm.RoleUser, Content: "hurry"},
		)
	}
	return w
}

// theirs does the same with the SDK.
func theirs(t *testing.T) *wire {
	t.Helper()
	w := &wire{}
	c := sdk.NewClient(option.WithBaseURL("http://h"), option.WithAPIKey("key-a"), option.WithHTTPClient(&http.Client{Transport: w}), option.WithMaxRetries(0))
	params := sdk.MessageNewParams{
		Model: "claude-x", MaxTokens: 100, System: []sdk.TextBlockParam{{Text: "be brief"}},
		ToolChoice: sdk.ToolChoiceUnionParam{OfAuto: &sdk.ToolChoiceAutoParam{DisableParallelToolUse: sdk.Bool(true)}},
		Tools: []sdk.ToolUnionParam{
			{OfTool: &sdk.ToolParam{Name: "now", InputSchema: sdk.ToolInputSchemaParam{Properties: map[string]any{}}}},
			{OfTool: &sdk.ToolParam{Name: "up", Description: sdk.String("upcase"), InputSchema: sdk.ToolInputSchemaParam{
				Properties: map[string]any{"s": map[string]any{"type": "string"}}, Required: []string{"s"},
			}}},
		},
		Messages: []sdk.MessageParam{sdk.NewUserMessage(sdk.NewImageBlockBase64("image/png", "cG5n"), sdk.NewTextBlock("hi <there> \u2028"))},
	}
	for range 2 {
		stream := c.Messages.NewStreaming(t.Context(), params)
		var m sdk.Message
		for stream.Next() {
			if err := m.Accumulate(stream.Current()); err != nil {
				t.Fatal(err)
			}
		}
		if err := stream.Err(); err != nil {
			t.Fatal(err)
		}
		params.Messages = append(params.Messages, m.ToParam(), sdk.NewUserMessage(
			sdk.NewToolResultBlock("toolu_1", "A", false), sdk.NewToolResultBlock("toolu_2", "broken", true), sdk.NewTextBlock("hurry"),
		))
	}
	return w
}

func TestAnthropicRequests(t *testing.T) {
	a, b := ours(t), theirs(t)
	if len(a.bodies) != 2 || len(b.bodies) != 2 {
		t.Fatalf("%d and %d requests", len(a.bodies), len(b.bodies))
	}
	for i := range a.bodies {
		got, want := normal(t, a.bodies[i]), normal(t, b.bodies[i])
		if !reflect.DeepEqual(got, want) {
			t.Errorf("request %d:\nours   %s\ntheirs %s", i, text(t, got), text(t, want))
		}
		if a.paths[i] != b.paths[i] {
			t.Errorf("sent to %s, theirs to %s", a.paths[i], b.paths[i])
		}
		for _, name := range []string{"X-Api-Key", "Anthropic-Version", "Content-Type"} {
			if got, want := a.headers[i].Get(name), b.headers[i].Get(name); got != want {
				t.Errorf("header %s is %q, theirs %q", name, got, want)
			}
		}
	}
}

// normal decodes a request, without the cache marks, which the SDK leaves to
// its user, and with the forms that mean the same made alike: a result's text
// as a string or as a block, and is_error of false.
func normal(t *testing.T, body string) any {
	t.Helper()
	dec := json.NewDecoder(strings.NewReader(body))
	dec.UseNumber()
	var v any
	if err := dec.Decode(&v); err != nil {
		t.Fatalf("%v in %s", err, body)
	}
	return alike(v)
}

func alike(v any) any {
	switch v := v.(type) {
	case []any:
		for i := range v {
			v[i] = alike(v[i])
		}
	case map[string]any:
		delete(v, "cache_control")
		if v["is_error"] == false {
			delete(v, "is_error")
		}
		if s, ok := v["content"].(string); ok {
			v["content"] = []any{map[string]any{"type": "text", "text": s}}
		}
		for k := range v {
			v[k] = alike(v[k])
		}
	}
	return v
}

func text(t *testing.T, v any) string {
	t.Helper()
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		t.Fatal(err)
	}
	return b.String()
}
