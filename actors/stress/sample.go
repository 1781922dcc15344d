package stress

import (
	"runtime"
	"runtime/metrics"
	"sync"
	"sync/atomic"
	"time"

	"clm/actors"
)

// Sample is the state of a run at one moment; rates are since the one before.
type Sample struct {
	At         float64 `json:"at_s"`
	Agents     int64   `json:"agents"`
	InFlight   int64   `json:"in_flight"` // turns, those that wait for admission too
	Queued     int     `json:"queued"`    // of them
	Requests   int64   `json:"requests_in_flight"`
	Turns      float64 `json:"turns_per_s"`
	Calls      float64 `json:"calls_per_s"`
	RequestsPS float64 `json:"requests_per_s"`
	Tokens     float64 `json:"tokens_per_s"` // of answers
	Failed     float64 `json:"failed_per_s"`
	P50        float64 `json:"turn_p50_ms"`
	P99        float64 `json:"turn_p99_ms"`
	Heap       int64   `json:"heap_bytes"` // objects, live and dead
	Goroutines int     `json:"goroutines"`
	CPU        float64 `json:"cpus"`       // of the whole process, in cores
	Mailbox    int     `json:"mailbox"`    // most messages that wait at one actor
	Violations int64   `json:"violations"` // so far
}

// Progress is what is known while a run goes on.
type Progress struct {
	Sample
	Round, Rounds int
	Elapsed       time.Duration
	Share         float64 // of the run that is done, as far as it can be told
	TotalTurns    int64
	TotalFailed   int64
	TotalCanceled int64
	Actors        int64
	Series        []Sample // all so far, with this one; not to be changed
}

// maxSamples bounds the series of a report: at the limit every other one goes.
const maxSamples = 1200

// sampler looks at a run at intervals.
type sampler struct {
	run *run

	mu       sync.Mutex
	series   []Sample
	skip     int // of that many samples one is kept
	seen     int
	last     lookedAt
	active   time.Duration // of all rounds so far, while turns were made
	cpu      float64       // seconds, the same
	resumed  time.Time
	cpuThen  float64
	round    int
	stopTick func()

	peaks      map[string]int64 // live actors by kind
	heapPeak   int64
	goPeak     int
	mailPeak   int
	unstarted  atomic.Int64 // turns that were due in an open loop and never began
	heapBefore int64
	heapFresh  int64
	heapAfter  int64
}

// lookedAt is what counters said at a sample.
type lookedAt struct {
	at       time.Time
	totals   totals
	requests int64
	cpu      float64
}

func newSampler(r *run) *sampler {
	// The series has all its memory from the start: it is no growth of a round.
	return &sampler{run: r, skip: 1, peaks: map[string]int64{}, series: make([]Sample, 0, maxSamples), heapBefore: allMemory()}
}

// liveMemory is what is reachable on the heap, and what stacks take, in bytes. It
// collects garbage twice, as what finalizers and pools hold on to is freed by the
// second time. Stacks count by the blocks that they come from, so that a dozen
// goroutines may take one or two megabytes, by how full the blocks happen to be:
// what is compared over time is the heap.
func liveMemory() (heap, stacks int64) {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc), int64(m.StackInuse)
}

func allMemory() int64 {
	heap, stacks := liveMemory()
	return heap + stacks
}

// mark is the state before a round.
func (s *sampler) mark() lookedAt {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.round++
	return s.lookLocked()
}

// fresh is called when the agents were spawned and none has made a turn.
func (s *sampler) fresh() {
	if s.heapFresh == 0 {
		s.heapFresh = allMemory()
	}
}

// after is called when all agents rest after their turns.
func (s *sampler) after() { s.heapAfter = allMemory() }

func (s *sampler) lookLocked() lookedAt {
	s.run.stats.mu.Lock()
	t := s.run.stats.totals
	s.run.stats.mu.Unlock()
	return lookedAt{time.Now(), t, s.run.wire.requests.Load(), processCPU()}
}

// resume begins to sample.
func (s *sampler) resume() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.last = s.lookLocked()
	s.resumed, s.cpuThen = s.last.at, s.last.cpu
	done, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		t := time.NewTicker(s.run.opts.Interval)
		defer t.Stop()
		for {
			select {
			case <-t.C:
				s.sample()
			case <-done:
				return
			}
		}
	}()
	s.stopTick = func() { close(done); <-ended }
}

// pause takes a last sample and stops.
func (s *sampler) pause() {
	ended, cpu := time.Now(), processCPU()
	s.stopTick()
	s.sample()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.active += ended.Sub(s.resumed)
	s.cpu += cpu - s.cpuThen
}

func (s *sampler) sample() {
	p := s.take()
	if f := s.run.opts.Progress; f != nil {
		f(p)
	}
}

func (s *sampler) take() Progress {
	s.mu.Lock()
	defer s.mu.Unlock()
	r := s.run
	live := s.actorsLocked()
	_, p50, p99 := r.stats.look()
	now := s.lookLocked()
	span := max(now.at.Sub(s.last.at).Seconds(), 1e-9)
	ps := func(a, b int64) float64 { return float64(a-b) / span }
	x := Sample{
		At: (s.active + now.at.Sub(s.resumed)).Seconds(), Agents: r.agents.Load(),
		InFlight: r.inFlight.Load(), Queued: r.engine.Load().Queued, Requests: r.wire.inFlight.Load(),
		Turns: ps(now.totals.turns, s.last.totals.turns), Calls: ps(now.totals.calls, s.last.totals.calls),
		RequestsPS: ps(now.requests, s.last.requests), Tokens: ps(now.totals.output, s.last.totals.output),
		Failed: ps(now.totals.failed, s.last.totals.failed),
		P50:    milliseconds(p50), P99: milliseconds(p99),
		Heap: heapObjects(), Goroutines: runtime.NumGoroutine(), CPU: (now.cpu - s.last.cpu) / span,
		Mailbox: s.mailboxLocked(),
	}
	r.mu.Lock()
	x.Violations = r.violated
	r.mu.Unlock()
	s.last = now
	s.keepLocked(x)
	return Progress{
		Sample: x, Round: s.round, Rounds: r.opts.Rounds, Elapsed: s.active + now.at.Sub(s.resumed),
		Share:      r.share(now.at.Sub(s.resumed), now.totals.turns, s.round),
		TotalTurns: now.totals.turns, TotalFailed: now.totals.failed, TotalCanceled: now.totals.canceled,
		Actors: live, Series: s.series[:len(s.series):len(s.series)],
	}
}

func milliseconds(d time.Duration) float64 { return float64(d) / 1e6 }

func (s *sampler) keepLocked(x Sample) {
	s.heapPeak = max(s.heapPeak, x.Heap)
	s.goPeak = max(s.goPeak, x.Goroutines)
	s.mailPeak = max(s.mailPeak, x.Mailbox)
	if s.seen++; s.seen%s.skip != 0 {
		return
	}
	if len(s.series) == maxSamples {
		half := make([]Sample, 0, maxSamples) // whoever got the old one may still read it
		for i := 1; i < maxSamples; i += 2 {
			half = append(half, s.series[i])
		}
		s.series = half
		s.skip *= 2
	}
	s.series = append(s.series, x)
}

// actorsLocked notes how many actors of each kind are alive, and gives all.
func (s *sampler) actorsLocked() (all int64) {
	for _, c := range s.run.engine.Counts() {
		s.peaks[c.Kind] = max(s.peaks[c.Kind], c.Live)
		all += c.Live
	}
	return all
}

// mailboxLocked is the longest queue that any live actor ever had. It walks all
// actors, so it looks only at some agents of a large run, others each time.
func (s *sampler) mailboxLocked() int {
	const most = 300
	n, high := 0, 0
	s.run.subjects.Range(func(_, v any) bool { // in an order that changes
		high = max(high, highWater(v.(*subject).agent.Tree()))
		n++
		return n < most
	})
	return high
}

func highWater(i actors.Info) int {
	h := i.High
	for _, c := range i.Children {
		h = max(h, highWater(c))
	}
	return h
}

// share is how much of the run is done.
func (r *run) share(elapsed time.Duration, turns int64, round int) float64 {
	share := 0.0
	if r.opts.Duration > 0 {
		share = elapsed.Seconds() / r.opts.Duration.Seconds()
	}
	if r.opts.Turns > 0 {
		all := float64(r.opts.Turns) * float64(r.opts.Agents)
		share = max(share, (float64(turns)-float64(round-1)*all)/all)
	}
	return (float64(round-1) + min(max(share, 0), 1)) / float64(r.opts.Rounds)
}

func heapObjects() int64 {
	s := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
	metrics.Read(s)
	return int64(s[0].Value.Uint64())
}

// gcCPU is the processor time of garbage collection and of all Go code so far,
// in seconds.
func gcCPU() (gc, total float64) {
	s := []metrics.Sample{
		{Name: "/cpu/classes/gc/total:cpu-seconds"}, {Name: "/cpu/classes/total:cpu-seconds"}, {Name: "/cpu/classes/idle:cpu-seconds"},
	}
	metrics.Read(s)
	return s[0].Value.Float64(), s[1].Value.Float64() - s[2].Value.Float64()
}
