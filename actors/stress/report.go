package stress

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"runtime"
	"slices"
	"time"
)

// Report is what a run found.
type Report struct {
	Seed        uint64    `json:"seed"`
	Began       time.Time `json:"began"`
	Elapsed     float64   `json:"elapsed_s"` // of the rounds, from the first turn's start to the last one's end
	Interrupted bool      `json:"interrupted,omitempty"`
	Load        []Setting `json:"load"`
	System      System    `json:"system"`

	Turns      Turns  `json:"turns"`
	Calls      Calls  `json:"calls"`
	Requests   int64  `json:"requests"`
	FailedReqs int64  `json:"requests_failed"`
	Tokens     Tokens `json:"tokens"`
	Rates      Rates  `json:"rates"`

	FirstToken   Summary `json:"first_token"` // from when a turn was due
	Turn         Summary `json:"turn"`        // the same; cancelled turns left out
	ToolCall     Summary `json:"tool_call"`
	CancelToDone Summary `json:"cancel_to_done"`
	Queue        Summary `json:"queue"`     // from when a turn was due until an agent took it
	Admission    Summary `json:"admission"` // of turns that waited until the engine let them begin
	Admitted     Summary `json:"admitted"`  // from when it did, or at once, to the end; with an engine that has turns wait

	Errors        []ErrorCount     `json:"errors,omitempty"`         // of failed turns, by kind
	RequestErrors []ErrorCount     `json:"request_errors,omitempty"` // of failed requests, those that were made again too
	Refused       map[string]int64 `json:"refused,omitempty"`
	Injected      map[string]int64 `json:"injected,omitempty"` // faults, by kind
	Waits         Waits            `json:"waits"`

	Memory     Memory         `json:"memory"`
	Goroutines GoroutineCount `json:"goroutines"`
	CPU        CPU            `json:"cpu"`
	Actors     []ActorCount   `json:"actors"`
	Mailbox    int            `json:"mailbox_high_water"`

	Rounds []Round  `json:"rounds,omitempty"`
	Series []Sample `json:"series"`

	ViolationCount int64       `json:"violation_count"`
	Violations     []Violation `json:"violations,omitempty"` // at most 100
}

type (
	// Setting is one option of the load, for people.
	Setting struct {
		Name  string `json:"name"`
		Value string `json:"value"`
	}
	// System is what the load ran on.
	System struct {
		Go   string `json:"go"`
		OS   string `json:"os"`
		Arch string `json:"arch"`
		CPUs int    `json:"cpus"`
	}
	// Turns counts turns by their end.
	Turns struct {
		All       int64 `json:"all"`
		Done      int64 `json:"done"`
		Failed    int64 `json:"failed"`
		Canceled  int64 `json:"canceled"`
		Cut       int64 `json:"cut,omitempty"` // of those cancelled, the ones that still ran when the run ended
		Ceiling   int64 `json:"ceiling,omitempty"`
		Unstarted int64 `json:"unstarted,omitempty"` // due in an open loop before the end, and no agent was free
	}
	// Calls counts tool calls.
	Calls struct {
		All    int64 `json:"all"`
		Failed int64 `json:"failed"`
	}
	// Tokens counts what the server reported.
	Tokens struct {
		Input  int64 `json:"input"`
		Output int64 `json:"output"`
	}
	// Rates are per second.
	Rates struct {
		Turns    float64 `json:"turns"`
		Calls    float64 `json:"calls"`
		Requests float64 `json:"requests"`
		Tokens   float64 `json:"tokens"` // of answers
	}
	// ErrorCount is a kind of failures, with one failure's text.
	ErrorCount struct {
		Kind    string `json:"kind"`
		Count   int64  `json:"count"`
		Example string `json:"example"`
	}
	// Waits is what requests waited before they were sent (again).
	Waits struct {
		Count       int64   `json:"count"`
		Limiter     float64 `json:"limiter_s"` // for the connection's rate, summed
		Backoff     float64 `json:"backoff_s"` // after a failure, summed
		Compactions int64   `json:"compactions"`
	}
	// Memory is in bytes.
	Memory struct {
		PerAgentFresh int64 `json:"per_agent_fresh,omitempty"` // live heap and stacks, spawned and never called
		PerAgentAfter int64 `json:"per_agent_after"`           // the same after the turns, with the conversation
		HeapPeak      int64 `json:"heap_peak"`                 // at a sample
		RSSPeak       int64 `json:"rss_peak"`                  // of the process so far
	}
	// GoroutineCount counts goroutines of the whole process.
	GoroutineCount struct {
		Before int `json:"before"`
		Peak   int `json:"peak"` // at a sample
		After  int `json:"after"`
	}
	// CPU is in seconds of one core.
	CPU struct {
		Rounds  float64 `json:"rounds_s"`  // while turns were made
		Process float64 `json:"process_s"` // of the process so far
		GCShare float64 `json:"gc_share"`  // of the process
	}
	// ActorCount counts the actors of a kind.
	ActorCount struct {
		Kind    string `json:"kind"`
		Peak    int64  `json:"peak"` // at a sample
		Spawned int64  `json:"spawned"`
		Left    int64  `json:"left"` // after the engine's end
	}
	// Round is one of several repetitions.
	Round struct {
		Turns      int64   `json:"turns"`
		Failed     int64   `json:"failed"`
		Rate       float64 `json:"turns_per_s"`
		CPU        float64 `json:"cpu_s"`
		Heap       int64   `json:"heap_bytes"` // live, after the round, conversations emptied
		Goroutines int     `json:"goroutines"` // then
	}
)

// Growth is by what share the live heap grew from the middle round to the
// last, 0 with fewer than three. The rounds before are left out: pools and
// caches fill, and the actor system's registry is a table of 32,768 maps, each
// of which takes its first memory when an address first falls to it. It is the
// trend of these rounds, the median slope of all pairs of them: one round that
// ended with a little more or less does not count for growth.
func (r *Report) Growth() float64 {
	if len(r.Rounds) < 3 {
		return 0
	}
	late := r.Rounds[r.middle():]
	var slopes, starts []float64
	for i := range late {
		for j := range i {
			slopes = append(slopes, float64(late[i].Heap-late[j].Heap)/float64(i-j))
		}
	}
	slope := median(slopes)
	for i, x := range late {
		starts = append(starts, float64(x.Heap)-slope*float64(i))
	}
	return slope * float64(len(late)-1) / median(starts)
}

// GrowthText is it in words, empty with fewer than three rounds.
func (r *Report) GrowthText() string {
	if len(r.Rounds) < 3 {
		return ""
	}
	return fmt.Sprintf("the heap grew by %.2f %% from round %d to %d, by the trend of these rounds", 100*r.Growth(), r.middle()+1, len(r.Rounds))
}

func median(values []float64) float64 {
	slices.Sort(values)
	n := len(values)
	return (values[(n-1)/2] + values[n/2]) / 2
}

func (r *Report) middle() int { return (len(r.Rounds) - 1) / 2 }

// JSON writes the report as one JSON object.
func (r *Report) JSON(w io.Writer) error {
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	return e.Encode(r)
}

// round adds what a round did.
func (r *Report) round(run *run, before lookedAt) {
	s := run.sampler
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.lookLocked()
	span, cpu := s.active.Seconds()-r.Elapsed, s.cpu-r.CPU.Rounds
	r.Elapsed, r.CPU.Rounds = s.active.Seconds(), s.cpu
	if run.opts.Rounds == 1 {
		return
	}
	turns := now.totals.turns - before.totals.turns
	r.Rounds = append(r.Rounds, Round{
		Turns: turns, Failed: now.totals.failed - before.totals.failed, Rate: float64(turns) / max(span, 1e-9), CPU: cpu,
	})
}

// describe lists the options that matter to who reads the report.
func describe(o *Options) []Setting {
	var out []Setting
	add := func(name string, v any, given bool) {
		if given {
			out = append(out, Setting{name, fmt.Sprint(v)})
		}
	}
	add("agents", o.Agents, true)
	add("turns each", o.Turns, o.Turns > 0)
	add("duration", o.Duration, o.Duration > 0 && o.Rounds == 1)
	add("duration of a round", o.Duration, o.Duration > 0 && o.Rounds > 1)
	add("ramp", o.Ramp, o.Ramp > 0)
	add("loop", fmt.Sprintf("open, %g turns/s", o.Rate), o.Rate > 0)
	add("loop", fmt.Sprintf("closed, %d in flight", min(o.Concurrency, o.Agents)), o.Rate == 0)
	add("think", o.Think, o.Think > 0)
	add("tools", fmt.Sprintf("%g of turns, %d call(s)%s", o.Tools.Share, o.Tools.Calls, map[bool]string{true: " in a chain"}[o.Tools.Chain]), o.Tools.Share > 0)
	add("model", fmt.Sprintf("embedded, %d words, pace %v", o.Tokens, o.Pace), o.Model.ID == "")
	add("model", o.Model.ID, o.Model.ID != "")
	add("server", hostOf(o.Model.Connection.URL), o.Model.ID != "" && o.Model.Connection.URL != "")
	add("cancel", o.Cancel, o.Cancel > 0)
	add("churn", o.Churn, o.Churn > 0)
	f := o.Faults
	add("faults", fmt.Sprintf("cut %g, 429 %g, 500 %g, slow %g (%v), garbage %g", f.Cut, f.RateLimit, f.Error, f.Slow, f.SlowBy, f.Garbage), f.total() > 0)
	add("admission", fmt.Sprintf("%d turns run, %d wait", o.Engine.MaxTurns, o.Engine.MaxQueued), o.Engine.MaxTurns > 0)
	add("rounds", o.Rounds, o.Rounds > 1)
	return out
}

// stop ends the engine and looks for what is left of it.
func (r *run) stop(report *Report) {
	ctx, cancel := context.WithTimeout(context.Background(), endTime)
	defer cancel()
	if err := r.engine.Stop(ctx); err != nil {
		r.violate(0, 0, err.Error())
	}
	if r.unobserve != nil {
		if err := r.unobserve(); err != nil {
			r.violate(0, 0, err.Error())
		}
	}
	for _, c := range r.engine.Counts() {
		report.Actors = append(report.Actors, ActorCount{c.Kind, r.sampler.peaks[c.Kind], c.Spawned, c.Live})
		if c.Live != 0 {
			r.violate(0, 0, fmt.Sprintf("after the engine's end %d actor(s) of kind %s are alive", c.Live, c.Kind))
		}
	}
	if live, abandoned := r.engine.Goroutines(); live+abandoned != 0 {
		r.violate(0, 0, fmt.Sprintf("after the engine's end %d goroutine(s) of its edges are alive, %d were abandoned", live, abandoned))
	}
	if n := r.wire.inFlight.Load(); n != 0 {
		r.violate(0, 0, fmt.Sprintf("after the engine's end %d answer(s) were not closed", n))
	}
	if r.llm != nil && r.llm.open.Load() != 0 {
		r.violate(0, 0, fmt.Sprintf("after the engine's end the embedded model has %d open answer(s)", r.llm.open.Load()))
	}
	report.Goroutines.After = r.goroutines(report.Goroutines.Before)
}

// goroutines waits until there are no more of them than before. The runtime
// and idle connections take a moment.
func (r *run) goroutines(before int) int {
	var n int
	for wait := time.Millisecond; wait < 4*time.Second; wait *= 2 {
		if n = runtime.NumGoroutine(); n <= before {
			return n
		}
		time.Sleep(wait)
	}
	r.violate(0, 0, fmt.Sprintf("after the engine's end %d goroutines are alive, %d were before its start", n, before))
	return n
}

// fill writes down what was measured.
func (r *run) fill(report *Report) {
	s, t := r.sampler, r.stats.totals
	report.System = System{runtime.Version(), runtime.GOOS, runtime.GOARCH, runtime.GOMAXPROCS(0)}
	report.Turns = Turns{All: t.turns, Done: t.done, Failed: t.failed, Canceled: t.canceled, Cut: t.cut, Ceiling: t.ceiling, Unstarted: s.unstarted.Load()}
	report.Calls = Calls{t.calls, t.failedCalls}
	report.Requests = r.wire.requests.Load()
	report.FailedReqs, report.RequestErrors = r.wire.failures()
	report.Tokens = Tokens{t.input, t.output}
	per := func(n int64) float64 { return float64(n) / max(report.Elapsed, 1e-9) }
	report.Rates = Rates{per(t.turns), per(t.calls), per(report.Requests), per(t.output)}
	for i, h := range []*Summary{&report.Queue, &report.FirstToken, &report.Turn, &report.ToolCall, &report.CancelToDone, &report.Admission, &report.Admitted} {
		*h = summarise(r.stats.hists[i])
	}
	for kind, n := range r.stats.errors {
		report.Errors = append(report.Errors, ErrorCount{kind, n, r.stats.examples[kind]})
	}
	slices.SortFunc(report.Errors, func(a, b ErrorCount) int { return int(b.Count - a.Count) })
	report.Refused = r.stats.refused
	report.Injected = map[string]int64{}
	for i := range r.wire.injected {
		if n := r.wire.injected[i].Load(); n > 0 {
			report.Injected[faultNames[i]] = n
		}
	}
	report.Waits = Waits{t.waits, t.limiter.Seconds(), t.backoff.Seconds(), t.compactions}
	agents := int64(max(r.opts.Agents, 1))
	report.Memory = Memory{PerAgentAfter: (s.heapAfter - s.heapBefore) / agents, HeapPeak: s.heapPeak, RSSPeak: maxRSS()}
	if s.heapFresh > 0 {
		report.Memory.PerAgentFresh = (s.heapFresh - s.heapBefore) / agents
	}
	report.Goroutines.Peak = s.goPeak
	report.CPU.Process = processCPU()
	if gc, total := gcCPU(); total > 0 {
		report.CPU.GCShare = gc / total
	}
	report.Mailbox, report.Series = s.mailPeak, s.series
	report.ViolationCount, report.Violations = r.violated, r.violations
}
