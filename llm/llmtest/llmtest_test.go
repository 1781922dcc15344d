package llmtest

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

const streamBody = `{"stream":true}`

func post(ctx context.Context, rt http.RoundTripper, url, body string) (*http.Response, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, url, strings.NewReader(body))
	if err != nil {
		return nil, err
	}
	return rt.RoundTrip(r)
}

// play returns what a script makes of a request, and how reading it ended.
func play(t *testing.T, m *Model, body string) (*http.Response, string, error) {
	t.Helper()
	return playHandler(t, m, body)
}

func playHandler(t *testing.T, h http.Handler, body string) (*http.Response, string, error) {
	t.Helper()
	rt := NewTransport(h)
	resp, err := post(t.Context(), rt, "http://h/v1/chat/completions", body)
	if err != nil {
		return nil, "", err
	}
	defer func() { _ = resp.Body.Close() }()
	got, err := io.ReadAll(resp.Body)
	rt.Wait()
	return resp, string(got), err
}

func TestScripts(t *testing.T) {
	const head = `data: {"choices":[{"delta":`
	const tail = `,"finish_reason":null,"index":0}],"id":"chatcmpl-1","model":"mock","object":"chat.completion.chunk"}` + "\n\n"
	for _, tt := range []struct{ name, script, body, want, kind string }{
		{"raw", "data: x\n\n", streamBody, "data: x\n\n", "text/event-stream"},
		{"json", "{\"a\":1}\n", streamBody, "{\"a\":1}\n", "application/json"},
		{"nonl and repeat", "a\n!nonl\n!repeat 3 xy\nb\n", streamBody, "axyxyxyb\n", "text/event-stream"},
		{"header", "!header Content-Type: text/x\nq\n", streamBody, "q\n", "text/x"},
		{"text", "!text a b\n", streamBody, head + `{"content":"a "}` + tail + head + `{"content":"b"}` + tail, "text/event-stream"},
		{"reasoning", "!reasoning r\n", streamBody, head + `{"reasoning_content":"r"}` + tail, "text/event-stream"},
		{"tool", "!tool c1@2 add {}\n", streamBody, head + `{"tool_calls":[{"function":{"arguments":"","name":"add"},"id":"c1","index":2,"type":"function"}]}` + tail +
			head + `{"tool_calls":[{"function":{"arguments":"{}"},"index":2}]}` + tail, "text/event-stream"},
		{"tool without a name", "!tool c1\n", streamBody, head + `{"tool_calls":[{"function":{"arguments":"","name":""},"id":"c1","index":0,"type":"function"}]}` + tail, "text/event-stream"},
		{"error", "!error broke\n", streamBody, `data: {"error":{"code":500,"message":"broke","type":"server_error"}}` + "\n\n", "text/event-stream"},
		{"ping", "!ping\n", streamBody, ": ping\n\n", "text/event-stream"},
		{
			"whole", "!reasoning r\n!text a b\n!tool c1 add {\"x\":1234567}\n!tool c2@1 now\n!usage 3 4\n!finish stop\n", `{}`,
			`{"choices":[{"finish_reason":"stop","index":0,"message":{"content":"a b","reasoning_content":"r","role":"assistant","tool_calls":[{"function":{"arguments":"{\"x\":1234567}","name":"add"},"id":"c1","type":"function"},{"function":{"arguments":"","name":"now"},"id":"c2","type":"function"}]}}],"id":"chatcmpl-1","model":"mock","object":"chat.completion","usage":{"completion_tokens":4,"prompt_tokens":3,"total_tokens":7}}`, "application/json",
		},
		{"whole error", "!error broke\n", `{}`, `{"error":{"code":500,"message":"broke","type":"server_error"}}`, "application/json"},
		{"unknown", "!frobnicate\n", streamBody, "UNKNOWN DIRECTIVE frobnicate\n", "text/event-stream"},
		{"no file", "!file nothing\n", streamBody, "NO FILE nothing\n", "text/event-stream"},
	} {
		resp, got, err := play(t, New(tt.script), tt.body)
		if err != nil || got != tt.want || resp.Header.Get("Content-Type") != tt.kind {
			t.Errorf("%s: %v, %s\ngot  %s\nwant %s", tt.name, err, resp.Header, got, tt.want)
		}
	}
}

func TestScriptStatusFileAndGzip(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "f"), []byte("grüße"), 0o600); err != nil {
		t.Fatal(err)
	}
	m := New("!status 429\n!header Retry-After: 1\nslow\n", "!gzip\n!file f 1\n", "!split 2\nabcde\n")
	m.Dir = dir
	resp, got, err := play(t, m, streamBody)
	if err != nil || resp.StatusCode != 429 || resp.Header.Get("Retry-After") != "1" || got != "slow\n" {
		t.Errorf("%v %q %v", resp, got, err)
	}
	_, got, err = play(t, m, streamBody)
	if err != nil {
		t.Fatal(err)
	}
	zr, err := gzip.NewReader(strings.NewReader(got))
	if err != nil {
		t.Fatal(err)
	}
	if b, err := io.ReadAll(zr); err != nil || string(b) != "grüße" {
		t.Errorf("%q, %v", b, err)
	}
	if _, got, _ := play(t, m, streamBody); got != "abcde\n" {
		t.Errorf("split: %q", got)
	}
	if _, got, _ := play(t, m, streamBody); !strings.Contains(got, "done") || !strings.HasSuffix(got, "data: [DONE]\n\n") {
		t.Errorf("with no reply left: %q", got)
	}
}

// servers are the three ways to reach a handler.
func servers(t *testing.T, h http.Handler, f func(t *testing.T, rt http.RoundTripper, wait func())) {
	t.Run("call", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			rt := NewTransport(h)
			f(t, rt, rt.Wait)
		})
	})
	t.Run("pipe", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			s := ListenPipe(h)
			defer s.Close()
			rt := s.Attach(&http.Transport{})
			defer rt.CloseIdleConnections()
			f(t, rt, synctest.Wait)
		})
	})
}

func TestDropsAndVirtualTime(t *testing.T) {
	m := New()
	m.Reply = func(r *Request) string {
		return map[string]string{
			"/before": "!close first\n", "/amid": "some\n!flush\n!close\n", "/slow": "a\n!sleep 3600000\nb\n", "/paced": "!pace 1000\n!text a b c\n",
		}[r.Path]
	}
	servers(t, m, func(t *testing.T, rt http.RoundTripper, _ func()) {
		if resp, err := post(t.Context(), rt, "http://h/before", streamBody); err == nil {
			t.Errorf("before the header: %v", resp.Status)
		}
		resp, err := post(t.Context(), rt, "http://h/amid", streamBody)
		if err != nil {
			t.Fatal(err)
		}
		if b, err := io.ReadAll(resp.Body); !errors.Is(err, io.ErrUnexpectedEOF) || string(b) != "some\n" {
			t.Errorf("amid: %q, %v", b, err)
		}
		_ = resp.Body.Close()
		for path, want := range map[string]time.Duration{"/slow": time.Hour, "/paced": 3 * time.Second} {
			start := time.Now()
			resp, err := post(t.Context(), rt, "http://h"+path, streamBody)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := io.Copy(io.Discard, resp.Body); err != nil {
				t.Error(err)
			}
			_ = resp.Body.Close()
			if took := time.Since(start); took != want {
				t.Errorf("%s took %v, want %v", path, took, want)
			}
		}
	})
}

// TestTheServerSeesTheClientLeave ends requests before the header, in the
// body by the context, and in the body by closing it.
func TestTheServerSeesTheClientLeave(t *testing.T) {
	for _, how := range []string{"header", "context", "close"} {
		m := New()
		m.Reply = func(*Request) string {
			if how == "header" {
				return "!hang first\n"
			}
			return "a\n!hang\n"
		}
		servers(t, m, func(t *testing.T, rt http.RoundTripper, wait func()) {
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			defer cancel()
			resp, err := post(ctx, rt, "http://h/", streamBody)
			switch how {
			case "header":
				if !errors.Is(err, context.DeadlineExceeded) {
					t.Fatal(resp, err)
				}
			case "context":
				if _, err := io.ReadAll(resp.Body); !errors.Is(err, context.DeadlineExceeded) {
					t.Fatal(err)
				}
				_ = resp.Body.Close()
			case "close":
				_ = resp.Body.Close()
			}
			wait()
			reqs := m.Requests()
			if last := reqs[len(reqs)-1]; !last.Gone() || !last.Ended() || m.Active() != 0 {
				t.Errorf("%s: gone %v, ended %v, active %d", how, last.Gone(), last.Ended(), m.Active())
			}
		})
	}
}

func TestRecords(t *testing.T) {
	m := New("!sleep 1000\n!text hi\n!finish stop\n", "!sleep 1000\n!finish stop\n")
	m.Props = `{"n_ctx":7}`
	synctest.Test(t, func(t *testing.T) {
		rt := NewTransport(m)
		var all sync.WaitGroup
		for range 2 {
			all.Go(func() {
				resp, err := post(t.Context(), rt, "http://h/v1/chat/completions", `{"model":"x","stream":true}`)
				if err != nil {
					t.Error(err)
					return
				}
				_, _ = io.Copy(io.Discard, resp.Body)
				_ = resp.Body.Close()
			})
		}
		all.Wait()
		for _, path := range []string{"/v1/models", "/props", "/other"} {
			r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://h"+path, nil)
			if err != nil {
				t.Fatal(err)
			}
			resp, err := rt.RoundTrip(r)
			if err != nil {
				t.Fatal(err)
			}
			b, err := io.ReadAll(resp.Body)
			if err != nil || len(b) == 0 {
				t.Errorf("%s: %q %v", path, b, err)
			}
			_ = resp.Body.Close()
		}
		rt.Wait()
		if m.Parallel() != 2 || len(m.Requests()) != 2 || m.Requests()[0].Gone() || m.Requests()[1].JSON()["model"] != "x" {
			t.Errorf("parallel %d, %d requests", m.Parallel(), len(m.Requests()))
		}
		if got := strings.Join(m.Gets(), " "); got != "/v1/models /props /other" {
			t.Errorf("gets %s", got)
		}
	})
}

func TestForget(t *testing.T) {
	m := &Model{Forget: true}
	for range 3 {
		if _, _, err := play(t, m, streamBody); err != nil {
			t.Fatal(err)
		}
	}
	if m.Count() != 3 || len(m.Requests()) != 0 {
		t.Errorf("%d requests counted, %d kept", m.Count(), len(m.Requests()))
	}
}

func TestAHandlerThatPanics(t *testing.T) {
	rt := NewTransport(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, "x")
		panic("lost")
	}))
	resp, err := post(t.Context(), rt, "http://h/", "")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	if b, err := io.ReadAll(resp.Body); err == nil || !strings.Contains(err.Error(), "lost") || !bytes.Equal(b, []byte("x")) {
		t.Errorf("%q, %v", b, err)
	}
	rt.Wait()
}

func TestListenTCP(t *testing.T) {
	s, err := ListenTCP(New("!text hi\n!finish stop\n"))
	if err != nil {
		t.Fatal(err)
	}
	rt := s.Attach(&http.Transport{})
	resp, err := post(t.Context(), rt, s.URL+"/chat/completions", streamBody)
	if err != nil {
		t.Fatal(err)
	}
	b, err := io.ReadAll(resp.Body)
	_ = resp.Body.Close()
	if err != nil || !bytes.Contains(b, []byte("hi")) || s.Dials() != 1 {
		t.Errorf("%q, %v, %d dials", b, err, s.Dials())
	}
	rt.CloseIdleConnections()
	s.Close()
	if _, err := post(t.Context(), rt, s.URL, ""); err == nil {
		t.Error("a closed server answers")
	}
}
