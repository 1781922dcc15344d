package debug_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"clm/actors"
	"clm/actors/actorstest"
	"clm/actors/debug"
	"clm/actors/metrics"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func serve(t *testing.T) (*debug.Server, *http.Client) {
	t.Helper()
	s, err := debug.Serve("127.0.0.1:0", metrics.New(actorstest.Start(t, actors.Options{}).Engine))
	if err != nil {
		t.Fatal(err)
	}
	c := &http.Client{Transport: &http.Transport{}}
	t.Cleanup(c.CloseIdleConnections)
	return s, c
}

func get(t *testing.T, c *http.Client, s *debug.Server, path, host string) (status int, body string) {
	t.Helper()
	q, err := http.NewRequestWithContext(t.Context(), "GET", "http://"+s.Addr().String()+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	q.Host = host
	r, err := c.Do(q)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Body.Close()
	b, err := io.ReadAll(r.Body)
	if err != nil {
		t.Fatal(err)
	}
	return r.StatusCode, string(b)
}

func TestProfilesAndMetrics(t *testing.T) {
	s, c := serve(t)
	const gzip = "\x1f\x8b" // profiles are compressed protocol buffers
	for path, want := range map[string]string{
		"/debug/pprof/":                  "goroutine?debug=1",
		"/debug/pprof/heap":              gzip,
		"/debug/pprof/heap?gc=1&debug=1": "heap profile:",
		"/debug/pprof/goroutine?debug=2": "debug_test.TestProfilesAndMetrics",
		"/debug/pprof/profile?seconds=0": gzip,
		"/debug/pprof/trace?seconds=0":   "go 1.",
		"/metrics":                       `clm_actors{kind="engine"} 1`,
	} {
		if status, body := get(t, c, s, path, ""); status != http.StatusOK || !strings.Contains(body, want) {
			t.Errorf("%s: %d, %.300q; want %q", path, status, body, want)
		}
	}
	for path, want := range map[string]int{
		"/debug/pprof/nothing":                 http.StatusNotFound,
		"/debug/pprof/profile?seconds=100000":  http.StatusBadRequest,
		"/debug/pprof/goroutine?debug=x":       http.StatusBadRequest,
		"/debug/pprof/profile?seconds=-1":      http.StatusBadRequest,
		"/debug/pprof/goroutine/debug_test.go": http.StatusNotFound,
	} {
		if status, body := get(t, c, s, path, ""); status != want {
			t.Errorf("%s: %d, %.300q; want %d", path, status, body, want)
		}
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	if err := s.Close(); err != nil {
		t.Errorf("closed again: %v", err)
	}
}

// Only this machine may ask, also by way of a browser's page.
func TestLoopbackOnly(t *testing.T) {
	for _, addr := range []string{":0", "0.0.0.0:0", "[::]:0", "192.0.2.1:6060", "6060", "", "127.0.0.1", "127.0.0.1:x"} {
		s, err := debug.Serve(addr, nil)
		if err == nil {
			t.Errorf("%q is taken", addr)
			_ = s.Close()
		} else if !strings.Contains(err.Error(), "debug address") {
			t.Errorf("%q: %v", addr, err)
		}
	}
	s, c := serve(t)
	for host, want := range map[string]int{
		"": 200, "localhost": 200, "localhost:1": 200, "127.0.0.1:80": 200, "[::1]:80": 200, "[::1]": 200,
		"evil.example": 403, "evil.example:6060": 403, "localhost.evil.example": 403, "192.0.2.1": 403,
	} {
		if status, body := get(t, c, s, "/debug/pprof/", host); status != want {
			t.Errorf("host %q: %d, %.200q; want %d", host, status, body, want)
		}
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}

// A profile that is being taken does not hold up the end.
func TestCloseEndsProfiles(t *testing.T) {
	s, c := serve(t)
	ended := make(chan error)
	go func() {
		r, err := c.Get("http://" + s.Addr().String() + "/debug/pprof/profile?seconds=600")
		if err == nil {
			_, err = io.Copy(io.Discard, r.Body)
			err = errors.Join(err, r.Body.Close())
		}
		ended <- err
	}()
	// The second profile is refused as soon as the first is being taken.
	for status := 0; status != http.StatusServiceUnavailable; time.Sleep(time.Millisecond) {
		status, _ = get(t, c, s, "/debug/pprof/profile?seconds=0", "")
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	go func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
		cancel()
	}()
	select {
	case <-ended: // with an answer or without
	case <-time.After(time.Minute):
		t.Error("the profile goes on")
	}
	<-ctx.Done()
}

// An embedder's default mux stays as it was.
func TestDefaultMuxIsUntouched(t *testing.T) {
	q, err := http.NewRequestWithContext(t.Context(), "GET", "http://x/debug/pprof/", nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, pattern := http.DefaultServeMux.Handler(q); pattern != "" {
		t.Errorf("the default mux has a handler for %s", pattern)
	}
}
