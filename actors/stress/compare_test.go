package stress_test

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"clm/actors"
	"clm/actors/stress"
	"clm/llm"
	"clm/llm/llmtest"
)

// side is a side whose reports say what they are told.
func side(name string, turn func(seed uint64) float64) stress.Side {
	return stress.Side{Name: name, Run: func(_ context.Context, seed uint64) (*stress.Report, error) {
		return &stress.Report{Turn: stress.Summary{Count: 1, P50: turn(seed), P99: 100}}, nil
	}}
}

func TestCompare(t *testing.T) {
	noise := func(seed uint64) float64 { return 1 + float64(seed%7)/10 }
	slower := func(seed uint64) float64 { return noise(seed) * (1.28 + 0.04*float64(seed%2)) }
	for _, c := range []struct {
		name    string
		b       func(uint64) float64
		differs bool
	}{{"equal", noise, false}, {"slower", slower, true}} {
		r, err := stress.Compare(t.Context(), side("A", noise), side("B", c.b), 10, 1, nil)
		if err != nil {
			t.Fatal(err)
		}
		for _, x := range r.Ratios {
			if want := c.differs && x.Measure == "turn p50"; x.Differs() != want {
				t.Errorf("%s: %+v", c.name, x)
			}
			if x.Measure == "turn p50" && c.differs && (x.Low > 1.3 || x.High < 1.3 || x.Ratio < 1.29 || x.Ratio > 1.31) {
				t.Errorf("%s: %+v, want 1.3", c.name, x)
			}
		}
		if len(r.Ratios) != 2 {
			t.Errorf("%s: %d measures, want the two that there are", c.name, len(r.Ratios))
		}
		var b strings.Builder
		if err := r.Text(&b); err != nil || !strings.Contains(b.String(), "turn p50") {
			t.Errorf("%v\n%s", err, b.String())
		}
	}
}

// Of equal things about one measure in twenty is taken for different, with few
// pairs as with many; a difference is seen.
func TestIntervalsHold(t *testing.T) {
	const comparisons = 1000
	for _, pairs := range []int{2, 5, 10, 30} {
		for _, ratio := range []float64{1, 1.5} {
			r := rand.New(rand.NewPCG(uint64(pairs), 1))
			noisy := func(scale float64) stress.Side {
				return side("", func(uint64) float64 { return scale * math.Exp(0.1*r.NormFloat64()) })
			}
			differ, outside := 0, 0
			for range comparisons {
				c, err := stress.Compare(t.Context(), noisy(1), noisy(ratio), pairs, 1, nil)
				if err != nil {
					t.Fatal(err)
				}
				for _, x := range c.Ratios {
					if x.Measure != "turn p50" {
						continue
					}
					if x.Differs() {
						differ++
					}
					if x.Low > ratio || x.High < ratio {
						outside++
					}
				}
			}
			if outside < comparisons*3/100 || outside > comparisons*7/100 {
				t.Errorf("%d pairs: the ratio %g is out of bounds %d times in %d", pairs, ratio, outside, comparisons)
			}
			if ratio > 1 && pairs >= 5 && differ < comparisons*95/100 {
				t.Errorf("%d pairs: the ratio %g is seen %d times in %d", pairs, ratio, differ, comparisons)
			}
		}
	}
}

func TestCompareLoads(t *testing.T) {
	load := stress.Options{Agents: 10, Turns: 2, Pace: time.Millisecond}
	slow := load
	slow.Pace *= 20
	r, err := stress.Compare(t.Context(), stress.Load("1 ms", load), stress.Load("20 ms", slow), 3, 1, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, x := range r.Ratios {
		if x.Measure == "turn p50" && (x.Ratio < 1.3 || !x.Differs()) {
			t.Errorf("%+v", x)
		}
		if x.Measure == "memory of the process" {
			t.Errorf("%+v: both loads ran in this process", x)
		}
	}
}

// A comparison that is cut short keeps what it has, and a breach of promises in
// one of its runs is an error of it.
func TestCompareToTheEnd(t *testing.T) {
	for after, want := range map[int]string{3: "1 complete pair", 4: ""} {
		ctx, cancel := context.WithCancel(t.Context())
		runs := 0
		counted := stress.Side{Name: "x", Run: func(context.Context, uint64) (*stress.Report, error) {
			if runs++; runs > after {
				cancel()
				return nil, ctx.Err()
			}
			return &stress.Report{Elapsed: 1, Turns: stress.Turns{All: 5, Done: 5}}, nil
		}}
		c, err := stress.Compare(ctx, counted, counted, 5, 1, nil)
		if want != "" {
			if c != nil || !errors.Is(err, context.Canceled) || !strings.Contains(err.Error(), want) {
				t.Errorf("cut in run %d: %+v, %v", after+1, c, err)
			}
			continue
		}
		if err != nil || !c.Interrupted || c.Pairs != 2 || len(c.Ratios) == 0 {
			t.Errorf("cut in run %d: %+v, %v", after+1, c, err)
		}
	}
	bad := stress.Side{Name: "bad", Run: func(_ context.Context, seed uint64) (*stress.Report, error) {
		return &stress.Report{Seed: seed, ViolationCount: 2, Violations: []stress.Violation{{What: "lost"}}}, nil
	}}
	c, err := stress.Compare(t.Context(), bad, bad, 2, 5, nil)
	var v *stress.ViolationError
	if c == nil || !errors.As(err, &v) || v.Count != 8 || v.Seed != 5 {
		t.Errorf("%+v, %v", c, err)
	}
}

// A server that refuses everything at once is not a fast one.
func TestCompareCountsWhatIsDone(t *testing.T) {
	done := func(n int64) stress.Side {
		return stress.Side{Name: "x", Run: func(context.Context, uint64) (*stress.Report, error) {
			return &stress.Report{Elapsed: 1, Turns: stress.Turns{All: 1000, Done: n, Failed: 1000 - n}, Rates: stress.Rates{Turns: 1000}}, nil
		}}
	}
	c, err := stress.Compare(t.Context(), done(1000), done(10), 2, 1, nil)
	if err != nil || len(c.Ratios) == 0 || c.Ratios[0].Ratio > 0.011 {
		t.Errorf("%+v, %v", c, err)
	}
}

func TestScenario(t *testing.T) {
	got, err := stress.Scenario("mix.lua", `
local base = 10
return {
  { agents = base * 2, duration = "1m30s", think = 0.5, tools = { share = 0.25, calls = 3, chain = true } },
  { rate = 50.5, faults = { cut = 0.1, ["429"] = 0.2 }, seed = 7 },
}`, stress.Options{Agents: 5, Cancel: 0.5})
	if err != nil {
		t.Fatal(err)
	}
	want := []stress.Options{
		{Agents: 20, Duration: 90 * time.Second, Think: 500 * time.Millisecond, Tools: stress.Tools{Share: 0.25, Calls: 3, Chain: true}, Cancel: 0.5},
		{Agents: 5, Rate: 50.5, Faults: stress.Faults{Cut: 0.1, RateLimit: 0.2}, Seed: 7, Cancel: 0.5},
	}
	if len(got) != 2 || got[0].Tools != want[0].Tools || got[0].Duration != want[0].Duration || got[0].Agents != 20 || got[0].Think != want[0].Think ||
		got[1].Faults != want[1].Faults || got[1].Rate != 50.5 || got[1].Agents != 5 || got[1].Seed != 7 || got[1].Cancel != 0.5 {
		t.Errorf("got %+v", got)
	}
	for source, want := range map[string]string{
		`return {agent = 1}`:               "agent: unknown option",
		`return {agents = "many"}`:         "whole number",
		`return {agents = -1}`:             "whole number",
		`return {cancel = 2}`:              "cancel is 2",
		`return {duration = "soon"}`:       "1m30s",
		`return {tools = 1}`:               "must be a table",
		`return {faults = {fire = 1}}`:     "faults.fire",
		`return 5`:                         "returns a table",
		`return {1}`:                       "phase 1",
		`return {rate = 1, concurrency=1}`: "open loop",
		`return {`:                         "mix.lua:1",
		`return {agents = 0}`:              "agents: is 0, must be more than 0",
		`return {tools = {calls = 0}}`:     "tools.calls: is 0",
		`return {drain = 0}`:               "drain: is 0",
		`return {faults = 0.1}`:            "there are 429, 500, cut",
		`return {admit = {queued = 5}}`:    "give running too",
		`return {ramp = -1}`:               "ramp is -1s, must be 0 to 10000h0m0s",
		`return {tools = {args = "{"}}`:    "no JSON object",
		`while true do end`:                "mix.lua",
	} {
		if o, err := stress.Scenario("mix.lua", source, stress.Options{}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %+v, %v; want %q", source, o, err, want)
		}
	}
}

// TestOverload has an engine refuse what is too much. Those who run are served
// as before, and memory stays bounded.
func TestOverload(t *testing.T) {
	r := run(t, stress.Options{
		Agents: 200, Duration: time.Second, Rate: 3000, Pace: time.Millisecond, Tokens: 10, Seed: 4,
		Engine: actors.Options{MaxTurns: 10},
	})
	if r.Refused["overloaded"] == 0 || r.Turns.Done == 0 || r.Turns.Failed != 0 {
		t.Errorf("%+v, refused %v", r.Turns, r.Refused)
	}
	for _, a := range r.Actors {
		if a.Kind == "turn" && a.Peak > 10 {
			t.Errorf("%d turns were in flight, 10 may be", a.Peak)
		}
	}
	many := run(t, stress.Options{Agents: 30, Turns: 2, Seed: 4, Engine: actors.Options{MaxAgents: 10}})
	if many.Turns.Done != 20 || many.Refused["agents"] != 20 {
		t.Errorf("%+v, refused %v: 10 agents of 30 may be", many.Turns, many.Refused)
	}
	full := run(t, stress.Options{Agents: 10, Turns: 2, Seed: 4, Engine: actors.Options{MaxMemory: 1}})
	if full.Turns.All != 0 || full.Refused["overloaded"] != 20 {
		t.Errorf("%+v, refused %v: no memory is free", full.Turns, full.Refused)
	}
}

// TestAdmission has turns wait instead, in a bounded queue.
func TestAdmission(t *testing.T) {
	r := run(t, stress.Options{
		Agents: 100, Turns: 20, Pace: time.Millisecond, Tokens: 5, Seed: 4, Cancel: 0.1, Interval: 10 * time.Millisecond,
		Engine: actors.Options{MaxTurns: 10, MaxQueued: 90},
	})
	if r.Turns.All != 2000 || r.Turns.Failed != 0 || len(r.Refused) > 0 || r.Admission.Count == 0 || r.Admitted.Count < r.Turns.Done {
		t.Errorf("%+v, refused %v, %d waited, %d were admitted", r.Turns, r.Refused, r.Admission.Count, r.Admitted.Count)
	}
	for _, s := range r.Series {
		if s.Queued > 90 || s.Requests > 10 {
			t.Errorf("%d turns wait and %d requests are made, 90 and 10 may be", s.Queued, s.Requests)
		}
	}
	few := run(t, stress.Options{
		Agents: 100, Turns: 20, Pace: time.Millisecond, Tokens: 5, Seed: 4,
		Engine: actors.Options{MaxTurns: 10, MaxQueued: 5},
	})
	if few.Refused["overloaded"] == 0 || few.Turns.Done == 0 || few.Turns.Failed != 0 {
		t.Errorf("%+v, refused %v", few.Turns, few.Refused)
	}
}

// TestOpenLoop holds the load to coordinated omission: a server that stalls is
// charged for those who had to wait, also if they could not be submitted.
func TestOpenLoop(t *testing.T) {
	r := run(t, stress.Options{
		Agents: 1, Rate: 100, Duration: time.Second, Pace: 5 * time.Millisecond, Tokens: 20, Seed: 5, // 100 ms a turn: 10 a second
	})
	if r.Turn.Max < 400 {
		t.Errorf("the slowest turn is said to have taken %.0f ms", r.Turn.Max)
	}
	if r.Turns.Unstarted < 50 {
		t.Errorf("%d turns were due and not begun", r.Turns.Unstarted)
	}
}

// TestInterrupted cuts a run short.
func TestInterrupted(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	var start time.Time
	r, err := stress.Run(ctx, stress.Options{
		Agents: 20, Duration: time.Hour, Pace: time.Second, Seed: 6, Interval: 10 * time.Millisecond,
		Progress: func(p stress.Progress) {
			if p.InFlight > 0 {
				start = time.Now()
				cancel()
			}
		},
	})
	if err != nil || !r.Interrupted || r.Turns.Canceled == 0 || r.Turns.Cut != r.Turns.Canceled {
		t.Errorf("%v, %+v", err, r)
	}
	if d := time.Since(start); d > 10*time.Second {
		t.Errorf("it took %v", d)
	}
}

// TestAdmissionIsExact has agents ask at the same moment: there are never more
// turns in flight than may be, by the server's count.
func TestAdmissionIsExact(t *testing.T) {
	var now, most atomic.Int64
	server := llmtest.NewTransport(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		n := now.Add(1)
		defer now.Add(-1)
		for old := most.Load(); n > old && !most.CompareAndSwap(old, n); old = most.Load() {
		}
		time.Sleep(time.Millisecond) // so that turns overlap
		llmtest.Play(w, r, "!text done\n!finish stop\n", "", true)
	}))
	r := run(t, stress.Options{
		Agents: 100, Turns: 20, Seed: 7, Engine: actors.Options{MaxTurns: 3, Transport: server},
		Model: actors.Model{Connection: llm.Connection{URL: "http://model/v1"}, ID: "m", ContextSize: 1000},
	})
	if most.Load() > 3 || r.Refused["overloaded"] == 0 {
		t.Errorf("%d requests were answered at once, 3 turns may be; refused %v", most.Load(), r.Refused)
	}
	r = run(t, stress.Options{
		Agents: 100, Turns: 5, Seed: 7, Engine: actors.Options{MaxTurns: 3, MaxQueued: 97, Transport: server},
		Model: actors.Model{Connection: llm.Connection{URL: "http://model/v1"}, ID: "m", ContextSize: 1000},
	})
	if most.Load() > 3 || r.Turns.Done != 500 {
		t.Errorf("%d requests were answered at once, 3 turns may be; %+v", most.Load(), r.Turns)
	}
}
