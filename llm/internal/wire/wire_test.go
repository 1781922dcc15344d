package wire

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"clm/llm"
	"clm/llm/llmtest"
)

func TestURLs(t *testing.T) {
	for _, tt := range []struct{ base, call, models, root string }{
		{"http://h:1/v1", "http://h:1/v1/chat/completions", "http://h:1/v1/models", "http://h:1/props"},
		{"http://h/v1///", "http://h/v1/chat/completions", "http://h/v1/models", "http://h/props"},
		{"http://h", "http://h/chat/completions", "http://h/models", "http://h/props"},
		{"http://h/a/b/v1", "http://h/a/b/v1/chat/completions", "http://h/a/b/v1/models", "http://h/a/b/props"},
		{"https://h/v1/chat/completions", "https://h/v1/chat/completions", "https://h/v1/models", "https://h/props"},
		{"https://h/v1/chat/completions/", "https://h/v1/chat/completions", "https://h/v1/models", "https://h/props"},
		{"https://h/openai/d?api-version=1&x=a%20b", "https://h/openai/d/chat/completions?api-version=1&x=a%20b", "https://h/openai/d/models?api-version=1&x=a%20b", "https://h/openai/d/props?api-version=1&x=a%20b"},
		{" localhost:8081/v1 ", "http://localhost:8081/v1/chat/completions", "http://localhost:8081/v1/models", "http://localhost:8081/props"},
		{"127.0.0.1:80", "http://127.0.0.1:80/chat/completions", "http://127.0.0.1:80/models", "http://127.0.0.1:80/props"},
		{"http://[::1]:9/v1#frag", "http://[::1]:9/v1/chat/completions", "http://[::1]:9/v1/models", "http://[::1]:9/props"},
		{"http://h/a%2Fb/v1", "http://h/a%2Fb/v1/chat/completions", "http://h/a%2Fb/v1/models", "http://h/a%2Fb/props"},
	} {
		base, err := baseURL(tt.base)
		if err != nil {
			t.Errorf("%s: %v", tt.base, err)
			continue
		}
		const own = "/chat/completions"
		for got, want := range map[string]string{
			endpoint(base, own, own).String(): tt.call, endpoint(base, own, "/models").String(): tt.models, atRoot(base, own, "/props").String(): tt.root,
		} {
			if got != want {
				t.Errorf("%s: %s, want %s", tt.base, got, want)
			}
		}
	}
	for _, bad := range []string{"", "  ", "ftp://h", "http://", "http://h:x/", "http://us er:sk-PW@h:x", "unix:///tmp/s"} {
		_, err := New(llm.Connection{URL: bad}, nil, "/x", nil)
		if err == nil || strings.Contains(err.Error(), "sk-PW") {
			t.Errorf("%q: %v", bad, err)
		}
	}
}

func TestWhatNoHeaderCarries(t *testing.T) {
	for _, conn := range []llm.Connection{
		{URL: "http://h", Key: "sk-a\nb"},
		{URL: "http://h", Headers: map[string]llm.Secret{"X-A": "sk-a\r\nX-B: c"}},
		{URL: "http://h", Headers: map[string]llm.Secret{"X A": "sk-a"}},
		{URL: "http://h", Headers: map[string]llm.Secret{"": "sk-a"}},
	} {
		if _, err := New(conn, nil, "/x", nil); err == nil || strings.Contains(err.Error(), "sk-a") {
			t.Errorf("err = %v", err)
		}
	}
}

func TestWhereHidesQueryAndUser(t *testing.T) {
	base, err := baseURL("https://me:sk-PASSWORD@h/v1?key=sk-QUERY")
	if err != nil {
		t.Fatal(err)
	}
	if got := where("POST", endpoint(base, "/x", "/x")); got != "POST https://h/v1/x" {
		t.Errorf("where = %s", got)
	}
}

func TestScrubber(t *testing.T) {
	s := NewScrubber(llm.Connection{
		URL: "http://me:pass%2Fword1@h/v1?token=query-token&api-version=2024-10-21", Key: " sk-key/with+odd=chars \n",
		Headers: map[string]llm.Secret{"Authorization": "Basic Zm9vOmJhcg==", "X-Short": "abc"},
	})
	in := "a sk-key/with+odd=chars b sk-key%2Fwith%2Bodd%3Dchars c Zm9vOmJhcg== d query-token e 2024-10-21 f abc g basic h pass%2Fword1 pass/word1"
	if got, want := s.Text(in), "a [redacted] b [redacted] c [redacted] d [redacted] e 2024-10-21 f abc g basic h [redacted] [redacted]"; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	if got := (Scrubber{}).Text("x"); got != "x" {
		t.Errorf("the zero Scrubber: %q", got)
	}
}

func TestRetryAfter(t *testing.T) {
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	for v, want := range map[string]time.Duration{
		"": 0, "0": 0, "1": time.Second, " 2 ": 2 * time.Second, "0.5": time.Second / 2, "59.9": 59900 * time.Millisecond, "61": time.Minute, "1e9": time.Minute,
		"-1": 0, "soon": 0, "NaN": 0, "Inf": time.Minute, "99999999999999999999": time.Minute,
		"Fri, 02 Jan 2026 03:04:15 GMT": 10 * time.Second, "Fri, 02 Jan 2026 03:04:00 GMT": 0, "Wed, 21 Oct 2099 07:28:00 GMT": time.Minute,
	} {
		if got := retryAfter(http.Header{"Retry-After": {v}}, now); got != want {
			t.Errorf("%q: %v, want %v", v, got, want)
		}
	}
}

func TestAppendSchema(t *testing.T) {
	for in, want := range map[string]string{
		``:                  `{"type":"object","properties":{}}`,
		`null`:              `{"type":"object","properties":{}}`,
		`{`:                 `{"type":"object","properties":{}}`,
		`{}`:                `{"type":"object","properties":{}}`,
		`{"type":"object"}`: `{"type":"object","properties":{}}`,
		`{"properties":null,"required":null,"type":["object","null"]}`:                                            `{"type":"object","properties":{}}`,
		`{"$schema":"x","type":"object","properties":{"a":{"type":"string"}},"required":["a"],"description":"d"}`: `{"type":"object","properties":{"a":{"type":"string"}},"required":["a"],"description":"d"}`,
		`{"$defs":{"A":{}},"properties":{"a":{"$ref":"#/$defs/A"}}}`:                                              `{"type":"object","properties":{"a":{"$ref":"#/$defs/A"}},"$defs":{"A":{}}}`,
		`{"anyOf":[{"required":["a"]},{"required":["b"]}],"properties":{"a":{},"b":{}},"not":{},"enum":[1]}`:      `{"type":"object","properties":{"a":{},"b":{}}}`,
		`{"oneOf":[{"properties":{"a":{"type":"string"}}},{"properties":{"a":{},"b":{}}},7],"allOf":3}`:           `{"type":"object","properties":{"a":{"type":"string"},"b":{}}}`,
		`{"properties":{"a":{"anyOf":[{},{}]}},"allOf":[{"properties":{"c":{},"a":null}}],"required":["a"]}`:      `{"type":"object","properties":{"a":{"anyOf":[{},{}]},"c":{}},"required":["a"]}`,
	} {
		if got := string(AppendSchema(nil, json.RawMessage(in))); got != want || !json.Valid([]byte(got)) {
			t.Errorf("%s\ngot  %s\nwant %s", in, got, want)
		}
	}
}

func TestFlexTypes(t *testing.T) {
	for in, want := range map[string]string{
		`{"s":"a","n":1,"t":"x"}`:                                   "a 1 true x",
		`{"s":5,"n":1.0,"t":[{"type":"text","text":"x"},"y",{}]}`:   "5 1 true xy",
		`{"s":null,"n":null,"t":null}`:                              " 0 false ",
		`{"s":{},"n":"7","t":{"text":"x"}}`:                         " 7 true x",
		`{"s":[1],"n":{},"t":3}`:                                    " 0 false ",
		`{"s":true,"n":1e300,"t":[{"refusal":"no"},{"text":null}]}`: " 0 false no",
	} {
		var v struct {
			S String `json:"s"`
			N Int    `json:"n"`
			T Text   `json:"t"`
		}
		if err := json.Unmarshal([]byte(in), &v); err != nil {
			t.Errorf("%s: %v", in, err)
			continue
		}
		if got := fmt.Sprintf("%s %d %v %s", v.S, v.N.N, v.N.Set, v.T); got != want {
			t.Errorf("%s: %q, want %q", in, got, want)
		}
	}
}

// TestConnectionIsUsedAgain holds that an answer whose end the client need not
// read does not cost the connection.
func TestConnectionIsUsedAgain(t *testing.T) {
	server, err := llmtest.ListenTCP(llmtest.New())
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	rt := server.Attach(llm.NewTransport())
	defer rt.CloseIdleConnections()
	c, err := New(llm.Connection{URL: server.URL}, rt, "/chat/completions", nil)
	if err != nil {
		t.Fatal(err)
	}
	for range 5 {
		resp, err := c.Post(t.Context(), "/chat/completions", Body{[]byte(`{"stream":true}`)}, true)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.ReadFull(resp, make([]byte, 10)); err != nil {
			t.Fatal(err)
		}
		resp.Close()
	}
	if n := server.Dials(); n != 1 {
		t.Errorf("%d dials for 5 requests in a row", n)
	}
}

// TestRedirectsAreNotFollowed holds that no other host gets to know a key or a
// conversation, however it is offered.
func TestRedirectsAreNotFollowed(t *testing.T) {
	var seen atomic.Int64
	other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { seen.Add(1) }))
	defer other.Close()
	for _, status := range []int{301, 302, 303, 307, 308} {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, other.URL+"/v1?key="+r.Header.Get("X-Key"), status)
		}))
		rt := llm.NewTransport()
		c, err := New(llm.Connection{URL: server.URL, Key: "sk-SECRET99"}, rt, "/x", func(h http.Header, key string) { h.Set("X-Key", key) })
		if err != nil {
			t.Fatal(err)
		}
		_, postErr := c.Post(t.Context(), "/x", Body{[]byte("{}")}, true)
		var list any
		for _, err := range []error{postErr, c.Get(t.Context(), "/models", &list)} {
			var e *llm.Error
			if !errors.As(err, &e) || e.Status != status || e.Retryable() || !strings.Contains(err.Error(), other.URL) || strings.Contains(err.Error(), "SECRET") {
				t.Errorf("%d: %v", status, err)
			}
		}
		rt.CloseIdleConnections()
		server.Close()
	}
	if n := seen.Load(); n != 0 {
		t.Errorf("the other host got %d requests", n)
	}
}

func TestNoServer(t *testing.T) {
	c, err := New(llm.Connection{URL: "http://127.0.0.1:1/v1"}, llm.NewTransport(), "/x", nil)
	if err != nil {
		t.Fatal(err)
	}
	_, err = c.Post(t.Context(), "/x", nil, true)
	if err == nil || !strings.Contains(err.Error(), "http://127.0.0.1:1/v1/x: connection refused") {
		t.Fatalf("err = %v", err)
	}
	e := err.(*llm.Error)
	if _, again := llm.Backoff(1, e, 0); !again {
		t.Error("a refused connection is not tried again")
	}
	if _, again := llm.Backoff(2, e, 0); again {
		t.Error("a refused connection is tried for ever")
	}
}

func FuzzParseFault(f *testing.F) {
	for _, s := range []string{`{"error":{"message":"x"}}`, `[{"error":"y"}]`, `<title>t</title>`, `{"detail":[{"loc":["a",1],"msg":"m"}]}`, `{"error":{"metadata":{"raw":"{}"}}}`, `"s"`, `<`, `<a<b>c`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, in []byte) {
		fault, ok := ParseFault(in)
		if ok && fault.Message == "" && fault.Code == "" && fault.Type == "" {
			t.Errorf("%q is a fault without a word", in)
		}
	})
}

type nothing struct{ answer *http.Response }

func (n nothing) RoundTrip(*http.Request) (*http.Response, error) { return n.answer, nil }

// TestTransportWithoutAnswer is of transports that break the rules for one.
func TestTransportWithoutAnswer(t *testing.T) {
	for _, answer := range []*http.Response{nil, {StatusCode: 200}} {
		c, err := New(llm.Connection{URL: "http://x/v1"}, nothing{answer}, "/chat/completions", nil)
		if err != nil {
			t.Fatal(err)
		}
		_, err = c.Post(t.Context(), "/chat/completions", nil, true)
		var e *llm.Error
		if !errors.As(err, &e) || e.Kind != llm.ErrNetwork || !strings.Contains(e.Error(), "neither an answer nor an error") {
			t.Errorf("%v", err)
		}
	}
}
