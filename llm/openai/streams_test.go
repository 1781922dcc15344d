package openai

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"clm/llm"
	"clm/llm/llmtest"
)

// TestLeavingIdleStreams has 2,000 agents leave while the server says
// nothing: no goroutine may stay, which the bubble checks, and the server
// learns of each.
func TestLeavingIdleStreams(t *testing.T) {
	const agents = 2000
	synctest.Test(t, func(t *testing.T) {
		model := &llmtest.Model{Reply: func(*llmtest.Request) string { return "!text a\n!hang\n" }}
		rt := llmtest.NewTransport(model)
		c, err := New(llm.Connection{URL: "http://h"}, rt)
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		var all sync.WaitGroup
		for range agents {
			all.Go(func() {
				if _, err := c.Complete(ctx, &llm.Request{Model: "m", Stream: true}, nil); err == nil {
					t.Error("a success")
				}
			})
		}
		synctest.Wait()
		if n := model.Active(); n != agents {
			t.Errorf("%d streams are open", n)
		}
		start := time.Now()
		cancel()
		all.Wait()
		rt.Wait()
		if took := time.Since(start); took != 0 {
			t.Errorf("leaving took %v", took)
		}
		for _, r := range model.Requests() {
			if !r.Gone() {
				t.Fatal("the server does not know that a client left")
			}
		}
	})
}

// serverVar makes the test binary a server for [BenchmarkOpenStreams], so that
// the server's memory does not count.
const serverVar = "CLM_TEST_STREAM_SERVER"

func TestMain(m *testing.M) {
	if os.Getenv(serverVar) == "" {
		os.Exit(m.Run())
	}
	server, err := llmtest.ListenTCP(&llmtest.Model{Reply: func(*llmtest.Request) string { return "!text a b c\n!hang\n" }})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	fmt.Println(server.URL)
	_, _ = io.Copy(io.Discard, os.Stdin) // until the benchmark ends
}

// BenchmarkOpenStreams holds 10,000 answers open that have begun and reports
// what each costs this process: heap and stacks, after a collection.
func BenchmarkOpenStreams(b *testing.B) {
	for _, h2 := range []bool{false, true} {
		b.Run(map[bool]string{false: "http1", true: "h2c"}[h2], func(b *testing.B) {
			b.ReportMetric(0, "ns/op")
			for b.Loop() {
				b.ReportMetric(openStreams(b, h2, 10_000), "KB/stream")
			}
		})
	}
}

func openStreams(b *testing.B, h2 bool, n int) float64 {
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), serverVar+"=1")
	stdin, err := cmd.StdinPipe()
	if err != nil {
		b.Fatal(err)
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		b.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		b.Fatal(err)
	}
	defer func() { _ = cmd.Wait() }()
	defer func() { _ = stdin.Close() }()
	url, err := bufio.NewReader(stdout).ReadString('\n')
	if err != nil {
		b.Fatal(err)
	}
	rt := llm.NewTransport()
	defer rt.CloseIdleConnections()
	if h2 {
		rt.Protocols = new(http.Protocols)
		rt.Protocols.SetUnencryptedHTTP2(true)
	}
	c, err := New(llm.Connection{URL: strings.TrimSpace(url)}, rt)
	if err != nil {
		b.Fatal(err)
	}
	before := memory()
	ctx, cancel := context.WithCancel(b.Context())
	var all sync.WaitGroup
	var words, failed atomic.Int64
	slots := make(chan struct{}, 200) // dials at once
	for range n {
		slots <- struct{}{}
		all.Go(func() {
			got := 0
			_, err := c.Complete(ctx, &llm.Request{Model: "m", Stream: true, Messages: []llm.Message{{Role: llm.RoleUser, Content: "hi"}}}, func(llm.Delta) {
				if got++; got == 3 {
					words.Add(1)
					<-slots
				}
			})
			if err != nil && ctx.Err() == nil {
				failed.Add(1)
				b.Error(err)
				<-slots
			}
		})
	}
	for words.Load()+failed.Load() < int64(n) {
		time.Sleep(10 * time.Millisecond)
	}
	each := float64(memory()-before) / float64(n) / 1024
	cancel()
	all.Wait()
	return each
}

func memory() uint64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapInuse + m.StackInuse
}
