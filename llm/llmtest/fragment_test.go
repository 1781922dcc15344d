package llmtest

import (
	"net/http/httptest"
	"strings"
	"testing"
)

// Arguments arrive in pieces; a piece that cut a character would arrive as
// two broken ones.
func TestArgumentsAreCutBetweenCharacters(t *testing.T) {
	w := httptest.NewRecorder()
	r := httptest.NewRequest("POST", "/v1/chat/completions", strings.NewReader(`{"stream":true}`))
	New("!tool c1 x {\"text\":\"grüße 日本🙂\"}\n!finish tool_calls\n").ServeHTTP(w, r)
	if body := w.Body.String(); strings.Contains(body, "\ufffd") || strings.Contains(body, `\ufffd`) {
		t.Errorf("broken characters in %s", body)
	}
}
