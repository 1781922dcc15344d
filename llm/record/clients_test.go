package record

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"clm/llm"
	"clm/llm/anthropic"
	"clm/llm/llmtest"
	"clm/llm/openai"
	"clm/llm/responses"
)

// TestClientsSeeTheSame records what clients of all dialects make of a server
// with faults, and replays it.
func TestClientsSeeTheSame(t *testing.T) {
	scripts := []string{
		"!split 3\n!text one two three\n!finish stop\n",
		"!status 429\n!header Retry-After: 3\n{\"error\":{\"message\":\"slow down\"}}\n",
		"!gzip\n{\"choices\":[{\"message\":{\"content\":\"in one piece\"},\"finish_reason\":\"stop\"}]}\n",
		"!text half of\n!close\n",
		"!sse\ndata: {\"type\":\"message_start\",\"message\":{}}\n\ndata: {\"type\":\"message_stop\"}\n\n",
		"!sse\ndata: {\"type\":\"response.completed\",\"response\":{\"status\":\"completed\",\"output\":[]}}\n\n",
		"!text a\n!hang\n",
	}
	synctest.Test(t, func(t *testing.T) {
		dir := t.TempDir()
		server := llmtest.NewTransport(llmtest.New(scripts...))
		recorded := outcomes(t, record(t, dir, server), len(scripts))
		server.Wait()
		replayed := outcomes(t, replay(t, dir), len(scripts))
		for i, want := range recorded {
			if i == len(scripts)-1 { // the client went away; now the answer ends early instead
				if !strings.HasPrefix(want, "error ") || !strings.HasPrefix(replayed[i], "error ") {
					t.Errorf("recorded %s, replayed %s", want, replayed[i])
				}
				continue
			}
			if replayed[i] != want {
				t.Errorf("script %d: recorded %s, replayed %s", i, want, replayed[i])
			}
		}
	})
}

// outcomes asks once for each script and says what came of it.
func outcomes(t *testing.T, rt http.RoundTripper, n int) []string {
	t.Helper()
	conn := llm.Connection{URL: "http://h/v1", Key: "sk-1234567"}
	chat, err := openai.New(conn, rt)
	if err != nil {
		t.Fatal(err)
	}
	messages, err := anthropic.New(conn, rt)
	if err != nil {
		t.Fatal(err)
	}
	items, err := responses.New(conn, rt)
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for i := range n {
		var c llm.Client = chat
		switch i {
		case 4:
			c = messages
		case 5:
			c = items
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		resp, err := c.Complete(ctx, &llm.Request{Model: "m", Stream: i != 2}, nil)
		cancel()
		if err != nil {
			out = append(out, "error "+err.Error())
			continue
		}
		out = append(out, fmt.Sprintf("%s %q", resp.Finish, resp.Message.Content))
	}
	return out
}
