// Package metrics gives an engine's counters to Prometheus.
//
// A [Collector] belongs to the registry that an embedder registers it with;
// nothing is registered anywhere by itself, and no port is opened. What the
// engine counts anyway (actors by kind, goroutines, its load) is read when it is scraped
// and costs nothing in between. Turns, tokens, tool calls and waits are counted
// from events: give [Collector.OnEvent] to the agents that shall be counted, in
// [actors.AgentOptions]. No metric has an agent's name as a label, so that
// their number does not grow with the agents.
package metrics

import (
	"net/http"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"clm/actors"
	"clm/actors/msg"
)

// Collector is a [prometheus.Collector] of one engine. It may be used from any
// goroutine.
type Collector struct {
	engine *actors.Engine

	live, spawned, goroutines, abandoned, running, queued, refused *prometheus.Desc

	turns       *prometheus.CounterVec
	tokens      *prometheus.CounterVec
	price       prometheus.Counter
	calls       *prometheus.CounterVec
	callSeconds prometheus.Histogram
	waitSeconds prometheus.Counter
	compactions *prometheus.CounterVec

	// What is counted most often, looked up once.
	input, output, callsDone, callsFailed prometheus.Counter
}

// New makes a collector of an engine. Its metrics' names begin with "clm_".
func New(e *actors.Engine) *Collector {
	desc := func(name, help string, labels ...string) *prometheus.Desc {
		return prometheus.NewDesc("clm_"+name, help, labels, nil)
	}
	counter := func(name, help string) prometheus.CounterOpts {
		return prometheus.CounterOpts{Name: "clm_" + name, Help: help}
	}
	c := &Collector{
		engine:     e,
		live:       desc("actors", "Actors that are alive, by kind.", "kind"),
		spawned:    desc("actors_spawned_total", "Actors that were ever spawned, by kind.", "kind"),
		goroutines: desc("edge_goroutines", "Goroutines that run at the actors' edges."),
		abandoned:  desc("abandoned_goroutines_total", "Goroutines that ignored their cancellation and were left behind."),
		running:    desc("turns_running", "Turns that run, those of sub-agents not counted."),
		queued:     desc("turns_queued", "Turns that wait until the engine has room for them."),
		refused:    desc("turns_refused_total", "Turns that were refused because the engine was at its limits."),

		turns:       prometheus.NewCounterVec(counter("turns_total", "Turns that ended, by status and class of failure."), []string{"status", "kind"}),
		tokens:      prometheus.NewCounterVec(counter("tokens_total", "Tokens as the servers reported them."), []string{"direction"}),
		price:       prometheus.NewCounter(counter("price_total", "Price of all requests, in the configuration's currency.")),
		calls:       prometheus.NewCounterVec(counter("tool_calls_total", "Tool calls that ended."), []string{"failed"}),
		waitSeconds: prometheus.NewCounter(counter("request_wait_seconds_total", "Time that requests waited for a rate or before another try.")),
		compactions: prometheus.NewCounterVec(counter("compactions_total", "Compactions, by how they ended."), []string{"phase"}),
		callSeconds: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: "clm_tool_call_seconds", Help: "How long tool calls took, permission included.",
			Buckets: prometheus.ExponentialBuckets(0.001, 4, 9), // 1 ms to 65 s
		}),
	}
	c.input, c.output = c.tokens.WithLabelValues("input"), c.tokens.WithLabelValues("output")
	c.callsDone, c.callsFailed = c.calls.WithLabelValues("false"), c.calls.WithLabelValues("true")
	return c
}

func (c *Collector) counted() []prometheus.Collector {
	return []prometheus.Collector{c.turns, c.tokens, c.price, c.calls, c.callSeconds, c.waitSeconds, c.compactions}
}

// Describe implements [prometheus.Collector].
func (c *Collector) Describe(out chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{c.live, c.spawned, c.goroutines, c.abandoned, c.running, c.queued, c.refused} {
		out <- d
	}
	for _, m := range c.counted() {
		m.Describe(out)
	}
}

// Collect implements [prometheus.Collector].
func (c *Collector) Collect(out chan<- prometheus.Metric) {
	for _, k := range c.engine.Counts() {
		out <- prometheus.MustNewConstMetric(c.live, prometheus.GaugeValue, float64(k.Live), k.Kind)
		out <- prometheus.MustNewConstMetric(c.spawned, prometheus.CounterValue, float64(k.Spawned), k.Kind)
	}
	live, abandoned := c.engine.Goroutines()
	out <- prometheus.MustNewConstMetric(c.goroutines, prometheus.GaugeValue, float64(live))
	out <- prometheus.MustNewConstMetric(c.abandoned, prometheus.CounterValue, float64(abandoned))
	load := c.engine.Load()
	out <- prometheus.MustNewConstMetric(c.running, prometheus.GaugeValue, float64(load.Running))
	out <- prometheus.MustNewConstMetric(c.queued, prometheus.GaugeValue, float64(load.Queued))
	out <- prometheus.MustNewConstMetric(c.refused, prometheus.CounterValue, float64(load.Refused))
	for _, m := range c.counted() {
		m.Collect(out)
	}
}

// OnEvent counts an event of an agent.
func (c *Collector) OnEvent(e actors.Event) {
	switch d := e.Data.(type) {
	case msg.TurnDone:
		c.turns.WithLabelValues(d.Status, d.Kind).Inc()
	case msg.UsageReported:
		c.input.Add(float64(d.Usage.Input))
		c.output.Add(float64(d.Usage.Output))
		if d.Price > 0 {
			c.price.Add(d.Price)
		}
	case msg.ToolResult:
		if d.Failed {
			c.callsFailed.Inc()
		} else {
			c.callsDone.Inc()
		}
		c.callSeconds.Observe(d.Duration.Seconds())
	case msg.Waiting:
		c.waitSeconds.Add(d.For.Seconds())
	case msg.Compaction:
		if d.Phase != "started" {
			c.compactions.WithLabelValues(d.Phase).Inc()
		}
	}
}

// Handler serves the collector's metrics, and no others, for a mux of the
// embedder's.
func (c *Collector) Handler() http.Handler {
	r := prometheus.NewRegistry()
	r.MustRegister(c) // a fresh registry has nothing that could collide
	return promhttp.HandlerFor(r, promhttp.HandlerOpts{})
}
