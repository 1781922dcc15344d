package conformance

import (
	"io"
	"net/http"
	"strings"
)

// Server is a transport that answers each request alike and keeps what it was
// asked.
type Server struct {
	Status int // 0 means 200
	Body   string

	Bodies []string      // of the requests
	Last   *http.Request // the newest
}

// RoundTrip implements [http.RoundTripper].
func (s *Server) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Body != nil {
		b, err := io.ReadAll(r.Body)
		if err != nil {
			return nil, err
		}
		s.Bodies = append(s.Bodies, string(b))
	}
	s.Last = r
	body := io.NopCloser(strings.NewReader(s.Body))
	return &http.Response{StatusCode: max(s.Status, http.StatusOK), Header: http.Header{}, Body: body, Request: r}, nil
}
