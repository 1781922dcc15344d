package openai

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"clm/llm"
	"clm/llm/llmtest"
)

// TestServerThatNeverEnds holds that an answer which is complete is given even
// if the server keeps its stream open, or breaks it.
func TestServerThatNeverEnds(t *testing.T) {
	const answer = "!sse\ndata: {\"choices\":[{\"delta\":{\"content\":\"a\"},\"finish_reason\":\"stop\"}]}\n\n!flush\n"
	for script, limit := range map[string]time.Duration{
		answer + "!hang\n":                                                      5 * time.Second,
		answer + "data: [DONE]\n\n!flush\n!hang\n":                              2 * time.Second,
		answer + "!close\n":                                                     0,
		answer + strings.Repeat("!sleep 1000\n: ping\n\n", 100):                 5 * time.Second,
		answer + strings.Repeat("!sleep 1000\ndata: {\"choices\":[]}\n\n", 100): 5 * time.Second,
		answer + "!sleep 2000\n: ping\n\n!sleep 1500\ndata: {\"usage\":{\"prompt_tokens\":1}}\n\n": 5 * time.Second,
		answer + "!sleep 1000\n: ping\n\n!sleep 1000\n":                                            2 * time.Second,
	} {
		synctest.Test(t, func(t *testing.T) {
			rt := llmtest.NewTransport(llmtest.New(script))
			c, err := New(llm.Connection{URL: "http://h"}, rt)
			if err != nil {
				t.Fatal(err)
			}
			start := time.Now()
			resp, err := c.Complete(t.Context(), &llm.Request{Model: "m", Stream: true}, nil)
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
