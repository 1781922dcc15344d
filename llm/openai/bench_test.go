//go:build unix

package openai

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"clm/llm"
	"clm/llm/llmtest"
)

// chunks200 is an answer of 200 chunks as OpenAI sends them.
func chunks200() []string {
	var events []string
	for i := range 199 {
		events = append(events, fmt.Sprintf("data: {\"id\":\"chatcmpl-abc123\",\"object\":\"chat.completion.chunk\",\"created\":1700000000,\"model\":\"gpt-4o-mini\",\"system_fingerprint\":\"fp_1234\",\"choices\":[{\"index\":0,\"delta\":{\"content\":\"word%d \"},\"logprobs\":null,\"finish_reason\":null}]}\n\n", i))
	}
	return append(events, "data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n")
}

// BenchmarkStream200 answers over sockets, client and server in this process,
// 100 at once. cpu-ms/op is the processor time of both; "floor" reads the
// same bytes and decodes nothing. The server sends each chunk by itself, or 20
// at once.
func BenchmarkStream200(b *testing.B) {
	b.Run("each", func(b *testing.B) { stream200(b, 1) })
	b.Run("by20", func(b *testing.B) { stream200(b, 20) })
}

func stream200(b *testing.B, flush int) {
	events := chunks200()
	server, err := llmtest.ListenTCP(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		for i, ev := range events {
			_, _ = io.WriteString(w, ev)
			if i%flush == 0 {
				w.(http.Flusher).Flush()
			}
		}
	}))
	if err != nil {
		b.Fatal(err)
	}
	defer server.Close()
	rt := server.Attach(llm.NewTransport())
	defer rt.CloseIdleConnections()
	client, err := New(llm.Connection{URL: server.URL, Kind: llm.KindOpenAI}, rt)
	if err != nil {
		b.Fatal(err)
	}
	req := &llm.Request{Model: "m", Stream: true, Messages: []llm.Message{{Role: llm.RoleUser, Content: "hi"}}}
	b.Run("ours", func(b *testing.B) {
		inParallel(b, func() error {
			resp, err := client.Complete(context.Background(), req, func(llm.Delta) {})
			if err == nil && len(resp.Message.Content) < 1000 {
				err = fmt.Errorf("short answer: %q", resp.Message.Content)
			}
			return err
		})
	})
	b.Run("floor", func(b *testing.B) {
		inParallel(b, func() error {
			r, err := http.NewRequest(http.MethodPost, server.URL, strings.NewReader(`{"model":"m","stream":true}`))
			if err != nil {
				return err
			}
			resp, err := rt.RoundTrip(r)
			if err != nil {
				return err
			}
			defer func() { _ = resp.Body.Close() }()
			_, err = io.Copy(io.Discard, resp.Body)
			return err
		})
	})
}

func inParallel(b *testing.B, do func() error) {
	b.ReportAllocs()
	slots := make(chan struct{}, 100)
	var all sync.WaitGroup
	before := cpuTime(b)
	for b.Loop() {
		slots <- struct{}{}
		all.Add(1)
		go func() {
			defer all.Done()
			if err := do(); err != nil {
				b.Error(err)
			}
			<-slots
		}()
	}
	all.Wait()
	b.ReportMetric(float64(cpuTime(b)-before)/float64(b.N)/float64(time.Millisecond), "cpu-ms/op")
}

func cpuTime(b *testing.B) time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// BenchmarkDecode200 decodes the same answer from memory.
func BenchmarkDecode200(b *testing.B) {
	body := strings.Join(chunks200(), "")
	req := &llm.Request{Model: "m", Stream: true}
	b.SetBytes(int64(len(body)))
	b.ReportAllocs()
	for b.Loop() {
		client, err := New(llm.Connection{URL: "http://h/v1", Kind: llm.KindOpenAI}, body200{strings.NewReader(body)})
		if err != nil {
			b.Fatal(err)
		}
		if _, err := client.Complete(context.Background(), req, nil); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkEncode encodes a conversation of 200 messages with 20 tools, whose
// messages were sent before.
func BenchmarkEncode(b *testing.B) {
	client, err := New(llm.Connection{URL: "http://h/v1", Kind: llm.KindOpenAI}, http.DefaultTransport)
	if err != nil {
		b.Fatal(err)
	}
	var msgs []llm.Message
	for range 100 {
		msgs = append(msgs,
			llm.Message{Role: llm.RoleUser, Content: strings.Repeat("what is \"this\"?\n", 30)},
			llm.Message{Role: llm.RoleAssistant, Content: strings.Repeat("it is that. ", 100)})
	}
	req := &llm.Request{Model: "m", Stream: true, Messages: llm.NewHistory(msgs).Request("openai/m")}
	for i := range 20 {
		req.Tools = append(req.Tools, llm.Tool{Name: fmt.Sprint("tool", i), Description: strings.Repeat("does ", 20), Schema: []byte(`{"type":"object","properties":{"a":{"type":"string"}},"required":["a"]}`)})
	}
	b.SetBytes(int64(client.encode(req).Len()))
	b.ReportAllocs()
	for b.Loop() {
		client.encode(req)
	}
}
