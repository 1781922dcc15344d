package record

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"clm/llm"
	"clm/llm/anthropic"
	"clm/llm/openai"
)

// serverFunc is a transport without a network.
type serverFunc func(r *http.Request) (*http.Response, error)

func (f serverFunc) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// inPieces is a body that gives one piece a Read, each some time after the
// one before.
type inPieces struct {
	pieces []string
	wait   time.Duration
	end    error
}

func (p *inPieces) Read(b []byte) (int, error) {
	if len(p.pieces) == 0 {
		return 0, p.end
	}
	time.Sleep(p.wait) // in a bubble
	n := copy(b, p.pieces[0])
	p.pieces = p.pieces[1:]
	return n, nil
}

func (p *inPieces) Close() error { return nil }

func answer(status int, body io.ReadCloser, header ...string) serverFunc {
	return func(r *http.Request) (*http.Response, error) {
		h := http.Header{}
		for i := 0; i+1 < len(header); i += 2 {
			h.Set(header[i], header[i+1])
		}
		return &http.Response{StatusCode: status, Header: h, Body: body, Request: r}, nil
	}
}

func record(t *testing.T, dir string, rt http.RoundTripper) http.RoundTripper {
	t.Helper()
	r, err := Record(dir, rt)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func replay(t *testing.T, dir string) http.RoundTripper {
	t.Helper()
	r, err := Replay(dir)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func post(t *testing.T, rt http.RoundTripper, url, body string, header ...string) (*http.Response, error) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i+1 < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	return rt.RoundTrip(r)
}

// drain reads a body in the pieces in which it comes.
func drain(resp *http.Response) (pieces []string, err error) {
	defer func() { _ = resp.Body.Close() }()
	buf := make([]byte, 1<<16)
	for {
		n, err := resp.Body.Read(buf)
		if n > 0 {
			pieces = append(pieces, string(buf[:n]))
		}
		if err == io.EOF {
			return pieces, nil
		}
		if err != nil {
			return pieces, err
		}
	}
}

func readFile(t *testing.T, dir, name string) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(dir, name))
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func TestRecordingIsAsDocumented(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "new")
	synctest.Test(t, func(t *testing.T) {
		rt := record(t, dir, answer(200, &inPieces{[]string{"data: a\n\n", "data: \xff\n\n"}, 5 * time.Millisecond, io.EOF}, "Content-Type", "text/event-stream", "Set-Cookie", "c=1"))
		resp, err := post(t, rt, "http://h/v1/x?api-version=3&key=sekret-12345678", `{"model":"m","n":12345678901234567890}`, "Accept", "text/event-stream", "X-Api-Key", "sk-1")
		if err != nil {
			t.Fatal(err)
		}
		if _, err := drain(resp); err != nil {
			t.Fatal(err)
		}
	})
	want := `{"v":1,"method":"POST","url":"http://h/v1/x?api-version=3&key=[redacted]","header":{"Accept":"text/event-stream","X-Api-Key":"[redacted]"},"body":{"model":"m","n":12345678901234567890}}
{"status":200,"header":{"Content-Type":"text/event-stream"},"ms":0}
{"ms":5,"data":"data: a\n\n"}
{"ms":10,"data64":"ZGF0YTog/woK"}
{"ms":10,"end":true}
`
	if got := readFile(t, dir, "0001.jsonl"); got != want {
		t.Errorf("file:\n%swant:\n%s", got, want)
	}
	info, err := os.Stat(filepath.Join(dir, "0001.jsonl"))
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
	resp, err := post(t, replay(t, dir), "https://elsewhere/v1/x", `{"model":"m"}`)
	if err != nil {
		t.Fatal(err)
	}
	pieces, err := drain(resp)
	if got := fmt.Sprintf("%q %v", pieces, err); got != `["data: a\n\n" "data: \xff\n\n"] <nil>` || resp.StatusCode != 200 || resp.Header.Get("Content-Type") != "text/event-stream" {
		t.Errorf("replayed %s, %v", got, resp)
	}
}

func TestEndings(t *testing.T) {
	dir := t.TempDir()
	refused := errors.New("dial: connection refused")
	for i, rt := range []http.RoundTripper{
		answer(200, &inPieces{pieces: []string{"half"}, end: io.ErrUnexpectedEOF}),
		serverFunc(func(*http.Request) (*http.Response, error) { return nil, refused }),
		answer(429, &inPieces{pieces: []string{"slow down"}, end: io.EOF}, "Retry-After", "7"),
		answer(200, &inPieces{pieces: []string{"read ", "never read"}, end: io.EOF}),
	} {
		resp, err := post(t, record(t, dir, rt), "http://h/v1/x", "no JSON")
		switch {
		case i == 1:
			if !errors.Is(err, refused) {
				t.Errorf("error %v", err)
			}
		case i == 3:
			b := make([]byte, 5)
			if _, err := io.ReadFull(resp.Body, b); err != nil {
				t.Error(err)
			}
			if err := resp.Body.Close(); err != nil {
				t.Error(err)
			}
		default:
			if _, err := drain(resp); (err != nil) != (i == 0) {
				t.Errorf("%d: %v", i, err)
			}
		}
	}
	var got []string
	rt := replay(t, dir)
	for range 5 {
		resp, err := post(t, rt, "http://h/v1/x", "")
		if err != nil {
			got = append(got, err.Error())
			continue
		}
		pieces, err := drain(resp)
		got = append(got, fmt.Sprintf("%d %s%v %v", resp.StatusCode, resp.Header.Get("Retry-After"), pieces, err))
	}
	want := []string{
		"200 [half] unexpected EOF (as recorded: unexpected EOF)", "dial: connection refused", "429 7[slow down] <nil>", "200 [read ] <nil>",
		"replay: the recordings (4) of POST /v1/x are used up; so are all others in " + dir,
	}
	for i := range want {
		if got[i] != want[i] {
			t.Errorf("%d: %s, want %s", i, got[i], want[i])
		}
	}
}

func TestMismatch(t *testing.T) {
	dir := t.TempDir()
	for _, r := range [][2]string{{"/v1/messages", "a"}, {"/v1/messages", "a"}, {"/v1/models", ""}, {"/v1/messages", "b"}, {"/v1/messages", "c"}} {
		resp, err := post(t, record(t, dir, answer(200, &inPieces{end: io.EOF})), "http://h"+r[0], `{"model":"`+r[1]+`"}`)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := drain(resp); err != nil {
			t.Fatal(err)
		}
	}
	rt := replay(t, dir)
	if _, err := post(t, rt, "http://h/v1/messages", `{"model":"a"}`); err != nil {
		t.Fatal(err)
	}
	_, err := post(t, rt, "http://h/v1/messages", `{"model":"x"}`)
	want := `replay: POST /v1/messages for the model "x" was not recorded; 0002.jsonl has POST /v1/messages for the model "a"; ` +
		`0003.jsonl has POST /v1/models; 0004.jsonl has POST /v1/messages for the model "b"; and 1 more`
	var e *llm.Error
	if !errors.As(err, &e) || e.Kind != llm.ErrRequest || e.Retryable() || e.Message != want {
		t.Errorf("error %v, want %s", err, want)
	}
	c, err := anthropic.New(llm.Connection{URL: "http://h/v1"}, rt)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Complete(t.Context(), &llm.Request{Model: "x"}, nil); !errors.As(err, &e) || e.Retryable() || !strings.Contains(err.Error(), want) {
		t.Errorf("through a client: %v", err)
	}
}

// TestNoSecretIsKept echoes every secret wherever it can be, also over the
// edges of pieces and compressed.
func TestNoSecretIsKept(t *testing.T) {
	const key, custom, query, password = "sk-TESTKEY123", `cus"tom/+secret`, "query-secret-00", "pass word"
	inJSON, err := json.Marshal(custom)
	if err != nil {
		t.Fatal(err)
	}
	echo := "data: " + key + " x-custom " + custom + " " + string(inJSON) + " " + query + " " + password + "\n\n"
	var zipped bytes.Buffer
	zw := gzip.NewWriter(&zipped)
	_, _ = io.WriteString(zw, echo)
	_ = zw.Close()
	var byByte []string
	for i := range echo {
		byByte = append(byByte, echo[i:i+1])
	}
	for name, rt := range map[string]http.RoundTripper{
		"plain":    answer(200, &inPieces{pieces: []string{echo}, end: io.EOF}, "X-Echo", key, "Content-Type", "text/"+key),
		"by byte":  answer(200, &inPieces{pieces: byByte, end: io.EOF}),
		"gzip":     answer(200, &inPieces{pieces: []string{zipped.String()}, end: io.EOF}, "Content-Encoding", "gzip"),
		"cut gzip": answer(200, &inPieces{pieces: []string{zipped.String()[:zipped.Len()-9]}, end: io.EOF}, "Content-Encoding", "gzip"),
		"br":       answer(200, &inPieces{pieces: []string{echo}, end: io.EOF}, "Content-Encoding", "br"),
		"error":    serverFunc(func(*http.Request) (*http.Response, error) { return nil, errors.New("bad " + key) }),
		"in error": answer(200, &inPieces{end: errors.New("broke at " + key)}),
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			r, err := http.NewRequest(http.MethodPost, "http://h/v1/"+key+"?key="+query+"&limit=5", strings.NewReader(`{"model":"m","text":"my key is `+key+`"}`))
			if err != nil {
				t.Fatal(err)
			}
			r.Header.Set("Authorization", "Bearer "+key)
			r.Header.Set("X-Custom", custom)
			r.Header.Set("X-Flag", "true")
			if name == "plain" {
				r.SetBasicAuth("user", password)
				r.Header.Set("X-Api-Key", key)
			}
			resp, err := record(t, dir, rt).RoundTrip(r)
			if err == nil {
				_, _ = drain(resp)
			}
			text := readFile(t, dir, "0001.jsonl")
			for _, secret := range []string{key, "TESTKEY", custom, "tom/+", query} {
				if strings.Contains(text, secret) {
					t.Errorf("%q is in the file:\n%s", secret, text)
				}
			}
			if name == "plain" && strings.Contains(text, password) {
				t.Errorf("the password is in the file:\n%s", text)
			}
			if name != "error" && name != "in error" && name != "br" && !strings.Contains(text, "data: [redacted] x-custom") {
				t.Errorf("the body is gone:\n%s", text)
			}
			if !json.Valid([]byte(strings.SplitN(text, "\n", 2)[0])) || !strings.Contains(text, `"model":"m"`) {
				t.Errorf("the request cannot be read:\n%s", text)
			}
		})
	}
}

func TestSeveralAtOnce(t *testing.T) {
	dir := t.TempDir()
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { _, _ = io.Copy(w, r.Body) }))
	defer srv.Close()
	a, b := record(t, dir, srv.Client().Transport), record(t, dir, srv.Client().Transport)
	ask := func(rt http.RoundTripper, n int) {
		var wg sync.WaitGroup
		for range n {
			wg.Go(func() {
				resp, err := post(t, rt, srv.URL+"/x", `{"model":"m"}`)
				if err != nil {
					t.Error(err)
					return
				}
				if pieces, err := drain(resp); err != nil || strings.Join(pieces, "") != `{"model":"m"}` {
					t.Error(pieces, err)
				}
			})
		}
		wg.Wait()
	}
	ask(a, 8)
	ask(b, 8)
	ask(a, 8)
	rt := replay(t, dir)
	ask(rt, 24)
	if _, err := post(t, rt, "http://h/x", `{"model":"m"}`); err == nil {
		t.Error("a 25th answer of 24")
	}
}

func TestRecordFailsLoudly(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "gone")
	rt := record(t, dir, answer(200, &inPieces{end: io.EOF}))
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	if _, err := post(t, rt, "http://h/x", ""); err == nil || !strings.Contains(err.Error(), "record: ") {
		t.Errorf("error %v", err)
	}
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Record(file, nil); err == nil {
		t.Error("a file is taken for a folder")
	}
	r := &recorder{dir: t.TempDir()}
	tk := &taker{owner: r}
	tk.file, _ = os.Open(file) // cannot be written to
	tk.finish(io.EOF)
	if _, err := post(t, r, "http://h/x", ""); err == nil || !strings.Contains(err.Error(), "an earlier exchange") {
		t.Errorf("after a file that could not be written: %v", err)
	}
}

func TestBadRecordings(t *testing.T) {
	head := `{"v":1,"method":"POST","url":"http://h/x"}` + "\n"
	for text, want := range map[string]string{
		"":                                "holds no request",
		"{":                               "0001.jsonl:1: unexpected end of JSON input",
		`{"method":"POST"}`:               "no version",
		`{"v":2,"method":"P","url":"/x"}`: "newer",
		`{"v":1,"url":"http://h/x"}`:      "needs a method",
		head + "x":                        "0001.jsonl:2: invalid",
		head + `{"status":7}`:             "status 7",
	} {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, "0001.jsonl"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := Replay(dir); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %s", text, err, want)
		}
	}
	if _, err := Replay(t.TempDir()); err == nil || !strings.Contains(err.Error(), "no recordings") {
		t.Errorf("an empty folder: %v", err)
	}
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "0001.jsonl"), []byte(head+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := post(t, replay(t, dir), "http://h/x", ""); err == nil || !strings.Contains(err.Error(), "holds no response") {
		t.Errorf("a request alone: %v", err)
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(`{"v":1,"method":"POST","url":"http://h/x","body":{"model":"m"}}` + "\n" + `{"status":200,"ms":1}` + "\n" + `{"ms":2,"data64":"/w=="}` + "\n" + `{"ms":2,"error":"x"}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		x, err := parse("0001.jsonl", data)
		if err != nil {
			return
		}
		if resp, err := x.response(&http.Request{}); err == nil {
			_, _ = drain(resp)
		}
	})
}

// ExampleReplay answers a client from a recording.
func ExampleReplay() {
	rt, err := Replay("testdata/hello")
	if err != nil {
		fmt.Println(err)
		return
	}
	c, err := openai.New(llm.Connection{URL: "http://any/v1"}, rt)
	if err != nil {
		fmt.Println(err)
		return
	}
	req := &llm.Request{Model: "m", Stream: true, Messages: []llm.Message{{Role: llm.RoleUser, Content: "hi"}}}
	for range 2 {
		resp, err := c.Complete(context.Background(), req, nil)
		if err != nil {
			fmt.Println(err)
			continue
		}
		fmt.Println(resp.Message.Content, resp.Finish)
	}
	// Output:
	// Hello there. stop
	// POST http://any/v1/chat/completions: replay: the recordings (1) of POST /v1/chat/completions for the model "m" are used up; so are all others in testdata/hello
}
