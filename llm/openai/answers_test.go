package openai

import (
	"io"
	"net/http"
	"testing"

	"clm/llm"
	"clm/llm/internal/conformance"
)

func TestAnswers(t *testing.T) { conformance.Files(t, dialect(llm.KindOpenAI)) }

func FuzzAnswer(f *testing.F) { conformance.Fuzz(f, dialect(llm.KindOpenAI)) }

// body200 answers everything with a body.
type body200 struct{ body io.Reader }

func (b body200) RoundTrip(r *http.Request) (*http.Response, error) {
	return &http.Response{StatusCode: http.StatusOK, Header: http.Header{}, Body: io.NopCloser(b.body), Request: r}, nil
}
