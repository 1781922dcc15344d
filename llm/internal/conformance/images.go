package conformance

import (
	"io"
	"net/http"
	"strings"
	"testing"
)

// images holds that a conversation with an image goes on where the model takes
// none: the image becomes a note, for this model, at once and from then on.
func images(t *testing.T, d Dialect) {
	for _, tt := range []struct {
		status int
		body   string
		learns bool
	}{
		{500, `{"error":{"code":500,"message":"image input is not supported - hint: you may need to provide the mmproj","type":"server_error"}}`, true},
		{404, `{"error":{"message":"No endpoints found that support image input","code":404}}`, true},
		{400, `{"error":"this model is missing data required for image input"}`, true},
		{400, `{"error":{"message":"Invalid content type. image_url is only supported by certain models."}}`, true},
		{400, `{"error":{"message":"Failed to deserialize: unknown variant ` + "`image_url`" + `, expected ` + "`text`" + `"}}`, true},
		{400, `{"object":"error","message":"m is not a multimodal model","code":400}`, true},
		{400, `{"error":{"message":"Could not process image"}}`, false},
		{400, `{"error":{"message":"image exceeds 5 MB maximum"}}`, false},
	} {
		var bodies []string
		c := d.client(t, serverFunc(func(r *http.Request) (*http.Response, error) {
			b, err := io.ReadAll(r.Body)
			if err != nil {
				return nil, err
			}
			bodies = append(bodies, string(b))
			if strings.Contains(string(b), "YWJj") {
				return serve(tt.status, "application/json", strings.NewReader(tt.body))(r)
			}
			return events(d.Stream(plain))(r)
		}))
		for n := range 2 {
			_, err := c.Complete(t.Context(), conversation(d, true), nil)
			if (err == nil) != tt.learns {
				t.Errorf("%s, request %d: %v", tt.body, n+1, err)
			}
		}
		if !tt.learns {
			continue
		}
		if len(bodies) != 3 {
			t.Errorf("%s: %d requests, want 3", tt.body, len(bodies))
		}
		last := bodies[len(bodies)-1]
		if strings.Contains(last, "anBn") || !strings.Contains(last, "[the image a.png is not shown") || !strings.Contains(last, "the sum") {
			t.Errorf("%s: %s", tt.body, last)
		}
		other := conversation(d, true)
		other.Model = "that sees"
		if _, err := c.Complete(t.Context(), other, nil); err != nil || len(bodies) != 5 || !strings.Contains(bodies[3], "YWJj") {
			t.Errorf("another model is not shown the image: %v", err)
		}
	}
}
