package sdkcheck

import (
	"net/http"
	"testing"

	sdk "github.com/anthropics/anthropic-sdk-go"
	"github.com/anthropics/anthropic-sdk-go/option"

	"clm/llm"
	"clm/llm/anthropic"
)

const anthropicAnswer = `event: message_start
data: {"type":"message_start","message":{"id":"msg_1","type":"message","role":"assistant","model":"claude-x","content":[],"stop_reason":null,"usage":{"input_tokens":10,"output_tokens":1}}}

event: content_block_start
data: {"type":"content_block_start","index":0,"content_block":{"type":"thinking","thinking":"","signature":""}}

event: content_block_delta
data: {"type":"content_block_delta","index":0,"delta":{"type":"thinking_delta","thinking":"Let me <see> \"it\"."}}

event: content_block_delta
data: {"type":"content_block_delta","index":0,"delta":{"type":"signature_delta","signature":"EqQBCg+/="}}

event: content_block_stop
data: {"type":"content_block_stop","index":0}

event: content_block_start
data: {"type":"content_block_start","index":1,"content_block":{"type":"redacted_thinking","data":"Emw/K+=="}}

event: content_block_stop
data: {"type":"content_block_stop","index":1}

event: content_block_start
data: {"type":"content_block_start","index":2,"content_block":{"type":"text","text":""}}

event: content_block_delta
data: {"type":"content_block_delta","index":2,"delta":{"type":"text_delta","text":"I look."}}

event: content_block_stop
data: {"type":"content_block_stop","index":2}

event: content_block_start
data: {"type":"content_block_start","index":3,"content_block":{"type":"tool_use","id":"call_1","name":"up","input":{}}}

event: content_block_delta
data: {"type":"content_block_delta","index":3,"delta":{"type":"input_json_delta","partial_json":"{\"s\": \"a\", \"n\": 1.50}"}}

event: content_block_stop
data: {"type":"content_block_stop","index":3}

event: content_block_start
data: {"type":"content_block_start","index":4,"content_block":{"type":"tool_use","id":"call_2","name":"now","input":{}}}

event: content_block_stop
data: {"type":"content_block_stop","index":4}

event: message_delta
data: {"type":"message_delta","delta":{"stop_reason":"tool_use","stop_sequence":null},"usage":{"output_tokens":9}}

event: message_stop
data: {"type":"message_stop"}

`

func oursToAnthropic(t *testing.T) *wire {
	t.Helper()
	return ours(t, llm.KindAnthropic, anthropicAnswer, func(conn llm.Connection, rt http.RoundTripper) (llm.Client, error) {
		return anthropic.New(conn, rt)
	})
}

func theirsToAnthropic(t *testing.T) *wire {
	t.Helper()
	w := &wire{answer: anthropicAnswer}
	c := sdk.NewClient(option.WithBaseURL("http://h"), option.WithAPIKey("key-a"), option.WithHTTPClient(&http.Client{Transport: w}), option.WithMaxRetries(0))
	params := sdk.MessageNewParams{
		Model: model, MaxTokens: 100, System: []sdk.TextBlockParam{{Text: "be brief"}},
		ToolChoice: sdk.ToolChoiceUnionParam{OfAuto: &sdk.ToolChoiceAutoParam{DisableParallelToolUse: sdk.Bool(true)}},
		Tools: []sdk.ToolUnionParam{
			{OfTool: &sdk.ToolParam{Name: "now", InputSchema: sdk.ToolInputSchemaParam{Properties: map[string]any{}}}},
			{OfTool: &sdk.ToolParam{Name: "up", Description: sdk.String("upcase"), InputSchema: sdk.ToolInputSchemaParam{
				Properties: map[string]any{"s": map[string]any{"type": "string"}}, Required: []string{"s"},
			}}},
		},
		Messages: []sdk.MessageParam{sdk.NewUserMessage(sdk.NewImageBlockBase64("image/png", "cG5n"), sdk.NewTextBlock(prompt))},
	}
	for range 2 {
		stream := c.Messages.NewStreaming(t.Context(), params)
		var m sdk.Message
		for stream.Next() {
			if err := m.Accumulate(stream.Current()); err != nil {
				t.Fatal(err)
			}
		}
		if err := stream.Err(); err != nil {
			t.Fatal(err)
		}
		params.Messages = append(params.Messages, m.ToParam(), sdk.NewUserMessage(
			sdk.NewToolResultBlock("call_1", "A", false), sdk.NewToolResultBlock("call_2", "broken", true), sdk.NewTextBlock("hurry"),
		))
	}
	return w
}

func TestAnthropicRequests(t *testing.T) {
	compare(t, oursToAnthropic(t), theirsToAnthropic(t), alikeToAnthropic, "X-Api-Key", "Anthropic-Version")
}

// alikeToAnthropic drops the cache marks, which the SDK leaves to its user, and
// an is_error of false, and makes blocks of texts.
func alikeToAnthropic(v map[string]any) {
	delete(v, "cache_control")
	if v["is_error"] == false {
		delete(v, "is_error")
	}
	if s, ok := v["content"].(string); ok {
		v["content"] = []any{map[string]any{"type": "text", "text": s}}
	}
}
