package stress

import (
	"math"
	"sync"
	"sync/atomic"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// turnMeasures is what was measured in one turn.
type turnMeasures struct {
	queue      time.Duration // from when it was due until it was submitted
	firstToken time.Duration // from when it was due; 0: none came
	total      time.Duration // from when it was due
	admission  time.Duration // until the engine let it begin; 0: at once
	admitted   time.Duration // from then on
	cancel     time.Duration // from cancel to done; 0: not cancelled
	cut        bool          // cancelled by the end of the run
	calls      []time.Duration

	failedCalls, waits, compactions int
	limiter, backoff                time.Duration // waited
	input, output                   int64         // tokens
	status, kind, err               string
}

// The histograms of a run.
const (
	histQueue = iota
	histFirst
	histTurn
	histCall
	histCancel
	histAdmission
	histAdmitted
	numHists
)

// The histograms reach from a microsecond to six hours, in microseconds, with
// three digits.
const (
	lowest  = 1
	highest = int64(6 * time.Hour / time.Microsecond)
)

func newHist() *hdrhistogram.Histogram { return hdrhistogram.New(lowest, highest, 3) }

func record(h *hdrhistogram.Histogram, d time.Duration) {
	// A value outside the range cannot be recorded; it is moved to its edge.
	_ = h.RecordValue(min(max(d.Microseconds(), lowest), highest))
}

// stats collects what the turns measure.
type stats struct {
	mu       sync.Mutex
	hists    [numHists]*hdrhistogram.Histogram
	recent   *hdrhistogram.Histogram // turns since the last sample
	totals   totals
	errors   map[string]int64
	examples map[string]string // one text of each kind of error
	refused  map[string]int64
}

// totals are what is summed over turns.
type totals struct {
	turns, done, failed, canceled, ceiling int64
	cut                                    int64 // of those that were cancelled
	calls, failedCalls                     int64
	input, output                          int64
	waits, compactions                     int64
	limiter, backoff                       time.Duration
}

func newStats() *stats {
	s := &stats{recent: newHist(), errors: map[string]int64{}, examples: map[string]string{}, refused: map[string]int64{}}
	for i := range s.hists {
		s.hists[i] = newHist()
	}
	return s
}

func (s *stats) turn(m *turnMeasures) {
	s.mu.Lock()
	defer s.mu.Unlock()
	t := &s.totals
	t.turns++
	switch m.status {
	case "done":
		t.done++
	case "canceled":
		t.canceled++
		if m.cut {
			t.cut++
		}
	case "ceiling":
		t.ceiling++
	default:
		t.failed++
		s.errors[m.kind]++
		if s.examples[m.kind] == "" {
			s.examples[m.kind] = m.err
		}
	}
	t.calls += int64(len(m.calls))
	t.failedCalls += int64(m.failedCalls)
	t.input += m.input
	t.output += m.output
	t.waits += int64(m.waits)
	t.compactions += int64(m.compactions)
	t.limiter += m.limiter
	t.backoff += m.backoff
	record(s.hists[histQueue], m.queue)
	if m.admission > 0 {
		record(s.hists[histAdmission], m.admission)
	}
	if m.firstToken > 0 {
		record(s.hists[histFirst], m.firstToken)
	}
	for _, c := range m.calls {
		record(s.hists[histCall], c)
	}
	if m.cancel > 0 {
		record(s.hists[histCancel], m.cancel)
		return // how long it ran says nothing
	}
	record(s.hists[histTurn], m.total)
	record(s.recent, m.total)
	if m.admitted > 0 {
		record(s.hists[histAdmitted], m.admitted)
	}
}

func (s *stats) refuse(why string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.refused[why]++
}

// look is the totals so far and the turns since the last look.
func (s *stats) look() (t totals, p50, p99 time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.recent.TotalCount() > 0 {
		p50 = microseconds(s.recent.ValueAtQuantile(50))
		p99 = microseconds(s.recent.ValueAtQuantile(99))
		s.recent.Reset()
	}
	return s.totals, p50, p99
}

func microseconds(n int64) time.Duration { return time.Duration(n) * time.Microsecond }

// Summary is a histogram in figures, in milliseconds.
type Summary struct {
	Count int64   `json:"count"`
	Mean  float64 `json:"mean_ms"`
	P50   float64 `json:"p50_ms"`
	P90   float64 `json:"p90_ms"`
	P99   float64 `json:"p99_ms"`
	P999  float64 `json:"p99_9_ms"`
	Max   float64 `json:"max_ms"`
	// Curve is the whole distribution: pairs of a percentile and milliseconds.
	Curve [][2]float64 `json:"curve,omitempty"`
}

func summarise(h *hdrhistogram.Histogram) Summary {
	ms := func(q float64) float64 { return float64(h.ValueAtQuantile(q)) / 1e3 }
	s := Summary{Count: h.TotalCount()}
	if s.Count == 0 {
		return s
	}
	s.Mean, s.Max = h.Mean()/1e3, float64(h.Max())/1e3
	s.P50, s.P90, s.P99, s.P999 = ms(50), ms(90), ms(99), ms(99.9)
	for i := range 33 { // eight points for each nine
		q := 100 * (1 - math.Pow(10, -float64(i)/8))
		if i > 0 && (100-q)/100*float64(s.Count) < 0.5 {
			break // fewer values than that
		}
		s.Curve = append(s.Curve, [2]float64{q, ms(q)})
	}
	return s
}

// usual is about how long half of the turns take at most now. The mean would be
// what the few take that wait for another try: most would have ended by the
// moment, chosen from it, in which they are cancelled.
type usual struct {
	ns   atomic.Int64
	seen atomic.Int64
}

// Load is it in nanoseconds.
func (u *usual) Load() int64 { return u.ns.Load() }

func (u *usual) observe(d time.Duration) {
	old := u.ns.Load()
	step := max(old/16, 1)
	if int64(d) < old {
		step = -step
	}
	if u.seen.Add(1) <= 16 { // it began as a guess
		step = (int64(d) - old) / 2
	}
	u.ns.CompareAndSwap(old, old+step) // a lost one does not matter
}
