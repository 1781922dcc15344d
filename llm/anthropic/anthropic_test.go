package anthropic

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/iotest"

	"clm/llm"
)

var update = flag.Bool("update", false, "rewrite what the cases in testdata want")

// server answers each request with the same body and keeps the requests.
type server struct {
	status int
	body   func() io.Reader
	bodies []string
	last   *http.Request
}

func (s *server) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Body != nil {
		b, err := io.ReadAll(r.Body)
		if err != nil {
			return nil, err
		}
		s.bodies = append(s.bodies, string(b))
	}
	s.last = r
	return &http.Response{StatusCode: max(s.status, 200), Header: http.Header{}, Body: io.NopCloser(s.body()), Request: r}, nil
}

func serve(body string) *server {
	return &server{body: func() io.Reader { return strings.NewReader(body) }}
}

var conn = llm.Connection{Kind: llm.KindAnthropic, URL: "http://h/v1", Key: llm.Secret("key-abcd")}

func client(t testing.TB, rt http.RoundTripper) *Client {
	t.Helper()
	c, err := New(conn, rt)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// complete asks the client and writes down all that comes of it.
func complete(t testing.TB, rt http.RoundTripper) string {
	t.Helper()
	req := &llm.Request{Model: "claude-x", Stream: true, Messages: []llm.Message{{Role: llm.RoleUser, Content: "hi"}}}
	var b strings.Builder
	var shown, thought string
	resp, err := client(t, rt).Complete(t.Context(), req, func(d llm.Delta) {
		switch d.Kind {
		case llm.DeltaText:
			shown += d.Text
		case llm.DeltaReasoning:
			thought += d.Text
		case llm.DeltaToolCall:
			fmt.Fprintf(&b, "begins %s\n", d.Text)
		}
	})
	if err != nil {
		return fmt.Sprintf("error %s: %v\n", kindOf(err), err)
	}
	var text string
	for _, r := range resp.Message.Reasoning {
		text += r.Text
		fmt.Fprintf(&b, "%s %q %s\n", r.Origin, r.Text, r.Raw)
		if !json.Valid(r.Raw) {
			t.Errorf("a reasoning block is not JSON: %s", r.Raw)
		}
	}
	if shown != resp.Message.Content || thought != text {
		t.Errorf("people saw %q (%q), the answer is %q (%q)", shown, thought, resp.Message.Content, text)
	}
	fmt.Fprintf(&b, "text %q\n", resp.Message.Content)
	for _, c := range resp.Message.ToolCalls {
		fmt.Fprintf(&b, "call %s %s %s\n", c.ID, c.Name, c.Args)
	}
	fmt.Fprintf(&b, "finish %s %+v %s\n", resp.Finish, resp.Usage, resp.Model)
	return b.String()
}

func kindOf(err error) llm.ErrorKind {
	var e *llm.Error
	if errors.As(err, &e) {
		return e.Kind
	}
	return "?"
}

const wantMark = "-- want --\n"

// cases calls f for each file in testdata: an answer's body, the mark, what
// comes of it.
func cases(t *testing.T, f func(t *testing.T, name, body, want string)) {
	files, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("no cases: %v", err)
	}
	for _, name := range files {
		data, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		body, want, _ := strings.Cut(string(data), wantMark)
		t.Run(filepath.Base(name), func(t *testing.T) { f(t, name, body, want) })
	}
}

func TestAnswers(t *testing.T) {
	cases(t, func(t *testing.T, name, body, want string) {
		got := complete(t, serve(body))
		if *update {
			if err := os.WriteFile(name, []byte(body+wantMark+got), 0o644); err != nil {
				t.Fatal(err)
			}
			return
		}
		if got != want {
			t.Errorf("got:\n%swant:\n%s", got, want)
		}
		if slow := complete(t, &server{body: func() io.Reader { return iotest.OneByteReader(strings.NewReader(body)) }}); slow != want {
			t.Errorf("byte by byte:\n%swant:\n%s", slow, want)
		}
		crlf := strings.ReplaceAll(body, "\n", "\r\n")
		if got := complete(t, serve(crlf)); strings.HasPrefix(body, "event:") && got != want {
			t.Errorf("with CRLF:\n%swant:\n%s", got, want)
		}
	})
}

// TestCutAnswers ends each stream after each of its bytes, and splits it there:
// an answer that is cut is never an answer.
func TestCutAnswers(t *testing.T) {
	cases(t, func(t *testing.T, _, body, want string) {
		stop := strings.Index(body, `"message_stop"`)
		for i := range len(body) {
			got := complete(t, serve(body[:i]))
			if !strings.HasPrefix(got, "error ") && (i <= stop || got != want) {
				t.Fatalf("cut after %d bytes (…%q) it is an answer:\n%s", i, tail(body[:i]), got)
			}
			split := &server{body: func() io.Reader {
				return io.MultiReader(strings.NewReader(body[:i]), strings.NewReader(body[i:]))
			}}
			if got := complete(t, split); got != want {
				t.Fatalf("split after %d bytes (…%q):\n%swant:\n%s", i, tail(body[:i]), got, want)
			}
		}
	})
}

func tail(s string) string { return s[max(0, len(s)-30):] }

func FuzzAnswer(f *testing.F) {
	files, err := filepath.Glob("testdata/*.txt")
	if err != nil {
		f.Fatal(err)
	}
	for _, name := range files {
		data, err := os.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		body, _, _ := bytes.Cut(data, []byte(wantMark))
		f.Add(body)
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		rt := &server{body: func() io.Reader { return bytes.NewReader(body) }}
		resp, err := client(t, rt).Complete(context.Background(), &llm.Request{Model: "m"}, nil)
		if err != nil {
			if kindOf(err) == "?" || resp != nil {
				t.Fatalf("%v is not an llm.Error, or came with an answer", err)
			}
			return
		}
		// What was understood can be sent back.
		h := llm.NewHistory([]llm.Message{{Role: llm.RoleUser, Content: "x"}, resp.Message})
		h.CloseOpen("cancelled")
		again := client(t, rt).encode(&llm.Request{Model: "m", Messages: h.Request(origin("m"))})
		if !json.Valid(again) {
			t.Fatalf("the answer makes a request that is not JSON: %s", again)
		}
	})
}

func TestModels(t *testing.T) {
	s := serve(`{"data":[{"type":"model","id":"claude-a","display_name":"A","max_input_tokens":200000},{"id":"b"},{"display_name":"nameless"}],"has_more":false}`)
	models, err := client(t, s).Models(t.Context())
	if err != nil || len(models) != 2 || models[0] != (llm.Model{ID: "claude-a", ContextSize: 200000}) || models[1].ID != "b" {
		t.Errorf("models %v, %v", models, err)
	}
	if got := s.last.URL.String(); got != "http://h/v1/models?limit=1000" {
		t.Errorf("asked %s", got)
	}
	if got := s.last.Header.Get("X-Api-Key") + s.last.Header.Get("Anthropic-Version"); got != "key-abcd2023-06-01" {
		t.Errorf("headers %v", s.last.Header)
	}
	s = serve(`{"id":"x/y","max_input_tokens":1000000}`)
	if n, err := client(t, s).ContextSize(t.Context(), "x/y"); n != 1000000 || err != nil || s.last.URL.EscapedPath() != "/v1/models/x%2Fy" {
		t.Errorf("window %d, %v, asked %s", n, err, s.last.URL.EscapedPath())
	}
	s = serve(`{"type":"error","error":{"type":"not_found_error","message":"model: x"}}`)
	s.status = 404
	if n, err := client(t, s).ContextSize(t.Context(), "x"); n != 0 || err != nil {
		t.Errorf("window of an unknown model: %d, %v", n, err)
	}
}
