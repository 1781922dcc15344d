package conformance

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"clm/llm"
	"clm/llm/llmtest"
)

// requests holds what goes out: one valid JSON object with the right headers,
// the same for the same request, whatever the conversation holds.
func requests(t *testing.T, d Dialect) {
	var got []*http.Request
	var bodies []string
	rt := serverFunc(func(r *http.Request) (*http.Response, error) {
		b, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		got, bodies = append(got, r), append(bodies, string(b))
		return events(d.Stream(plain))(r)
	})
	conn := llm.Connection{
		Kind: d.Kind, URL: "http://model/prefix/v1/?api-version=2024-10-21#x", Key: " " + key + "\n",
		Headers: map[string]llm.Secret{"X-Extra": "one"},
	}
	c, err := d.New(conn, rt)
	if err != nil {
		t.Fatal(err)
	}
	for _, req := range []*llm.Request{conversation(d, true), conversation(d, true), conversation(d, false)} {
		if _, err := c.Complete(t.Context(), req, nil); err != nil {
			t.Fatal(err)
		}
	}
	if bodies[0] != bodies[1] {
		t.Errorf("the same request differs:\n%s\n%s", bodies[0], bodies[1])
	}
	for i, body := range bodies {
		var v map[string]any
		if err := json.Unmarshal([]byte(body), &v); err != nil {
			t.Fatalf("the request is not JSON: %v\n%s", err, body)
		}
		r := got[i]
		if want := "/prefix/v1" + d.Path; r.URL.Path != want || r.URL.RawQuery != "api-version=2024-10-21" || r.URL.Fragment != "" {
			t.Errorf("sent to %s, want %s with the query", r.URL, want)
		}
		if r.Header.Get("X-Extra") != "one" || r.Header.Get("Content-Type") != "application/json" || r.ContentLength != int64(len(body)) {
			t.Errorf("headers %v", r.Header)
		}
		auth := r.Header.Get("Authorization") + r.Header.Get("X-Api-Key")
		if strings.TrimPrefix(auth, "Bearer ") != key {
			t.Errorf("the key was sent as %q", auth)
		}
		want := map[bool]string{true: "identity", false: "gzip"}[i < 2]
		if enc := r.Header.Get("Accept-Encoding"); enc != want {
			t.Errorf("Accept-Encoding %q, want %q", enc, want)
		}
		if v["stream"] == true != (i < 2) || v["model"] != "m" {
			t.Errorf("stream %v, model %v", v["stream"], v["model"])
		}
		for _, text := range []string{"be brief", "quote \\\" and \\\\", "YWJj", "the sum", "c-1"} {
			if !strings.Contains(body, text) {
				t.Errorf("%q is not in the request %s", text, body)
			}
		}
	}
}

// conversation has one of everything.
func conversation(d Dialect, stream bool) *llm.Request {
	req := request(stream)
	h := llm.NewHistory([]llm.Message{
		{Role: llm.RoleUser, Content: "quote \" and \\ <&> \u2028 \x00 \xff\n", Attachments: []llm.Attachment{{Name: "a.png", MediaType: "image/png", Data: []byte("abc")}}},
		{Role: llm.RoleAssistant, ToolCalls: []llm.ToolCall{{ID: "c-1", Name: "add", Args: `{"x":1}`}, {ID: "c-2", Name: "now"}}},
		{Role: llm.RoleTool, ToolCallID: "c-1", ToolName: "add", Content: "the sum", Attachments: []llm.Attachment{{MediaType: "image/jpeg", Data: []byte("jpg")}}},
		{Role: llm.RoleTool, ToolCallID: "c-2", ToolName: "now", Failed: true},
		{Role: llm.RoleAssistant, Content: "It is 3.", Reasoning: []llm.Reasoning{{Origin: "other/model", Text: "foreign", Raw: []byte(`{"secret":1}`)}}},
		{Role: llm.RoleUser, Content: "and now?"},
	})
	req.Messages = h.Request(string(d.Kind) + "/m")
	req.MaxTokens = 100
	req.DisableParallelToolCalls = true
	return req
}

// cancels ends the context at each stage; the client returns at once, and
// nothing is left behind, which the bubble checks.
func cancels(t *testing.T, d Dialect) {
	head, _, _ := strings.Cut(d.Stream(plain), "\n\n")
	for name, script := range map[string]string{
		"before the header": "!hang first\n",
		"after the header":  "!sse\n!flush\n!hang\n",
		"in the answer":     "!sse\n" + head + "\n\n!flush\n!sleep 60000\n",
		"in a refusal":      "!status 500\nx\n!flush\n!hang\n",
	} {
		synctest.Test(t, func(t *testing.T) {
			model := llmtest.New(script)
			rt := llmtest.NewTransport(model)
			ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
			defer cancel()
			start := time.Now()
			_, err := d.client(t, rt).Complete(ctx, request(true), nil)
			if took := time.Since(start); took != 5*time.Second {
				t.Errorf("%s: took %v", name, took)
			}
			if !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("%s: %v", name, err)
			}
			var e *llm.Error
			if errors.As(err, &e) && e.Kind != llm.ErrCanceled {
				t.Errorf("%s: kind %s", name, e.Kind)
			}
			rt.Wait()
			if r := model.Requests()[0]; !r.Gone() {
				t.Errorf("%s: the server does not know that the client left", name)
			}
		})
	}
}

// silence holds that a server which says nothing is given up on, and one that
// is merely slow is not.
func silence(t *testing.T, d Dialect) {
	head, tail, _ := strings.Cut(d.Stream(plain), "\n\n")
	for _, tt := range []struct {
		script string
		ok     bool
	}{
		{"!hang first\n", false},
		{"!sse\n!flush\n!hang\n", false},
		{"!sse\n" + head + "\n\n!flush\n!hang\n", false},
		{"!sse\n" + head + "\n\n" + strings.Repeat("!sleep 60000\n: ping\n\n", 60*5), false},
		{"!sse\n" + head + "\n\n" + strings.Repeat("!sleep 60000\n"+d.Ping, 60*5), false},
		{"!sse\n" + strings.Repeat("!sleep 60000\n\n", 60*5), false},
		{"!sse\n" + head + "\n\n" + strings.Repeat("!sleep 60000\n"+d.Ping, 15) + tail, true},
		{"!sse\n" + head + "\n\n!sleep 240000\n: ping\n\n!sleep 240000\n" + tail, true},
	} {
		synctest.Test(t, func(t *testing.T) {
			rt := llmtest.NewTransport(llmtest.New(tt.script))
			_, err := d.client(t, rt).Complete(t.Context(), request(true), nil)
			rt.Wait()
			var e *llm.Error
			switch {
			case tt.ok && err != nil:
				t.Errorf("%q: %v", tt.script, err)
			case !tt.ok && (!errors.As(err, &e) || e.Kind != llm.ErrNetwork || !strings.Contains(e.Error(), "silent")):
				t.Errorf("%q: %v", tt.script, err)
			}
		})
	}
}
