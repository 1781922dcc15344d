package llm_test

import (
	"errors"
	"fmt"

	"clm/llm"
)

// A turn was cancelled while its second call ran. The next request is valid.
func ExampleHistory() {
	h := llm.NewHistory(nil)
	h.Append(
		llm.Message{Role: llm.RoleUser, Content: "compare a and b"},
		llm.Message{Role: llm.RoleAssistant, ToolCalls: []llm.ToolCall{
			{ID: "c1", Name: "read_file", Args: `{"path":"a"}`}, {ID: "c2", Name: "read_file", Args: `{"path":"b"}`},
		}},
		llm.Message{Role: llm.RoleTool, ToolCallID: "c1", Content: "contents of a"},
	)
	h.CloseOpen("cancelled")
	h.Append(llm.Message{Role: llm.RoleUser, Content: "go on"})
	for _, m := range h.Request("openai/some-model") {
		fmt.Printf("%s|%s|%s\n", m.Role, m.ToolCallID, m.Content)
	}
	// Output:
	// user||compare a and b
	// assistant||
	// tool|c1|contents of a
	// tool|c2|cancelled
	// user||go on
}

func ExamplePlanCompaction() {
	h := llm.NewHistory([]llm.Message{{Role: llm.RoleUser, Content: "port the parser"}})
	for i := range 6 {
		id := fmt.Sprint("c", i)
		h.Append(
			llm.Message{Role: llm.RoleAssistant, ToolCalls: []llm.ToolCall{{ID: id, Name: "read_file"}}},
			llm.Message{Role: llm.RoleTool, ToolCallID: id, Content: "a long file"},
		)
	}
	plan, err := llm.PlanCompaction(h)
	if err != nil {
		fmt.Println(err)
		return
	}
	// A model gets plan.Request() and answers with a summary.
	msgs, err := plan.Apply("Four files were read; two are left.")
	if errors.Is(err, llm.ErrNoProgress) {
		fmt.Println(err)
		return
	}
	h.Clear()
	h.Append(msgs...)
	for _, m := range h.Messages() {
		fmt.Printf("%s|%s|%.8s\n", m.Role, m.ToolCallID, m.Content)
	}
	// Output:
	// user||port the
	// user||[Summary
	// assistant||
	// tool|c4|a long f
	// assistant||
	// tool|c5|a long f
}

func ExampleClip() {
	fmt.Println(llm.Clip("0123456789, the middle of a long text is what nobody misses, 9876543210", 50))
	// Output:
	// 0123456789,
	// [… 50 bytes left out …]
	// 9876543210
}
