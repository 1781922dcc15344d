package anthropic

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"clm/llm"
	"clm/llm/internal/conformance"
	"clm/llm/llmtest"
)

// TestServerThatNeverEnds holds that an answer which is complete is given even
// if the server keeps its stream open, pings on, or breaks it.
func TestServerThatNeverEnds(t *testing.T) {
	const ping = "!sleep 1000\nevent: ping\ndata: {\"type\":\"ping\"}\n\n"
	const stop = "event: message_stop\ndata: {\"type\":\"message_stop\"}\n\n!flush\n"
	whole := dialect.Stream(conformance.Answer{Text: []string{"a"}, Finish: llm.FinishStop})
	answer, _, _ := strings.Cut(whole, "event: message_stop")
	answer = "!sse\n" + answer + "!flush\n"
	for script, limit := range map[string]time.Duration{
		answer + "!hang\n":                    5 * time.Second,
		answer + stop + "!hang\n":             2 * time.Second,
		answer + "!close\n":                   0,
		answer + strings.Repeat(ping, 100):    5 * time.Second,
		answer + ping + stop + "!sleep 100\n": 2 * time.Second,
	} {
		synctest.Test(t, func(t *testing.T) {
			rt := llmtest.NewTransport(llmtest.New(script))
			start := time.Now()
			resp, err := client(t, rt).Complete(t.Context(), &llm.Request{Model: "m", Stream: true}, nil)
			if err != nil || resp.Message.Content != "a" {
				t.Errorf("%q: %v", script, err)
			}
			if took := time.Since(start); took > limit {
				t.Errorf("%q took %v", script, took)
			}
			rt.Wait()
		})
	}
}
