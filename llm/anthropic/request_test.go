package anthropic

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"clm/llm"
	"clm/llm/internal/conformance"
	"clm/llm/llmtest"
)

// conversation has one of everything.
func conversation() []llm.Message {
	from := origin("claude-x")
	png := llm.Attachment{Name: "a.png", MediaType: "image/png", Data: []byte("png")}
	return []llm.Message{
		{Role: llm.RoleUser, Content: "look at <these>", Attachments: []llm.Attachment{
			png,
			{Name: "b.pdf", MediaType: "application/pdf", Data: []byte("pdf")},
			{Name: "c.md", MediaType: "text/markdown; charset=utf-8", Data: []byte("# c")},
			{Name: "d.zip", MediaType: "application/zip"},
		}},
		{
			Role: llm.RoleAssistant, Content: "I will.",
			Reasoning: []llm.Reasoning{
				{Origin: from, Text: "Hm.", Raw: json.RawMessage(`{"type":"thinking","thinking":"Hm.","signature":"s/+"}`)},
				{Origin: "anthropic/claude-y", Text: "foreign", Raw: json.RawMessage(`{"type":"thinking"}`)},
				{Origin: from, Text: "without its block"},
			},
			ToolCalls: []llm.ToolCall{
				{ID: "toolu_1", Name: "up", Args: `{"s": "a", "n": 12345678901234567890}`},
				{ID: "functions.up:0", Name: "up", Args: ``},
				{ID: "functions.up_0", Name: "up", Args: `{"cut`},
			},
		},
		{Role: llm.RoleTool, ToolCallID: "toolu_1", ToolName: "up", Content: "A"},
		{Role: llm.RoleTool, ToolCallID: "functions.up:0", ToolName: "up", Content: "bad", Failed: true},
		{Role: llm.RoleTool, ToolCallID: "functions.up_0", ToolName: "up", Attachments: []llm.Attachment{png}},
		{Role: llm.RoleUser, Content: "and hurry"},
		{Role: llm.RoleAssistant, Content: "Done."},
		{Role: llm.RoleUser, Content: "thanks"},
	}
}

func TestRequest(t *testing.T) {
	c := client(t, &conformance.Server{})
	got := c.encode(&llm.Request{
		Model: "claude-x", System: "be brief", Messages: llm.NewHistory(conversation()).Request(origin("claude-x")),
		Tools:  []llm.Tool{{Name: "now", Schema: nil}, {Name: "up", Description: "upcase", Schema: json.RawMessage(`{"properties":{"s":{"type":"string"}},"required":null}`)}},
		Stream: true, DisableParallelToolCalls: true, MaxTokens: 99,
	})
	conformance.Golden(t, "testdata/request.json", bytes.Join(got, nil))
}

func TestRequestOfOddConversations(t *testing.T) {
	tests := []struct {
		name string
		msgs []llm.Message
		want string // the roles, with the number of blocks
	}{
		{"nothing", nil, ""},
		{"begins with an answer", []llm.Message{{Role: llm.RoleAssistant, Content: "a"}, {Role: llm.RoleUser, Content: "b"}}, "user1 assistant1 user1"},
		{
			"neighbours", []llm.Message{
				{Role: llm.RoleUser, Content: "a"},
				{Role: llm.RoleUser, Content: "b"},
				{Role: llm.RoleAssistant, Content: "c"},
				{Role: llm.RoleAssistant, Content: "d"},
				{Role: llm.RoleUser, Content: "e"},
			}, "user2 assistant2 user1",
		},
		{"a failure without a word", []llm.Message{{Role: llm.RoleTool, ToolCallID: "a", Failed: true}}, "user1"},
		{"blank text", []llm.Message{{Role: llm.RoleUser, Content: "a"}, {Role: llm.RoleAssistant, Content: " \n"}, {Role: llm.RoleUser, Content: "e"}}, "user2"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var body struct {
				System   any
				Messages []struct {
					Role    string
					Content []map[string]any
				}
			}
			data := bytes.Join(client(t, &conformance.Server{}).encode(&llm.Request{Model: "m", System: " ", Messages: tt.msgs}), nil)
			if err := json.Unmarshal(data, &body); err != nil {
				t.Fatalf("%v in %s", err, data)
			}
			var got []string
			for _, m := range body.Messages {
				got = append(got, fmt.Sprint(m.Role, len(m.Content)))
			}
			if strings.Join(got, " ") != tt.want || body.System != nil {
				t.Errorf("messages %v, want %s; system %v", got, tt.want, body.System)
			}
		})
	}
}

// TestRequestsContinue checks what the server's cache needs: without the
// marks, each request begins with all of the one before, and the place where
// that one ended is marked again.
func TestRequestsContinue(t *testing.T) {
	c := client(t, &conformance.Server{})
	tools := []llm.Tool{{Name: "up"}}
	h := llm.NewHistory([]llm.Message{{Role: llm.RoleUser, Content: "go"}})
	before := ""
	for i := range 6 {
		id := fmt.Sprint("c", i)
		data := string(bytes.Join(c.encode(&llm.Request{Model: "claude-x", System: "s", Tools: tools, Messages: h.Request(origin("claude-x"))}), nil))
		if n := strings.Count(data, cacheMark); n != min(3+min(i, 1), 4) {
			t.Errorf("request %d has %d marks:\n%s", i, n, data)
		}
		end := strings.TrimSuffix(before, "]}]}")
		if plain := unmarked(data); !strings.HasPrefix(plain, unmarked(end)) {
			t.Errorf("request %d does not continue the one before:\n%s\n%s", i, plain, before)
		}
		last := strings.LastIndex(data[:strings.LastIndex(data, cacheMark)], cacheMark)
		if i > 0 && unmarked(data[:last+len(cacheMark)])+"}" != unmarked(end) {
			t.Errorf("request %d is not marked where the one before ended", i)
		}
		before = data
		h.Append(
			llm.Message{Role: llm.RoleAssistant, Content: "text", ToolCalls: []llm.ToolCall{{ID: id, Name: "up"}, {ID: id + "b", Name: "up"}}},
			llm.Message{Role: llm.RoleTool, ToolCallID: id, Content: "r"}, llm.Message{Role: llm.RoleTool, ToolCallID: id + "b", Content: "r"},
		)
	}
}

func unmarked(s string) string { return strings.ReplaceAll(s, cacheMark, "") }

func TestMaxTokens(t *testing.T) {
	for model, want := range map[string]int{
		"claude-3-opus-20240229": 4096, "us.anthropic.claude-3-5-sonnet-20241022-v2:0": 8192, "claude-3-7-sonnet-latest": 32000,
		"anthropic/claude-sonnet-4.5": 32000, "claude-opus-4-1@20250805": 32000, "claude-haiku-9": 32000, "kimi-k2": 8192, "claude-x": 8192,
	} {
		if got := defaultMaxTokens(model); got != want {
			t.Errorf("%s: %d, want %d", model, got, want)
		}
	}
}

// TestLimitOfEachModel holds that a model's limit is learned once, whatever
// other models are asked in between.
func TestLimitOfEachModel(t *testing.T) {
	limits := map[string]int{"claude-sonnet-1": 4096, "claude-opus-1": 8192}
	var asked []string
	rt := llmtest.NewTransport(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var q struct {
			Model     string `json:"model"`
			MaxTokens int    `json:"max_tokens"`
		}
		if err := json.NewDecoder(r.Body).Decode(&q); err != nil {
			t.Error(err)
		}
		asked = append(asked, fmt.Sprint(q.MaxTokens))
		if q.MaxTokens > limits[q.Model] {
			w.WriteHeader(http.StatusBadRequest)
			fmt.Fprintf(w, `{"error":{"message":"max_tokens: %d > %d, which is the maximum"}}`, q.MaxTokens, limits[q.Model])
			return
		}
		fmt.Fprint(w, renderWhole(conformance.Answer{Text: []string{"x"}, Finish: llm.FinishStop}))
	}))
	c := client(t, rt)
	for range 2 {
		for _, name := range []string{"claude-sonnet-1", "claude-opus-1"} {
			if _, err := c.Complete(t.Context(), &llm.Request{Model: name}, nil); err != nil {
				t.Error(err)
			}
		}
	}
	rt.Wait()
	if got, want := strings.Join(asked, " "), "32000 4096 32000 8192 4096 8192"; got != want {
		t.Errorf("asked for %s tokens, want %s", got, want)
	}
}

// TestServerThatTakesLess checks that what a server refuses is left out at
// once, and in all later requests.
func TestServerThatTakesLess(t *testing.T) {
	for _, tt := range []struct{ message, find, want string }{
		{
			"max_tokens: 32000 > 4096, which is the maximum allowed number of output tokens for claude-sonnet-5",
			`"max_tokens":4096`, "false true true",
		},
		{"messages.0.content.0.cache_control: Extra inputs are not permitted", "cache_control", "true false false"},
		{"max_tokens: 4096 > 32000, which makes no sense", "max_tokens", "true true"},
		{"something else", "max_tokens", "true true"},
	} {
		body, err := json.Marshal(map[string]any{"type": "error", "error": map[string]any{"type": "invalid_request_error", "message": tt.message}})
		if err != nil {
			t.Fatal(err)
		}
		s := &conformance.Server{Status: 400, Body: string(body)}
		c := client(t, s)
		for range 2 {
			var e *llm.Error
			req := &llm.Request{Model: "claude-sonnet-5", System: "s", Tools: []llm.Tool{{Name: "a"}}, Messages: []llm.Message{{Role: llm.RoleUser, Content: "hi"}}}
			if _, err := c.Complete(t.Context(), req, nil); !errors.As(err, &e) || e.Kind != llm.ErrRequest {
				t.Errorf("error %v", err)
			}
		}
		var found []string
		for _, b := range s.Bodies {
			if !json.Valid([]byte(b)) {
				t.Errorf("not JSON: %s", b)
			}
			found = append(found, fmt.Sprint(strings.Contains(b, tt.find)))
		}
		if got := strings.Join(found, " "); got != tt.want {
			t.Errorf("%s: %s in the requests: %s, want %s", tt.message, tt.find, got, tt.want)
		}
	}
}

// BenchmarkChain builds the requests of a turn of 400 calls: each message is
// encoded once.
func BenchmarkChain(b *testing.B) {
	c := client(b, &conformance.Server{})
	b.ReportAllocs()
	for b.Loop() {
		h := llm.NewHistory([]llm.Message{{Role: llm.RoleUser, Content: "go"}})
		for i := range 200 {
			id := fmt.Sprint("c", i)
			h.Append(
				llm.Message{Role: llm.RoleAssistant, ToolCalls: []llm.ToolCall{{ID: id, Name: "up", Args: `{"s":"abc"}`}}},
				llm.Message{Role: llm.RoleTool, ToolCallID: id, Content: "the result of the tool"},
			)
			c.encode(&llm.Request{Model: "claude-x", System: "s", Messages: h.Request(origin("claude-x"))})
		}
	}
}

// stream is an answer of n text deltas.
func stream(n int) string {
	var b strings.Builder
	b.WriteString("event: message_start\ndata: {\"type\":\"message_start\",\"message\":{\"id\":\"m\",\"content\":[],\"usage\":{\"input_tokens\":9}}}\n\n")
	b.WriteString("event: content_block_start\ndata: {\"type\":\"content_block_start\",\"index\":0,\"content_block\":{\"type\":\"text\",\"text\":\"\"}}\n\n")
	for range n {
		b.WriteString("event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":\"text_delta\",\"text\":\" some words\"}}\n\n")
	}
	b.WriteString("event: message_delta\ndata: {\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"end_turn\"},\"usage\":{\"output_tokens\":400}}\n\n")
	b.WriteString("event: message_stop\ndata: {\"type\":\"message_stop\"}\n\n")
	return b.String()
}

func BenchmarkStream200(b *testing.B) {
	c := client(b, &conformance.Server{Body: stream(200)})
	req := &llm.Request{Model: "claude-x", Stream: true, Messages: []llm.Message{{Role: llm.RoleUser, Content: "hi"}}}
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
	req := &llm.Request{Model: "claude-x", Stream: true, Messages: []llm.Message{{Role: llm.RoleUser, Content: "hi"}}}
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
