package main

import (
	"crypto/tls"
	"net/http"
	"testing"
)

type named string

func (n named) RoundTrip(r *http.Request) (*http.Response, error) {
	return &http.Response{Status: string(n), Body: http.NoBody, Request: r}, nil
}

// TestWhatIsRecorded holds which requests are a model's: also those for its
// server's properties, which a replay would make otherwise.
func TestWhatIsRecorded(t *testing.T) {
	s := &splitTransport{model: named("model"), rest: &http.Transport{TLSNextProto: map[string]func(string, *tls.Conn) http.RoundTripper{}}}
	s.rest.RegisterProtocol("http", named("rest"))
	s.rest.RegisterProtocol("https", named("rest"))
	for _, u := range []string{"", "http://me:pw@local:8081/v1", "https://gate/api/v1/", "http://plain"} {
		s.add(u)
	}
	for u, want := range map[string]string{
		"http://local:8081/v1/chat/completions": "model", "http://local:8081/props": "model", "http://LOCAL:8081/v1/models": "model",
		"http://local:8082/v1/models": "rest", "https://local:8081/v1/models": "rest", "http://local.evil:8081/v1/models": "rest",
		"https://gate/api/v1/models": "model", "https://gate/api/props": "model", "https://gate/apis/v1": "rest", "https://gate/other": "rest",
		"http://plain/chat/completions": "model", "http://plain.org/chat/completions": "rest", "http://web/page": "rest",
	} {
		req, err := http.NewRequest(http.MethodGet, u, nil)
		if err != nil {
			t.Fatal(err)
		}
		resp, err := s.RoundTrip(req)
		if err != nil || resp.Status != want {
			t.Errorf("%s went to %v, %v", u, resp, err)
		}
	}
}
