// Package conformance is the behaviour that every dialect's client has, as one
// test suite. A dialect brings the rendering of an answer in its own form:
//
//	func TestConformance(t *testing.T) {
//		conformance.Run(t, conformance.Dialect{Kind: llm.KindOpenAI, New: …, Render: …, Whole: …, Error: …})
//	}
package conformance

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"clm/llm"
	"clm/llm/internal/jsonscan"
	"clm/llm/internal/wire"
)

// Answer is what a model says, before a dialect renders it.
type Answer struct {
	Text  []string // one delta each
	Calls []Call
	// Finish is the reason to render; FinishToolCalls beside calls.
	Finish llm.Finish
	Usage  llm.Usage // Input and Output
}

// Call is a tool call of an answer.
type Call struct {
	ID, Name string
	Args     []string // fragments of the JSON text, at least one
}

// Dialect is what the suite needs to know.
type Dialect struct {
	Kind llm.Kind
	Path string // "/chat/completions"
	New  func(conn llm.Connection, rt http.RoundTripper) (llm.Client, error)
	// Decoder is what the client takes an answer of the model "m" apart with.
	Decoder func(r *wire.Response, emit func(llm.Delta)) wire.Decoder
	// Render renders an answer as an event stream with LF ends. inner is its text,
	// each delta as a JSON string without quotes, in the place of the answer's.
	Render func(inner []string, a Answer) string
	// OpenEnd says that an answer is whole before its stream's last event, so
	// that one which is cut off may be whole too.
	OpenEnd bool
	// Whole renders it as one JSON body.
	Whole func(a Answer) string
	// Error renders an event (with its blank line) that reports an error.
	Error func(message string) string
	// Ping is an event (with its blank line) that servers keep a stream alive with.
	Ping string
	// MaxCalls is the most tool calls that an answer may have.
	MaxCalls int

	alone *wire.Client // decodes answers that nobody asked for
}

func (d Dialect) prepared(t testing.TB) Dialect {
	t.Helper()
	c, err := wire.New(llm.Connection{Kind: d.Kind, URL: "http://model/v1", Key: key}, nil, d.Path, nil)
	if err != nil {
		t.Fatal(err)
	}
	d.alone = c
	return d
}

// Stream renders an answer as an event stream.
func (d Dialect) Stream(a Answer) string {
	var inner []string
	for _, s := range a.Text {
		q := Quote(s)
		inner = append(inner, q[1:len(q)-1])
	}
	return d.Render(inner, a)
}

// Quote is a text as a JSON string.
func Quote(s string) string { return string(jsonscan.AppendString(nil, s)) }

// JSON is a value as JSON.
func JSON(v any) string {
	out, err := json.Marshal(v)
	if err != nil {
		panic(err) // of a test's own value
	}
	return string(out)
}

const key = "sk-SECRETKEY-0123456789"

// Run runs the suite.
func Run(t *testing.T, d Dialect) {
	d = d.prepared(t)
	t.Run("answers", func(t *testing.T) { answers(t, d) })
	t.Run("cuts", func(t *testing.T) { cuts(t, d) })
	t.Run("many calls", func(t *testing.T) { manyCalls(t, d) })
	t.Run("forms", func(t *testing.T) { forms(t, d) })
	t.Run("characters", func(t *testing.T) { characters(t, d) })
	t.Run("early end", func(t *testing.T) { earlyEnd(t, d) })
	t.Run("limits", func(t *testing.T) { limits(t, d) })
	t.Run("refusals", func(t *testing.T) { refusals(t, d) })
	t.Run("errors in a 200", func(t *testing.T) { errorsInside(t, d) })
	t.Run("no secrets", func(t *testing.T) { noSecrets(t, d) })
	t.Run("requests", func(t *testing.T) { requests(t, d) })
	t.Run("images", func(t *testing.T) { images(t, d) })
	t.Run("prefixes", func(t *testing.T) { prefixes(t, d) })
	t.Run("cancel", func(t *testing.T) { cancels(t, d) })
	t.Run("silence", func(t *testing.T) { silence(t, d) })
}

// serverFunc answers a request without any network.
type serverFunc func(r *http.Request) (*http.Response, error)

func (f serverFunc) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Body != nil {
		defer func() { _ = r.Body.Close() }()
	}
	return f(r)
}

// serve answers every request with this body.
func serve(status int, contentType string, body io.Reader, header ...string) serverFunc {
	return func(r *http.Request) (*http.Response, error) {
		h := http.Header{"Content-Type": {contentType}}
		for i := 0; i+1 < len(header); i += 2 {
			h.Set(header[i], header[i+1])
		}
		return &http.Response{StatusCode: status, Header: h, Body: io.NopCloser(body), Request: r}, nil
	}
}

func events(body string) serverFunc {
	return serve(http.StatusOK, "text/event-stream", strings.NewReader(body))
}

func (d Dialect) client(t testing.TB, rt http.RoundTripper) llm.Client {
	t.Helper()
	c, err := d.New(llm.Connection{Kind: d.Kind, URL: "http://model/v1", Key: key}, rt)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// ask makes one request and renders its outcome: the deltas that came, then
// the answer or the error.
func (d Dialect) ask(t testing.TB, rt http.RoundTripper, stream bool) (*llm.Response, string, *llm.Error) {
	t.Helper()
	var seen strings.Builder
	resp, err := d.client(t, rt).Complete(context.Background(), request(stream), func(p llm.Delta) {
		if p.Kind == llm.DeltaText {
			seen.WriteString(p.Text)
		}
	})
	return resp, seen.String(), asError(t, err)
}

// decode reads an answer without a request: most of the cost of an exchange is
// not in the decoder, and cutting an answer at every byte reads it thousands of
// times.
func (d Dialect) decode(t testing.TB, src io.Reader) (*llm.Response, *llm.Error) {
	t.Helper()
	resp, err := d.alone.Decode(src, func(r *wire.Response) wire.Decoder { return d.Decoder(r, nil) })
	return resp, asError(t, err)
}

// exchange is ask for the answer alone.
func (d Dialect) exchange(t testing.TB, src io.Reader) (*llm.Response, *llm.Error) {
	t.Helper()
	resp, _, err := d.ask(t, serve(200, "text/event-stream", src), true)
	return resp, err
}

func asError(t testing.TB, err error) *llm.Error {
	t.Helper()
	if err == nil {
		return nil
	}
	var e *llm.Error
	if !errors.As(err, &e) {
		t.Fatalf("%T is not an *llm.Error: %v", err, err)
	}
	checkError(t, e)
	return e
}

func request(stream bool) *llm.Request {
	return &llm.Request{
		Model: "m", System: "be brief", Stream: stream,
		Messages: []llm.Message{{Role: llm.RoleUser, Content: "hi"}},
		Tools:    []llm.Tool{{Name: "add", Description: "adds", Schema: []byte(`{"type":"object","properties":{}}`)}},
	}
}

// checkError holds what every error is: one bounded line without the key.
func checkError(t testing.TB, e *llm.Error) {
	t.Helper()
	for _, text := range []string{e.Error(), fmt.Sprintf("%+v %#v %v", *e, *e, e.Err)} {
		if strings.Contains(text, key) {
			t.Errorf("the key is in %s", text)
		}
	}
	if text := e.Error(); strings.ContainsAny(text, "\n\r\x1b") || len(text) > 600 || text == "" {
		t.Errorf("not one bounded line: %q", text)
	}
}

// outline renders an answer for comparison.
func outline(r *llm.Response) string {
	if r == nil {
		return "no answer"
	}
	var b bytes.Buffer
	fmt.Fprintf(&b, "%q %s", r.Message.Content, r.Finish)
	for _, c := range r.Message.ToolCalls {
		fmt.Fprintf(&b, " %s:%s(%s)", c.ID, c.Name, c.Args)
	}
	return b.String()
}
