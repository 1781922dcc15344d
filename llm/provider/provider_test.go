package provider

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"

	"clm/llm"
	"clm/llm/llmtest"
)

// TestEveryKind holds that each kind has a client, which makes no request by
// being made.
func TestEveryKind(t *testing.T) {
	model := llmtest.New()
	rt := llmtest.NewTransport(model)
	for _, kind := range []llm.Kind{"", llm.KindOpenAI, llm.KindOllama, llm.KindAnthropic, llm.KindResponses, llm.KindDemo} {
		c, err := New(llm.Connection{Name: "x", Kind: kind, URL: "http://h/v1"}, rt)
		if err != nil || c == nil {
			t.Errorf("%q: %v", kind, err)
		}
	}
	if len(model.Requests())+len(model.Gets()) != 0 {
		t.Error("a request was made")
	}
	for _, conn := range []llm.Connection{{Name: "x", Kind: "telepathy", URL: "http://h"}, {Kind: llm.KindOpenAI}, {Kind: llm.KindAnthropic, URL: "ftp://h"}} {
		c, err := New(conn, rt)
		var e *llm.Error
		if c != nil || !errors.As(err, &e) {
			t.Errorf("%v: %v, %v", conn, c, err)
		}
	}
}

func TestDemoTalksAndCalls(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, err := New(llm.Connection{Kind: llm.KindDemo}, nil)
		if err != nil {
			t.Fatal(err)
		}
		tools := []llm.Tool{{Name: "hello", Description: "greets"}}
		h := llm.NewHistory([]llm.Message{{Role: llm.RoleUser, Content: `hello {"name":"Ada"}`}})
		resp, err := c.Complete(t.Context(), &llm.Request{Model: "demo", Messages: h.Request("demo/demo"), Tools: tools, Stream: true}, nil)
		if err != nil || len(resp.Message.ToolCalls) != 1 || resp.Message.ToolCalls[0].Args != `{"name":"Ada"}` || resp.Finish != llm.FinishToolCalls {
			t.Fatalf("%+v, %v", resp, err)
		}
		h.Append(resp.Message, llm.Message{Role: llm.RoleTool, ToolCallID: resp.Message.ToolCalls[0].ID, ToolName: "hello", Content: "Hello, Ada!"})
		var words strings.Builder
		for _, stream := range []bool{true, false} {
			words.Reset()
			resp, err = c.Complete(t.Context(), &llm.Request{Model: "demo", Messages: h.Request("demo/demo"), Tools: tools, Stream: stream}, func(d llm.Delta) {
				words.WriteString(d.Text + "|")
			})
			if err != nil || resp.Message.Content != "hello says: Hello, Ada!" || resp.Usage.Total() == 0 {
				t.Fatalf("%+v, %v", resp, err)
			}
			if got := strings.Count(words.String(), "|"); stream && got != 4 {
				t.Errorf("%d deltas: %s", got, words.String())
			}
		}
		if n, err := c.ContextSize(t.Context(), "demo"); n != 32768 || err != nil {
			t.Errorf("window %d, %v", n, err)
		}
	})
}

// TestIdleDemoAgentsAreFree holds that a client of the demo model has no
// goroutine while it asks nothing.
func TestIdleDemoAgentsAreFree(t *testing.T) {
	before := runtime.NumGoroutine()
	for range 1000 {
		if _, err := New(llm.Connection{Kind: llm.KindDemo}, nil); err != nil {
			t.Fatal(err)
		}
	}
	if n := runtime.NumGoroutine() - before; n > 0 {
		t.Errorf("%d goroutines for idle clients", n)
	}
}

func ExampleNew() {
	c, err := New(llm.Connection{Kind: llm.KindDemo}, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	req := &llm.Request{Model: "demo", Messages: []llm.Message{{Role: llm.RoleUser, Content: "What is 6 * 7?"}}}
	resp, err := c.Complete(context.Background(), req, nil)
	fmt.Println(resp.Message.Content, err)
	// Output: 42 <nil>
}
