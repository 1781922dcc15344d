package conformance

import (
	"strings"
	"testing"

	"pgregory.net/rapid"

	"clm/llm"
)

// prefixes sends the requests of a random conversation as it grows. What one
// request said of it the next repeats byte for byte, but for the marks of
// caches, up to the first result that was superseded in between.
func prefixes(t *testing.T, d Dialect) {
	rapid.Check(t, func(rt *rapid.T) {
		var sent string
		c := d.client(t, recorder(&sent, d.Stream(plain)))
		h := llm.NewHistory(nil)
		before := ""
		for n := range rapid.IntRange(2, 8).Draw(rt, "requests") {
			h.Append(exchange(rt, n)...)
			old := before
			if rapid.IntRange(0, 3).Draw(rt, "supersede") == 0 {
				h.Supersede(func(name string) bool { return name == "map_read" })
				old = "" // the next comparison is with what comes now
			}
			if _, err := c.Complete(t.Context(), &llm.Request{Model: "m", Stream: true, Messages: h.Request(string(d.Kind) + "/m")}, nil); err != nil {
				rt.Fatal(err)
			}
			before = conversationOf(rt, sent)
			if !strings.HasPrefix(before, strings.TrimRight(old, "]}")) {
				rt.Fatalf("request %d does not continue the one before:\n%s\nafter\n%s", n, before, old)
			}
		}
	})
}

// exchange is what one step of a turn may add: a prompt, or an answer with
// calls and results, some of them missing, repeated, or in disorder.
func exchange(rt *rapid.T, n int) []llm.Message {
	if n == 0 || rapid.IntRange(0, 3).Draw(rt, "prompt") == 0 {
		return []llm.Message{{Role: llm.RoleUser, Content: rapid.StringN(1, 20, -1).Draw(rt, "prompt")}}
	}
	answer := llm.Message{Role: llm.RoleAssistant, Content: rapid.StringN(0, 10, -1).Draw(rt, "answer")}
	var results []llm.Message
	for range rapid.IntRange(0, 3).Draw(rt, "calls") {
		id := rapid.SampledFrom([]string{"a", "b", ""}).Draw(rt, "id")
		name := rapid.SampledFrom([]string{"map_read", "run"}).Draw(rt, "name")
		answer.ToolCalls = append(answer.ToolCalls, llm.ToolCall{ID: id, Name: name, Args: rapid.SampledFrom([]string{"", "{}", `{"x": 1}`, `{"cut`}).Draw(rt, "args")})
		for range rapid.IntRange(0, 2).Draw(rt, "results") {
			results = append(results, llm.Message{Role: llm.RoleTool, ToolCallID: id, Content: rapid.StringN(0, 10, -1).Draw(rt, "result")})
		}
	}
	if rapid.Bool().Draw(rt, "steered") {
		results = append(results, llm.Message{Role: llm.RoleUser, Content: "steer"})
	}
	if len(results) > 1 {
		results = rapid.Permutation(results).Draw(rt, "order")
	}
	return append([]llm.Message{answer}, results...)
}

// conversationOf is the list of messages or items in a request's body.
func conversationOf(rt *rapid.T, body string) string {
	body = strings.ReplaceAll(body, `,"cache_control":{"type":"ephemeral"}`, "")
	for _, name := range []string{`"messages":[`, `"input":[`} {
		if _, list, ok := strings.Cut(body, name); ok {
			depth, inString := 1, false
			for i := 0; i < len(list); i++ {
				switch c := list[i]; {
				case inString && c == '\\':
					i++
				case c == '"':
					inString = !inString
				case inString:
				case c == '[' || c == '{':
					depth++
				case c == ']' || c == '}':
					if depth--; depth == 0 {
						return list[:i]
					}
				}
			}
		}
	}
	rt.Fatalf("no list of messages in %s", body)
	return ""
}
