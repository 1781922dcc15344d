package sdkcheck

import (
	"net/http"
	"testing"

	sdk "github.com/openai/openai-go/v3"
	api "github.com/openai/openai-go/v3/responses"

	"clm/llm"
	"clm/llm/responses"
)

const responsesAnswer = `data: {"type":"response.output_item.done","output_index":0,"item":{"id":"rs_1","type":"reasoning","summary":[{"type":"summary_text","text":"Let me <see>."}],"encrypted_content":"gAAAA+/=="}}

data: {"type":"response.output_item.done","output_index":1,"item":{"id":"msg_1","type":"message","status":"completed","role":"assistant","content":[{"type":"output_text","text":"I look.","annotations":[],"logprobs":[]}]}}

data: {"type":"response.output_item.done","output_index":2,"item":{"id":"fc_1","type":"function_call","status":"completed","call_id":"call_1","name":"up","arguments":"{\"s\": \"a\", \"n\": 1.50}"}}

data: {"type":"response.output_item.done","output_index":3,"item":{"id":"fc_2","type":"function_call","status":"completed","call_id":"call_2","name":"now","arguments":"{}"}}

data: {"type":"response.completed","response":{"id":"r","object":"response","status":"completed","model":"x","error":null,"output":[{"id":"rs_1","type":"reasoning","summary":[{"type":"summary_text","text":"Let me <see>."}],"encrypted_content":"gAAAA+/=="},{"id":"msg_1","type":"message","status":"completed","role":"assistant","content":[{"type":"output_text","text":"I look.","annotations":[],"logprobs":[]}]},{"id":"fc_1","type":"function_call","status":"completed","call_id":"call_1","name":"up","arguments":"{\"s\": \"a\", \"n\": 1.50}"},{"id":"fc_2","type":"function_call","status":"completed","call_id":"call_2","name":"now","arguments":"{}"}],"usage":{"input_tokens":10,"output_tokens":9,"total_tokens":19}}}

`

func theirsToResponses(t *testing.T) *wire {
	t.Helper()
	w := &wire{answer: responsesAnswer}
	c := sdk.NewClient(options(w)...)
	image := api.ResponseInputContentParamOfInputImage(api.ResponseInputImageDetailAuto)
	image.OfInputImage.ImageURL = sdk.String("data:image/png;base64,cG5n")
	up := api.ToolParamOfFunction("up", upSchema, false)
	up.OfFunction.Description = sdk.String("upcase")
	var input api.ResponseInputParam
	say := func(items ...api.ResponseInputItemUnionParam) { input = append(input, items...) }
	say(api.ResponseInputItemParamOfMessage(
		api.ResponseInputMessageContentListParam{api.ResponseInputContentParamOfInputText(prompt), image}, "user",
	))
	for range 2 {
		stream := c.Responses.NewStreaming(t.Context(), api.ResponseNewParams{
			Model: model, Instructions: sdk.String("be brief"), MaxOutputTokens: sdk.Int(100),
			ParallelToolCalls: sdk.Bool(false), Store: sdk.Bool(false),
			Include: []api.ResponseIncludable{api.ResponseIncludableReasoningEncryptedContent},
			Tools:   []api.ToolUnionParam{api.ToolParamOfFunction("now", nowSchema, false), up},
			Input:   api.ResponseNewParamsInputUnion{OfInputItemList: input},
		})
		for stream.Next() {
			if e := stream.Current(); e.Type == "response.completed" {
				say(repeated(t, e.Response.Output)...)
			}
		}
		if err := stream.Err(); err != nil {
			t.Fatal(err)
		}
		say(result("call_1", "A"), result("call_2", "broken"), api.ResponseInputItemParamOfMessage("hurry", "user"))
	}
	return w
}

// repeated is an answer as the next request repeats it.
func repeated(t *testing.T, output []api.ResponseOutputItemUnion) (input []api.ResponseInputItemUnionParam) {
	t.Helper()
	for _, item := range output {
		switch item.Type {
		case "reasoning":
			p := item.AsReasoning().ToParam()
			input = append(input, api.ResponseInputItemUnionParam{OfReasoning: &p})
		case "message":
			p := item.AsMessage().ToParam()
			input = append(input, api.ResponseInputItemUnionParam{OfOutputMessage: &p})
		case "function_call":
			p := item.AsFunctionCall().ToParam()
			input = append(input, api.ResponseInputItemUnionParam{OfFunctionCall: &p})
		default:
			t.Fatalf("an item of type %q", item.Type)
		}
	}
	return input
}

func result(id, text string) api.ResponseInputItemUnionParam {
	p := api.ResponseInputItemParamOfFunctionCallOutput(text)
	p.OfFunctionCallOutput.CallID = sdk.String(id)
	return p
}

func TestResponsesRequests(t *testing.T) {
	got := ours(t, llm.KindResponses, responsesAnswer, func(conn llm.Connection, rt http.RoundTripper) (llm.Client, error) {
		return responses.New(conn, rt)
	})
	compare(t, got, theirsToResponses(t), alikeToResponses, "Authorization")
}

// alikeToResponses drops what a server that stores nothing has no use for, the
// ids and states of items, and makes content parts of texts.
func alikeToResponses(v map[string]any) {
	switch v["type"] {
	case "reasoning", "message", "function_call":
		delete(v, "id")
		delete(v, "status")
	case "output_text":
		delete(v, "annotations")
		delete(v, "logprobs")
	}
	if v["description"] == "" {
		delete(v, "description") // what is left out
	}
	role, _ := v["role"].(string)
	if role == "" {
		return
	}
	v["type"] = "message" // what is left out
	if s, ok := v["content"].(string); ok {
		kind := map[string]string{"user": "input_text", "assistant": "output_text"}[role]
		v["content"] = []any{map[string]any{"type": kind, "text": s}}
	}
}
