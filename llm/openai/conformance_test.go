package openai

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"clm/llm"
	"clm/llm/internal/conformance"
	"clm/llm/internal/wire"
)

func TestConformance(t *testing.T) {
	for _, kind := range []llm.Kind{llm.KindOpenAI, llm.KindOllama} {
		t.Run(string(kind), func(t *testing.T) { conformance.Run(t, dialect(kind)) })
	}
}

func dialect(kind llm.Kind) conformance.Dialect {
	return conformance.Dialect{
		Kind: kind, Path: path, New: newClient, Render: render, Whole: renderWhole, OpenEnd: true,
		Decoder: func(r *wire.Response, emit func(llm.Delta)) wire.Decoder {
			return newDecoder(r, emit, string(kind)+"/m")
		},
		Ping:     `data: {"choices":[{"index":0,"delta":{"role":"assistant","content":""},"finish_reason":null}]}` + "\n\n",
		Error:    func(msg string) string { return fmt.Sprintf("data: {\"error\":{\"message\":%q}}\n\n", msg) },
		MaxCalls: maxCalls,
	}
}

func newClient(conn llm.Connection, rt http.RoundTripper) (llm.Client, error) { return New(conn, rt) }

// render takes the text as JSON strings without their quotes.
func render(inner []string, a conformance.Answer) string {
	var b strings.Builder
	delta := func(format string, args ...any) {
		fmt.Fprintf(&b, "data: {\"id\":\"x\",\"model\":\"m\",\"choices\":[{\"index\":0,\"delta\":%s,\"finish_reason\":null}]}\n\n", fmt.Sprintf(format, args...))
	}
	delta(`{"role":"assistant"}`)
	for _, s := range inner {
		delta(`{"content":"%s"}`, s)
	}
	for i, c := range a.Calls {
		delta(`{"tool_calls":[{"index":%d,"id":%s,"type":"function","function":{"name":%s,"arguments":""}}]}`, i, conformance.Quote(c.ID), conformance.Quote(c.Name))
		for _, f := range c.Args {
			delta(`{"tool_calls":[{"index":%d,"function":{"arguments":%s}}]}`, i, conformance.Quote(f))
		}
	}
	fmt.Fprintf(&b, "data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":%q}],\"usage\":{\"prompt_tokens\":%d,\"completion_tokens\":%d}}\n\n", a.Finish, a.Usage.Input, a.Usage.Output)
	return b.String() + "data: [DONE]\n\n"
}

func renderWhole(a conformance.Answer) string {
	message := map[string]any{"role": "assistant", "content": strings.Join(a.Text, "")}
	var calls []any
	for _, c := range a.Calls {
		calls = append(calls, map[string]any{"id": c.ID, "function": map[string]any{"name": c.Name, "arguments": strings.Join(c.Args, "")}})
	}
	if calls != nil {
		message["content"], message["tool_calls"] = nil, calls
		if len(a.Text) > 0 {
			message["content"] = strings.Join(a.Text, "")
		}
	}
	return conformance.JSON(map[string]any{
		"choices": []any{map[string]any{"message": message, "finish_reason": a.Finish}},
		"usage":   map[string]any{"prompt_tokens": a.Usage.Input, "completion_tokens": a.Usage.Output},
	})
}
