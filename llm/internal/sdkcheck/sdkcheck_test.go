package sdkcheck

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"reflect"
	"strings"
	"testing"

	"clm/llm"
)

// The conversation: a prompt with an image, an answer with two calls, of which
// one fails, and a word in between.
const (
	model  = "x"
	prompt = "hi <there> \u2028"
	schema = `{"type":"object","properties":{"s":{"type":"string"}},"required":["s"]}`
)

// wire answers every request alike and keeps the requests.
type wire struct {
	answer  string
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
		Body: io.NopCloser(strings.NewReader(w.answer)), Request: r,
	}, nil
}

// ours makes two requests with a batch of calls between them.
func ours(t *testing.T, kind llm.Kind, answer string, dial func(llm.Connection, http.RoundTripper) (llm.Client, error)) *wire {
	t.Helper()
	w := &wire{answer: answer}
	c, err := dial(llm.Connection{Kind: kind, URL: "http://h/v1", Key: "key-a"}, w)
	if err != nil {
		t.Fatal(err)
	}
	h := llm.NewHistory([]llm.Message{{
		Role: llm.RoleUser, Content: prompt,
		Attachments: []llm.Attachment{{Name: "a.png", MediaType: "image/png", Data: []byte("png")}},
	}})
	for range 2 {
		resp, err := c.Complete(t.Context(), &llm.Request{
			Model: model, System: "be brief", MaxTokens: 100, Stream: true, DisableParallelToolCalls: true,
			Messages: h.Request(string(kind) + "/" + model),
			Tools:    []llm.Tool{{Name: "now"}, {Name: "up", Description: "upcase", Schema: json.RawMessage(schema)}},
		}, nil)
		if err != nil {
			t.Fatal(err)
		}
		h.Append(
			resp.Message,
			llm.Message{Role: llm.RoleTool, ToolCallID: "call_1", Content: "A"},
			llm.Message{Role: llm.RoleTool, ToolCallID: "call_2", Content: "broken", Failed: true},
			llm.Message{Role: llm.RoleUser, Content: "hurry"},
		)
	}
	return w
}

// compare holds that both made the same two requests. alike makes forms of an
// object alike that mean the same.
func compare(t *testing.T, ours, theirs *wire, alike func(map[string]any), headers ...string) {
	t.Helper()
	if len(ours.bodies) != 2 || len(theirs.bodies) != 2 {
		t.Fatalf("%d and %d requests", len(ours.bodies), len(theirs.bodies))
	}
	for i := range ours.bodies {
		got, want := normal(t, ours.bodies[i], alike), normal(t, theirs.bodies[i], alike)
		if !reflect.DeepEqual(got, want) {
			t.Errorf("request %d:\nours   %s\ntheirs %s", i, text(t, got), text(t, want))
		}
		if ours.paths[i] != theirs.paths[i] {
			t.Errorf("sent to %s, theirs to %s", ours.paths[i], theirs.paths[i])
		}
		for _, name := range append(headers, "Content-Type") {
			if got, want := ours.headers[i].Get(name), theirs.headers[i].Get(name); got != want || got == "" {
				t.Errorf("header %s is %q, theirs %q", name, got, want)
			}
		}
	}
}

func normal(t *testing.T, body string, alike func(map[string]any)) any {
	t.Helper()
	dec := json.NewDecoder(strings.NewReader(body))
	dec.UseNumber()
	var v any
	if err := dec.Decode(&v); err != nil {
		t.Fatalf("%v in %s", err, body)
	}
	each(v, alike)
	return v
}

// each calls f for each object in v.
func each(v any, f func(map[string]any)) {
	switch v := v.(type) {
	case []any:
		for _, item := range v {
			each(item, f)
		}
	case map[string]any:
		f(v)
		for _, item := range v {
			each(item, f)
		}
	}
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
