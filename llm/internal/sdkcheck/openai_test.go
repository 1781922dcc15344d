package sdkcheck

import (
	"net/http"
	"testing"

	sdk "github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"
	"github.com/openai/openai-go/v3/shared"

	"clm/llm"
	"clm/llm/openai"
)

const chatAnswer = `data: {"id":"c","object":"chat.completion.chunk","created":1,"model":"x","choices":[{"index":0,"delta":{"role":"assistant","content":""},"finish_reason":null}]}

data: {"id":"c","object":"chat.completion.chunk","created":1,"model":"x","choices":[{"index":0,"delta":{"content":"I look."},"finish_reason":null}]}

data: {"id":"c","object":"chat.completion.chunk","created":1,"model":"x","choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"call_1","type":"function","function":{"name":"up","arguments":""}}]},"finish_reason":null}]}

data: {"id":"c","object":"chat.completion.chunk","created":1,"model":"x","choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"function":{"arguments":"{\"s\": \"a\", \"n\": 1.50}"}}]},"finish_reason":null}]}

data: {"id":"c","object":"chat.completion.chunk","created":1,"model":"x","choices":[{"index":0,"delta":{"tool_calls":[{"index":1,"id":"call_2","type":"function","function":{"name":"now","arguments":"{}"}}]},"finish_reason":null}]}

data: {"id":"c","object":"chat.completion.chunk","created":1,"model":"x","choices":[{"index":0,"delta":{},"finish_reason":"tool_calls"}]}

data: {"id":"c","object":"chat.completion.chunk","created":1,"model":"x","choices":[],"usage":{"prompt_tokens":10,"completion_tokens":9,"total_tokens":19}}

data: [DONE]

`

// options are those of an SDK's client that asks w.
func options(w *wire) []option.RequestOption {
	return []option.RequestOption{
		option.WithBaseURL("http://h/v1"), option.WithAPIKey("key-a"),
		option.WithHTTPClient(&http.Client{Transport: w}), option.WithMaxRetries(0),
	}
}

var upSchema = map[string]any{"type": "object", "properties": map[string]any{"s": map[string]any{"type": "string"}}, "required": []string{"s"}}

var nowSchema = map[string]any{"type": "object", "properties": map[string]any{}}

func theirsToChat(t *testing.T) *wire {
	t.Helper()
	w := &wire{answer: chatAnswer}
	c := sdk.NewClient(options(w)...)
	params := sdk.ChatCompletionNewParams{
		Model: model, MaxTokens: sdk.Int(100), ParallelToolCalls: sdk.Bool(false),
		StreamOptions: sdk.ChatCompletionStreamOptionsParam{IncludeUsage: sdk.Bool(true)},
		Tools: []sdk.ChatCompletionToolUnionParam{
			sdk.ChatCompletionFunctionTool(shared.FunctionDefinitionParam{Name: "now", Parameters: nowSchema}),
			sdk.ChatCompletionFunctionTool(shared.FunctionDefinitionParam{Name: "up", Description: sdk.String("upcase"), Parameters: upSchema}),
		},
		Messages: []sdk.ChatCompletionMessageParamUnion{
			sdk.SystemMessage("be brief"),
			sdk.UserMessage([]sdk.ChatCompletionContentPartUnionParam{
				sdk.TextContentPart(prompt),
				sdk.ImageContentPart(sdk.ChatCompletionContentPartImageImageURLParam{URL: "data:image/png;base64,cG5n"}),
			}),
		},
	}
	for range 2 {
		stream := c.Chat.Completions.NewStreaming(t.Context(), params)
		var m sdk.ChatCompletionAccumulator
		for stream.Next() {
			if !m.AddChunk(stream.Current()) {
				t.Fatal("a chunk does not fit")
			}
		}
		if err := stream.Err(); err != nil {
			t.Fatal(err)
		}
		params.Messages = append(
			params.Messages, m.Choices[0].Message.ToParam(),
			sdk.ToolMessage("A", "call_1"), sdk.ToolMessage("broken", "call_2"), sdk.UserMessage("hurry"),
		)
	}
	return w
}

func TestChatRequests(t *testing.T) {
	got := ours(t, llm.KindOpenAI, chatAnswer, func(conn llm.Connection, rt http.RoundTripper) (llm.Client, error) {
		return openai.New(conn, rt)
	})
	compare(t, got, theirsToChat(t), func(v map[string]any) {
		if v["description"] == "" {
			delete(v, "description") // what is left out
		}
	}, "Authorization")
}
