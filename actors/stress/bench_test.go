package stress_test

import (
	"context"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"clm/actors"
	"clm/actors/stress"
	"clm/llm"
	"clm/llm/llmtest"
)

// The benchmarks of the engine's figures. Each prints its own units; run one
// with -benchtime=1x. CLM_STRESS_AGENTS=1000000 sets how many idle agents there
// are, 10,000 unless it is set.

func bench(b *testing.B, o stress.Options) *stress.Report {
	b.Helper()
	o.Seed = 1
	r, err := stress.Run(context.Background(), o)
	if err != nil {
		b.Fatal(err)
	}
	if r.Turns.Failed > 0 {
		b.Fatalf("%+v: %+v", r.Turns, r.Errors)
	}
	return r
}

// BenchmarkTurns has agents make one turn with one call of a Lua tool each, all
// at once.
func BenchmarkTurns(b *testing.B) {
	for _, n := range []int{1000, 10_000} {
		b.Run(strconv.Itoa(n), func(b *testing.B) {
			for b.Loop() {
				r := bench(b, stress.Options{Agents: n, Tools: stress.Tools{Share: 1}})
				b.ReportMetric(r.CPU.Rounds*1e3, "cpu-ms")
				b.ReportMetric(r.Elapsed*1e3, "wall-ms")
				b.ReportMetric(float64(r.Memory.RSSPeak)/(1<<20), "rss-MiB")
				b.ReportMetric(float64(r.Memory.PerAgentAfter), "B/agent")
			}
		})
	}
}

// BenchmarkChain is one turn of an agent that calls a Lua tool so many times,
// one after the other; BenchmarkBatch all at once.
func BenchmarkChain(b *testing.B) {
	for _, n := range []int{100, 400} {
		b.Run(strconv.Itoa(n), func(b *testing.B) { oneTurn(b, n, true) })
	}
}

func BenchmarkBatch(b *testing.B) {
	b.Run("1000", func(b *testing.B) { oneTurn(b, 1000, false) })
}

func oneTurn(b *testing.B, calls int, chain bool) {
	for b.Loop() {
		r := bench(b, stress.Options{Agents: 1, Tools: stress.Tools{Share: 1, Calls: calls, Chain: chain}, Window: 10_000_000, Check: 1e-9})
		if r.Calls.All != int64(calls) {
			b.Fatalf("%d calls", r.Calls.All)
		}
		b.ReportMetric(r.CPU.Rounds*1e3, "cpu-ms")
		b.ReportMetric(r.Turn.Max, "turn-ms")
	}
}

// BenchmarkOverload offers half of what an engine admits, and three times as
// much: turns take as long once they are admitted, and those that wait are few.
func BenchmarkOverload(b *testing.B) {
	const capacity = 200 // turns a second: 10 at once, of 50 ms each
	for name, rate := range map[string]float64{"half": capacity / 2, "threefold": 3 * capacity} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				r := bench(b, stress.Options{
					Agents: 500, Rate: rate, Duration: 5 * time.Second, Pace: 5 * time.Millisecond, Tokens: 10,
					Engine: actors.Options{MaxTurns: 10, MaxQueued: 50},
				})
				b.ReportMetric(r.Rates.Turns, "turns/s")
				b.ReportMetric(float64(r.Refused["overloaded"]), "refused")
				b.ReportMetric(r.Admission.P99, "wait-p99-ms")
				b.ReportMetric(r.Admitted.P50, "turn-p50-ms")
				b.ReportMetric(r.Admitted.P99, "turn-p99-ms")
				b.ReportMetric(float64(r.Memory.HeapPeak)/(1<<20), "heap-MiB")
			}
		})
	}
}

// BenchmarkCancelled cancels all of 10,000 turns at random moments.
func BenchmarkCancelled(b *testing.B) {
	for b.Loop() {
		r := bench(b, stress.Options{
			Agents: 500, Turns: 20, Tools: stress.Tools{Share: 0.5, Calls: 2}, Cancel: 1, Pace: 100 * time.Microsecond, Concurrency: 50,
		})
		b.ReportMetric(float64(r.CancelToDone.Count), "cancelled")
		b.ReportMetric(r.CancelToDone.P99, "p99-ms")
		b.ReportMetric(r.CancelToDone.Max, "max-ms")
	}
}

// BenchmarkFlat makes ten rounds of 10,000 turns and compares their memory.
func BenchmarkFlat(b *testing.B) {
	for b.Loop() {
		r := bench(b, stress.Options{Agents: 1000, Turns: 10, Rounds: 10, Tools: stress.Tools{Share: 0.2}, Churn: 0.02, Concurrency: 100})
		b.ReportMetric(100*r.Growth(), "growth-%")
	}
}

func idleAgents(b *testing.B) int {
	s := os.Getenv("CLM_STRESS_AGENTS")
	if s == "" {
		return 10_000
	}
	n, err := strconv.Atoi(s)
	if err != nil {
		b.Fatal(err)
	}
	return n
}

func heap() int64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc + m.StackInuse)
}

// BenchmarkSpawn spawns agents that stay idle: what one takes, in time and in
// bytes, without tools and with a plugin that was never called.
func BenchmarkSpawn(b *testing.B) {
	p, errs := actors.LoadPlugins(context.Background(), actors.PluginOptions{Files: []actors.PluginFile{{Name: "t", Source: benchPlugin}}})
	for _, err := range errs {
		b.Fatal(err)
	}
	set, err := actors.NewToolset(p)
	if err != nil {
		b.Fatal(err)
	}
	for name, tools := range map[string]*actors.Toolset{"bare": nil, "plugin": set} {
		b.Run(name, func(b *testing.B) {
			n := idleAgents(b)
			for b.Loop() {
				e := benchEngine(b, llmtest.New())
				before, start := heap(), time.Now()
				for range n {
					if _, err := e.Spawn(context.Background(), benchAgent(tools)); err != nil {
						b.Fatal(err)
					}
				}
				b.ReportMetric(float64(time.Since(start).Microseconds())/float64(n), "µs/agent")
				b.ReportMetric(float64(heap()-before)/float64(n), "B/agent")
				if err := e.Stop(context.Background()); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkIdleAfterCall is what an idle agent takes that has called its plugin
// once, conversation included.
func BenchmarkIdleAfterCall(b *testing.B) {
	for b.Loop() {
		r := bench(b, stress.Options{Agents: idleAgents(b), Tools: stress.Tools{Share: 1}, Concurrency: 200})
		b.ReportMetric(float64(r.Memory.PerAgentAfter), "B/agent")
	}
}

const benchPlugin = `clm.tool_register("t", { no_prompt = true, invoke = function(args, ctx)
  local ts = {}
  for i = 1, 7 do ts[i] = clm.spawn(function() http.get("http://web/hang") end) end
  ts[8] = clm.spawn(function() clm.sleep(50) while true do end end)
  clm.await_all(ts)
end })`

func benchAgent(tools *actors.Toolset) actors.AgentOptions {
	return actors.AgentOptions{Tools: tools, Model: actors.Model{
		Connection: llm.Connection{URL: "http://model/v1"}, ID: "m", ContextSize: 100_000,
	}}
}

func benchEngine(b *testing.B, m *llmtest.Model) *actors.Engine {
	e, err := actors.Start(context.Background(), actors.Options{Transport: llmtest.NewTransport(m)})
	if err != nil {
		b.Fatal(err)
	}
	return e
}

// BenchmarkCancelFamily cancels a turn with 160 descendants: 16 calls of 8
// tasks each, with requests in flight and Lua that computes.
func BenchmarkCancelFamily(b *testing.B) {
	p, errs := actors.LoadPlugins(context.Background(), actors.PluginOptions{Files: copies(16)})
	for _, err := range errs {
		b.Fatal(err)
	}
	set, err := actors.NewToolset(p)
	if err != nil {
		b.Fatal(err)
	}
	var calls strings.Builder
	for i := range 16 {
		fmt.Fprintf(&calls, "!tool c%d@%d t%d {}\n", i, i, i)
	}
	script := calls.String() + "!finish tool_calls\n"
	var hanging atomic.Int64
	m := &llmtest.Model{Reply: func(r *llmtest.Request) string {
		if r.Path == "/v1/chat/completions" {
			return script
		}
		hanging.Add(1)
		return "!hang\n"
	}}
	var took []time.Duration
	for b.Loop() {
		took = append(took, cancelFamily(b, m, set, &hanging))
	}
	slices.Sort(took)
	b.ReportMetric(float64(took[len(took)/2].Microseconds())/1e3, "p50-ms")
	b.ReportMetric(float64(took[(len(took)*99)/100].Microseconds())/1e3, "p99-ms")
}

func copies(n int) []actors.PluginFile {
	var out []actors.PluginFile
	for i := range n {
		name := fmt.Sprintf("t%d", i)
		// A post reaches the scripted model; a get would be answered with a 404.
		source := strings.Replace(strings.Replace(benchPlugin, `"t"`, `"`+name+`"`, 1), `http.get("http://web/hang")`, `http.post("http://web/hang", "")`, 1)
		out = append(out, actors.PluginFile{Name: name, Source: source})
	}
	return out
}

func cancelFamily(b *testing.B, m *llmtest.Model, set *actors.Toolset, hanging *atomic.Int64) time.Duration {
	hanging.Store(0)
	e := benchEngine(b, m)
	a, err := e.Spawn(context.Background(), benchAgent(set))
	if err != nil {
		b.Fatal(err)
	}
	l, err := a.Listen()
	if err != nil {
		b.Fatal(err)
	}
	turn, err := a.Submit("go")
	if err != nil {
		b.Fatal(err)
	}
	deadline := time.Now().Add(30 * time.Second)
	for hanging.Load() < 16*7 && time.Now().Before(deadline) {
		time.Sleep(time.Millisecond) // real time: the loops must run on real processors
	}
	if n := hanging.Load(); n < 16*7 {
		b.Fatalf("%d requests are in flight", n)
	}
	time.Sleep(60 * time.Millisecond) // into the loops
	start := time.Now()
	if err := a.Cancel(); err != nil {
		b.Fatal(err)
	}
	d, err := l.Turn(context.Background(), turn, nil)
	took := time.Since(start)
	if err != nil || d.Status != "canceled" {
		b.Fatalf("%+v, %v", d, err)
	}
	for _, c := range e.Counts() {
		if c.Live > 0 && c.Kind != "engine" && c.Kind != "agent" && c.Kind != "plugin" {
			b.Fatalf("%d %s actors are alive", c.Live, c.Kind)
		}
	}
	if err := e.Stop(context.Background()); err != nil {
		b.Fatal(err)
	}
	return took
}
