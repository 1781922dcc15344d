package actors_test

import (
	"context"
	"fmt"
	"testing"

	"clm/actors"
	"clm/llm"
	"clm/llm/llmtest"
)

// chain is n answers with one call each, and then a text.
func chain(n int) []string {
	out := make([]string, n)
	for i := range out {
		out[i] = fmt.Sprintf("!tool c%d t {\"n\":%d}\n!finish tool_calls\n", i, i)
	}
	return append(out, ok)
}

func benchTurn(b *testing.B, replies []string) {
	b.ReportAllocs()
	for b.Loop() {
		oneTurn(b, replies)
	}
}

func oneTurn(b *testing.B, replies []string) {
	ctx := context.Background()
	e, a, l := benchAgent(b, replies, `ctx:complete("result " .. args.n)`)
	n, err := a.Submit("go")
	if err != nil {
		b.Fatal(err)
	}
	if d, err := l.Turn(ctx, n, nil); err != nil || d.Status != "done" {
		b.Fatalf("%+v, %v", d, err)
	}
	if err := e.Stop(ctx); err != nil {
		b.Fatal(err)
	}
}

func BenchmarkChain100(b *testing.B) { benchTurn(b, chain(100)) }
func BenchmarkChain400(b *testing.B) { benchTurn(b, chain(400)) }

func BenchmarkBatch1000(b *testing.B) {
	benchTurn(b, []string{fanOut(1000) + "!finish tool_calls\n", ok})
}

// benchAgent is an agent with a Lua tool and a scripted model in memory.
func benchAgent(b *testing.B, replies []string, body string) (*actors.Engine, *actors.Agent, *actors.Listener) {
	ctx := context.Background()
	model := llmtest.New(replies...)
	e, err := actors.Start(ctx, actors.Options{Transport: llmtest.NewTransport(model)})
	if err != nil {
		b.Fatal(err)
	}
	p, errs := actors.LoadPlugins(ctx, actors.PluginOptions{Files: []actors.PluginFile{{Name: "p", Source: lua("t", body)}}})
	for _, err := range errs {
		b.Fatal(err)
	}
	set, err := actors.NewToolset(p)
	if err != nil {
		b.Fatal(err)
	}
	a, err := e.Spawn(ctx, actors.AgentOptions{
		Tools: set, MaxIterations: -1,
		Model: actors.Model{Connection: llm.Connection{URL: modelURL}, ID: "mock", ContextSize: 10_000_000},
	})
	if err != nil {
		b.Fatal(err)
	}
	l, err := a.Listen()
	if err != nil {
		b.Fatal(err)
	}
	return e, a, l
}

// BenchmarkTaskWaits is 128 tasks of one call that wait 100 times each, with
// all their actors.
func BenchmarkTaskWaits(b *testing.B) {
	const waits = 128 * 100
	ctx := context.Background()
	body := `
		local ts = {}
		for i = 1, 128 do ts[i] = clm.spawn(function() for _ = 1, 100 do clm.sleep(0) end end) end
		clm.await_all(ts)
		ctx:complete("ok")`
	for b.Loop() {
		e, a, l := benchAgent(b, []string{"!tool c1 t {}\n!finish tool_calls\n", ok}, body)
		n, err := a.Submit("go")
		if err != nil {
			b.Fatal(err)
		}
		if d, err := l.Turn(ctx, n, nil); err != nil || d.Status != "done" {
			b.Fatalf("%+v, %v", d, err)
		}
		if err := e.Stop(ctx); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/waits, "ns/wait")
}
