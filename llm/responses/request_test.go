package responses

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"clm/llm"
	"clm/llm/internal/conformance"
)

// conversation has one of everything.
func conversation() []llm.Message {
	from := origin("gpt-x")
	png := llm.Attachment{Name: "a.png", MediaType: "image/png", Data: []byte("png")}
	return []llm.Message{
		{Role: llm.RoleUser, Content: "look at <these>", Attachments: []llm.Attachment{
			png, {Name: "b.pdf", MediaType: "application/pdf", Data: []byte("pdf")},
		}},
		{
			Role: llm.RoleAssistant, Content: "I will.",
			Reasoning: []llm.Reasoning{
				{Origin: from, Text: "Hm.", Raw: json.RawMessage(`{"id":"rs_1","type":"reasoning","summary":[],"encrypted_content":"g+/=","status":null}`)},
				{Origin: "openai-responses/gpt-y", Raw: json.RawMessage(`{"type":"reasoning","encrypted_content":"foreign"}`)},
				{Origin: from, Text: "Without what it could be known by.", Raw: json.RawMessage(`{"id":"rs_2","type":"reasoning","summary":[],"encrypted_content":null}`)},
				{Origin: from, Text: "open", Raw: json.RawMessage(`{"id":"rs_3","type":"reasoning","summary":[],"content":[{"type":"reasoning_text","text":"open"}]}`)},
				{Origin: from, Raw: json.RawMessage(`{"id":"ws_1","type":"web_search_call","status":"completed"}`)},
			},
			ToolCalls: []llm.ToolCall{
				{ID: "call_1", Name: "up", Args: `{"s": "a"}`}, {ID: strings.Repeat("x", 70), Name: "up", Args: `{"cut`},
			},
		},
		{Role: llm.RoleTool, ToolCallID: "call_1", ToolName: "up", Content: "A"},
		{Role: llm.RoleTool, ToolCallID: strings.Repeat("x", 70), ToolName: "up", Content: "see", Attachments: []llm.Attachment{png}},
		{Role: llm.RoleUser, Content: "and hurry"},
		{Role: llm.RoleAssistant, Content: "Done."},
		{Role: llm.RoleUser, Content: "thanks"},
	}
}

func TestRequest(t *testing.T) {
	got := client(t, &conformance.Server{}).encode(&llm.Request{
		Model: "gpt-x", System: "be brief", Messages: llm.NewHistory(conversation()).Request(origin("gpt-x")),
		Tools:  []llm.Tool{{Name: "up", Description: "upcase", Schema: json.RawMessage(`{"properties":{"s":{"type":"string"}},"required":null}`)}},
		Stream: true, DisableParallelToolCalls: true, MaxTokens: 99,
	})
	conformance.Golden(t, "testdata/request.json", bytes.Join(got, nil))
}

// TestRequestsContinue checks that each request begins with all of the one
// before.
func TestRequestsContinue(t *testing.T) {
	c := client(t, &conformance.Server{})
	h := llm.NewHistory([]llm.Message{{Role: llm.RoleUser, Content: "go"}})
	before := ""
	for i := range 6 {
		data := string(bytes.Join(c.encode(&llm.Request{Model: "gpt-x", Tools: []llm.Tool{{Name: "up"}}, Messages: h.Request(origin("gpt-x"))}), nil))
		if !json.Valid([]byte(data)) || !strings.HasPrefix(data, strings.TrimSuffix(before, "]}")) {
			t.Errorf("request %d does not continue the one before:\n%s\n%s", i, data, before)
		}
		before = data
		id := fmt.Sprint("c", i)
		h.Append(
			llm.Message{Role: llm.RoleAssistant, Content: "text", ToolCalls: []llm.ToolCall{{ID: id, Name: "up"}}},
			llm.Message{Role: llm.RoleTool, ToolCallID: id, Content: "r"},
		)
	}
}

// TestServerWithoutEncryption checks that a model without encrypted reasoning
// is asked once more without it, and then no longer for it.
func TestServerWithoutEncryption(t *testing.T) {
	for _, text := range []string{"Encrypted content is not supported with this model.", "Unknown parameter: 'include'.", "body.include.0: extra inputs"} {
		body, err := json.Marshal(map[string]any{"error": map[string]any{"message": text}})
		if err != nil {
			t.Fatal(err)
		}
		s := &conformance.Server{Status: 400, Body: string(body)}
		c := client(t, s)
		for _, model := range []string{"a", "a", "b"} {
			if _, err := c.Complete(t.Context(), &llm.Request{Model: model}, nil); err == nil {
				t.Fatal("a refusal is a success")
			}
		}
		var asked []string
		for _, b := range s.Bodies {
			asked = append(asked, fmt.Sprint(strings.Contains(b, "encrypted_content")))
		}
		if got := strings.Join(asked, " "); got != "true false false true false" {
			t.Errorf("%s: asked %s", text, got)
		}
	}
	s := &conformance.Server{Status: 400, Body: `{"error":{"message":"messages must include one of the user"}}`}
	if _, err := client(t, s).Complete(t.Context(), &llm.Request{Model: "a"}, nil); err == nil || len(s.Bodies) != 1 {
		t.Errorf("another refusal was tried %d times: %v", len(s.Bodies), err)
	}
}

// stream is an answer of n text deltas.
func stream(n int) string {
	var b strings.Builder
	b.WriteString("event: response.output_item.added\ndata: {\"type\":\"response.output_item.added\",\"output_index\":0,\"item\":{\"id\":\"msg_1\",\"type\":\"message\"}}\n\n")
	for range n {
		b.WriteString("event: response.output_text.delta\ndata: {\"type\":\"response.output_text.delta\",\"item_id\":\"msg_1\",\"output_index\":0,\"content_index\":0,\"delta\":\" some words\"}\n\n")
	}
	b.WriteString("event: response.completed\ndata: {\"type\":\"response.completed\",\"response\":{\"status\":\"completed\",\"usage\":{\"input_tokens\":9,\"output_tokens\":400}}}\n\n")
	return b.String()
}

func BenchmarkStream200(b *testing.B) {
	c := client(b, &conformance.Server{Body: stream(200)})
	req := &llm.Request{Model: "gpt-x", Stream: true, Messages: []llm.Message{{Role: llm.RoleUser, Content: "hi"}}}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := c.Complete(b.Context(), req, func(llm.Delta) {}); err != nil {
			b.Fatal(err)
		}
	}
}

func ExampleNew() {
	c, err := New(llm.Connection{URL: "http://gateway/v1"}, &conformance.Server{Body: stream(3)})
	if err != nil {
		fmt.Println(err)
		return
	}
	req := &llm.Request{Model: "gpt-x", Stream: true, Messages: []llm.Message{{Role: llm.RoleUser, Content: "hi"}}}
	resp, err := c.Complete(context.Background(), req, func(d llm.Delta) { fmt.Print(d.Text) })
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("\n%s, %d tokens\n", resp.Finish, resp.Usage.Total())
	// Output:
	//  some words some words some words
	// stop, 409 tokens
}
