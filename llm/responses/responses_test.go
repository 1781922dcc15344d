package responses

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"clm/llm"
	"clm/llm/internal/conformance"
	"clm/llm/internal/wire"
)

var dialect = conformance.Dialect{
	Kind: llm.KindResponses, Path: path,
	New:    func(conn llm.Connection, rt http.RoundTripper) (llm.Client, error) { return New(conn, rt) },
	Render: render, Whole: renderWhole,
	Decoder: func(r *wire.Response, emit func(llm.Delta)) wire.Decoder { return newDecoder(r, emit, origin("m")) },
	Ping:    "event: keepalive\ndata: {\"type\":\"keepalive\",\"sequence_number\":3}\n\n",
	Error: func(msg string) string {
		return fmt.Sprintf("event: error\ndata: {\"type\":\"error\",\"code\":\"server_error\",\"message\":%q,\"param\":null}\n\n", msg)
	},
	MaxCalls: maxItems,
}

func TestConformance(t *testing.T) { conformance.Run(t, dialect) }

func TestAnswers(t *testing.T) { conformance.Files(t, dialect) }

func FuzzAnswer(f *testing.F) { conformance.Fuzz(f, dialect) }

// render takes the text as JSON strings without their quotes. As with the real
// API the last event repeats the answer, but for a text that is not valid.
func render(inner []string, a conformance.Answer) string {
	var b strings.Builder
	event := func(kind, format string, args ...any) {
		fmt.Fprintf(&b, "event: %s\ndata: {\"type\":\"%s\"%s}\n\n", kind, kind, fmt.Sprintf(format, args...))
	}
	event("response.created", `,"response":{"status":"in_progress","output":[],"error":null}`)
	n := 0
	if len(inner) > 0 {
		event("response.output_item.added", `,"output_index":0,"item":{"id":"msg_0","type":"message","role":"assistant","content":[]}`)
		for _, s := range inner {
			event("response.output_text.delta", `,"item_id":"msg_0","output_index":0,"content_index":0,"delta":"%s"`, s)
		}
		n = 1
	}
	for i, c := range a.Calls {
		event("response.output_item.added", `,"output_index":%d,"item":{"id":"fc_%d","type":"function_call","call_id":%s,"name":%s,"arguments":""}`, n+i, i, conformance.Quote(c.ID), conformance.Quote(c.Name))
		for _, s := range c.Args {
			event("response.function_call_arguments.delta", `,"item_id":"fc_%d","output_index":%d,"delta":%s`, i, n+i, conformance.Quote(s))
		}
		event("response.function_call_arguments.done", `,"item_id":"fc_%d","output_index":%d,"arguments":%s`, i, n+i, conformance.Quote(strings.Join(c.Args, "")))
		event("response.output_item.done", `,"output_index":%d,"item":{"id":"fc_%d","type":"function_call","call_id":%s,"name":%s,"arguments":%s}`,
			n+i, i, conformance.Quote(c.ID), conformance.Quote(c.Name), conformance.Quote(strings.Join(c.Args, "")))
	}
	kind := "response.completed"
	if a.Finish == llm.FinishLength {
		kind = "response.incomplete"
	}
	event(kind, `,"response":%s`, renderWhole(conformance.Answer{Finish: a.Finish, Usage: a.Usage}))
	return b.String()
}

func renderWhole(a conformance.Answer) string {
	output := []any{}
	if len(a.Text) > 0 {
		part := map[string]any{"type": "output_text", "text": strings.Join(a.Text, "")}
		output = append(output, map[string]any{"type": "message", "content": []any{part}})
	}
	for _, c := range a.Calls {
		output = append(output, map[string]any{"type": "function_call", "call_id": c.ID, "name": c.Name, "arguments": strings.Join(c.Args, "")})
	}
	r := map[string]any{
		"status": "completed", "output": output, "error": nil, "incomplete_details": nil,
		"usage": map[string]any{"input_tokens": a.Usage.Input, "output_tokens": a.Usage.Output},
	}
	if a.Finish == llm.FinishLength {
		r["status"], r["incomplete_details"] = "incomplete", map[string]any{"reason": "max_output_tokens"}
	}
	return conformance.JSON(r)
}

func client(t testing.TB, rt http.RoundTripper) *Client {
	t.Helper()
	c, err := New(llm.Connection{Kind: llm.KindResponses, URL: "http://h/v1/responses?v=2", Key: "key-abcd"}, rt)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestModels(t *testing.T) {
	s := &conformance.Server{Body: `{"object":"list","data":[{"id":"a","context_length":4096},{"id":"b"}]}`}
	models, err := client(t, s).Models(t.Context())
	if err != nil || len(models) != 2 || models[0] != (llm.Model{ID: "a", ContextSize: 4096}) {
		t.Errorf("models %v, %v", models, err)
	}
	if got := s.Last.URL.String() + " " + s.Last.Header.Get("Authorization"); got != "http://h/v1/models?v=2 Bearer key-abcd" {
		t.Errorf("asked %s", got)
	}
	if n, err := client(t, s).ContextSize(t.Context(), "a"); n != 4096 || err != nil {
		t.Errorf("window %d, %v", n, err)
	}
}
