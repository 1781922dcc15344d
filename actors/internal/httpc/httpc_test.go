package httpc

import (
	"compress/gzip"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// server answers by path: what a plugin may meet.
func server(t *testing.T) (http.RoundTripper, string, string) {
	t.Helper()
	var plainURL, tlsURL string
	mux := http.NewServeMux()
	mux.HandleFunc("/echo", func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		fmt.Fprintf(w, "%s %s|%s|%s|%s|%s|%s", r.Method, body, r.UserAgent(), r.Header.Get("Content-Type"), r.Header.Get("X-Key"), r.Referer(), r.Host)
	})
	mux.HandleFunc("/status", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(418) })
	mux.HandleFunc("/big", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, strings.Repeat("x", 5000)) })
	mux.HandleFunc("/gzip", func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Accept-Encoding") != "gzip" {
			t.Errorf("Accept-Encoding is %q", r.Header.Get("Accept-Encoding"))
		}
		w.Header().Set("Content-Encoding", "gzip")
		z := gzip.NewWriter(w)
		fmt.Fprint(z, strings.Repeat("y", 4000))
		z.Close()
	})
	mux.HandleFunc("/bomb", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Encoding", "gzip")
		z := gzip.NewWriter(w)
		for range 1000 {
			if _, err := z.Write(make([]byte, 1<<16)); err != nil {
				return
			}
		}
		z.Close()
	})
	mux.HandleFunc("/nogzip", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Encoding", "gzip")
		fmt.Fprint(w, "plain text")
	})
	mux.HandleFunc("/cut", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Length", "100")
		fmt.Fprint(w, "short")
	})
	mux.HandleFunc("/endless", func(w http.ResponseWriter, r *http.Request) {
		w.(http.Flusher).Flush()
		<-r.Context().Done()
	})
	mux.HandleFunc("/loop", func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/loop", http.StatusFound) })
	mux.HandleFunc("/to", func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, strings.NewReplacer("PLAIN", plainURL, "TLS", tlsURL).Replace(r.URL.Query().Get("u")), http.StatusTemporaryRedirect)
	})
	one, two := httptest.NewServer(mux), httptest.NewUnstartedServer(mux)
	two.Config.ErrorLog = log.New(io.Discard, "", 0) // refused handshakes
	two.StartTLS()
	plainURL, tlsURL = one.URL, two.URL
	rt := &http.Transport{TLSClientConfig: two.Client().Transport.(*http.Transport).TLSClientConfig, DisableCompression: true}
	t.Cleanup(func() {
		rt.CloseIdleConnections()
		one.Close()
		two.Close()
	})
	return rt, plainURL, tlsURL
}

func do(rt http.RoundTripper, r Request) string {
	if r.Method == "" {
		r.Method = "GET"
	}
	if r.MaxBody == 0 {
		r.MaxBody = 4500
	}
	r.Tool, r.Version = "weather", "1.2"
	resp, err := Do(context.Background(), rt, r)
	if err != nil {
		return "error: " + err.Error()
	}
	return fmt.Sprint(resp.Status, " ", resp.Body)
}

func TestDo(t *testing.T) {
	rt, base, secure := server(t)
	host := strings.TrimPrefix(base, "http://")
	other := strings.Replace(base, "127.0.0.1", "localhost", 1)
	key := []Header{{"X-Key", "k"}}
	to := func(u string) string { return base + "/to?u=" + url.QueryEscape(u) }
	for _, c := range []struct {
		name string
		r    Request
		want string // a prefix when it ends in …
	}{
		{"get", Request{URL: base + "/echo"}, "200 GET |clm/1.2 (tool weather)||||" + host},
		{"post", Request{Method: "POST", URL: base + "/echo", Body: "{}"}, "200 POST {}|clm/1.2 (tool weather)|application/json|||" + host},
		{"post text", Request{Method: "POST", URL: base + "/echo", Headers: []Header{{"content-type", "text/plain"}}}, "200 POST |clm/1.2 (tool weather)|text/plain|||" + host},
		{"header", Request{URL: base + "/echo", Headers: append(key, Header{"Host", "v.example"})}, "200 GET |clm/1.2 (tool weather)||k||v.example"},
		{"status", Request{URL: base + "/status"}, "418 "},
		{"gzip", Request{URL: base + "/gzip"}, "200 " + strings.Repeat("y", 4000)},
		{"too large", Request{URL: base + "/big"}, "error: GET " + base + "/big: the body is larger than the 4500 bytes that the plugin has free"},
		{"exact", Request{URL: base + "/big", MaxBody: 5000}, "200 " + strings.Repeat("x", 5000)},
		{"bomb", Request{URL: base + "/bomb"}, "error: GET " + base + "/bomb: the body is larger than the 4500 bytes that the plugin has free"},
		{"not gzip", Request{URL: base + "/nogzip"}, "error: GET " + base + "/nogzip: the body is not gzip…"},
		{"cut", Request{URL: base + "/cut"}, "error: GET " + base + "/cut: the body broke off after 5 bytes: unexpected EOF"},
		{"loop", Request{URL: base + "/loop"}, "error: GET " + base + "/loop: more than 10 redirects"},
		{"redirect", Request{Method: "POST", URL: to("/echo"), Body: "b", Headers: key}, "200 POST b|clm/1.2 (tool weather)|application/json|k||" + host},
		{"redirect to another host", Request{Method: "POST", URL: to(other + "/echo"), Body: "b", Headers: key}, "200 POST b|clm/1.2 (tool weather)|application/json|||" + strings.TrimPrefix(other, "http://")},
		{"redirect to https", Request{URL: to("TLS/echo")}, "200 GET |clm…"},
		{"redirect to http", Request{URL: secure + "/to?u=PLAIN/echo"}, "error: GET " + secure + "/to: a redirect from https to http"},
		{"redirect to a file", Request{URL: to("file:///etc/passwd")}, "error: GET " + base + "/to: a redirect to file, which is neither http nor https"},
		{"file", Request{URL: "file:///etc/passwd"}, "error: not an http or https URL: file:///etc/passwd"},
		{"no host", Request{URL: "http://"}, "error: not an http or https URL: http://"},
		{"nothing", Request{}, "error: not an http or https URL: "},
		{"control", Request{URL: "http://a\r\nb/"}, "error: not an http or https URL: http://a..b/"},
		{"bad with a key", Request{URL: "htp://u:secret@h/x?key=secret"}, "error: not an http or https URL: …@h/x"},
		{"method", Request{Method: "DELETE", URL: base}, `error: the method "DELETE" is neither GET nor POST`},
		{"header with a line", Request{URL: base, Headers: []Header{{"X", "a\r\nY: b"}}}, "error: the header X has a control character in its value"},
		{"header name", Request{URL: base, Headers: []Header{{"X: y", "a"}}}, "error: the header X: y has a name that is no token"},
		{"framing", Request{URL: base, Headers: []Header{{"Transfer-Encoding", "chunked"}}}, "error: the header Transfer-Encoding cannot be set…"},
		{"many headers", Request{URL: base, Headers: make([]Header, 101)}, "error: more than 100 headers"},
		{"long header", Request{URL: base, Headers: []Header{{"X", strings.Repeat("x", maxHeaderLen)}}}, "error: the headers are longer…"},
		{"long URL", Request{URL: base + strings.Repeat("/", maxURL)}, "error: the URL is longer…"},
		{"https to http", Request{URL: strings.Replace(base, "http:", "https:", 1)}, "error: GET https://" + host + ": the server speaks http, not https"},
		{"key in the query", Request{URL: "http://u:secret@127.0.0.1:1/p?key=secret#secret"}, "error: GET http://127.0.0.1:1/p: connection refused"},
	} {
		got := do(rt, c.r)
		if prefix, ok := strings.CutSuffix(c.want, "…"); got != c.want && !(ok && strings.HasPrefix(got, prefix)) {
			t.Errorf("%s: got %.300q, want %q", c.name, got, c.want)
		}
	}
}

func TestCertificate(t *testing.T) {
	_, _, secure := server(t)
	rt := &http.Transport{TLSClientConfig: &tls.Config{}}
	defer rt.CloseIdleConnections()
	if got := do(rt, Request{URL: secure}); !strings.Contains(got, "certificate is not valid") {
		t.Errorf("got %s", got)
	}
}

type failing struct{ err error }

func (f failing) RoundTrip(*http.Request) (*http.Response, error) { return nil, f.err }

func TestErrorsAreShort(t *testing.T) {
	for want, err := range map[string]error{
		"unknown host x":           &net.OpError{Op: "dial", Err: &net.DNSError{Name: "x", IsNotFound: true}},
		"could not be looked up":   &net.DNSError{Name: "x"},
		"does not answer in time":  context.DeadlineExceeded,
		"closed the connection":    io.EOF,
		strings.Repeat("z", 50):    errors.New(strings.Repeat("z", 10_000) + "\x1b[2J"),
		"no route":                 &net.OpError{Op: "dial", Net: "tcp", Err: errors.New("no route")},
		"reset.by.peer.\u00e9..[2": errors.New("reset\nby\tpeer\x00\u00e9\u202e\x1b[2"),
	} {
		got := do(failing{err}, Request{URL: "http://host/" + strings.Repeat("p", 4000)})
		if !strings.Contains(got, want) || len(got) > 400 {
			t.Errorf("got %d bytes %.500q, want %q", len(got), got, want)
		}
	}
}

func TestCancel(t *testing.T) {
	rt, base, _ := server(t)
	ctx, cancel := context.WithCancel(t.Context())
	seen := roundTrip(func(r *http.Request) (*http.Response, error) {
		resp, err := rt.RoundTrip(r)
		cancel() // the head has come, the body never will
		return resp, err
	})
	if _, err := Do(ctx, seen, Request{Method: "GET", URL: base + "/endless", MaxBody: 10}); err != context.Canceled {
		t.Errorf("got %v", err)
	}
}

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// A header that is let through cannot begin a second one.
func FuzzBuild(f *testing.F) {
	f.Add("http://a/b?c", "X-A", "b")
	f.Add("https://u:p@a", "Host", "b\r\nc")
	f.Add("//a", "content-length", "5")
	f.Fuzz(func(t *testing.T, u, name, value string) {
		req, err := build(context.Background(), Request{Method: "POST", URL: u, Headers: []Header{{name, value}}, Tool: "t", Version: "1"})
		if err != nil {
			if len(err.Error()) > 400 || strings.ContainsAny(err.Error(), "\r\n\x1b") {
				t.Fatalf("error %q", err)
			}
			return
		}
		var b strings.Builder
		if err := req.Write(&b); err == nil && strings.Count(b.String(), "\r\n") > 9 {
			t.Fatalf("%q", b.String())
		}
	})
}
