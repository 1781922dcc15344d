package mcp

import (
	"context"
	"errors"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"clm/actors/internal/family"
)

type tripper func(*http.Request) (*http.Response, error)

func (f tripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// A server that does not answer the question for its stream must not hold up
// the handshake.
func TestServerWithoutAStreamOfItsOwn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, err := dialHTTP(Server{URL: "http://host/mcp"}, Options{Clock: family.SystemClock{}, Transport: tripper(func(r *http.Request) (*http.Response, error) {
			<-r.Context().Done()
			return nil, r.Context().Err()
		})})
		if err != nil {
			t.Fatal(err)
		}
		begun := time.Now()
		req, _ := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://host/mcp", nil)
		resp, err := r.RoundTrip(req)
		if err != nil || resp.StatusCode != http.StatusMethodNotAllowed || time.Since(begun) != listenWait {
			t.Errorf("got %v, %v after %v", resp, err, time.Since(begun))
		}
		req, _ = http.NewRequestWithContext(t.Context(), http.MethodPost, "http://host/mcp", nil)
		time.AfterFunc(time.Hour, r.abort)
		if _, err := r.RoundTrip(req); !errors.Is(err, context.Canceled) || time.Since(begun) != listenWait+time.Hour {
			t.Errorf("a request outlives its connection: %v after %v", err, time.Since(begun))
		}
	})
}
