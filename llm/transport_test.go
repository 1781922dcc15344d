package llm_test

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"testing"

	"clm/llm"
	"clm/llm/openai"
)

// TestProxy holds that requests go through the proxy that the environment names.
// The standard library reads it once in a process, so this is the only test
// here that makes requests.
func TestProxy(t *testing.T) {
	var asked []string
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked = append(asked, r.Method+" "+r.URL.String()+" "+r.Header.Get("Authorization"))
		http.Error(w, `{"error":"seen"}`, http.StatusTeapot)
	}))
	defer proxy.Close()
	for _, name := range []string{"http_proxy", "NO_PROXY", "no_proxy", "REQUEST_METHOD"} {
		t.Setenv(name, "")
	}
	t.Setenv("HTTP_PROXY", proxy.URL)
	rt := llm.NewTransport()
	defer rt.CloseIdleConnections()
	c, err := openai.New(llm.Connection{URL: "http://model.invalid/v1", Key: "sk-1234"}, rt)
	if err != nil {
		t.Fatal(err)
	}
	var e *llm.Error
	if _, err := c.Complete(t.Context(), &llm.Request{Model: "m"}, nil); !errors.As(err, &e) || e.Status != http.StatusTeapot || e.Message != "seen" {
		t.Errorf("err = %v", err)
	}
	if len(asked) != 1 || asked[0] != "POST http://model.invalid/v1/chat/completions Bearer sk-1234" {
		t.Errorf("the proxy was asked %q", asked)
	}
}
