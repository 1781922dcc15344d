package stress_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"clm/actors"
	"clm/actors/stress"
	"clm/llm"
	"clm/llm/llmtest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func run(t *testing.T, o stress.Options) *stress.Report {
	t.Helper()
	r, err := stress.Run(context.Background(), o)
	if r != nil {
		var b strings.Builder
		if err := r.Text(&b); err != nil {
			t.Error(err)
		}
		t.Log("\n" + b.String())
	}
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestClosedLoop(t *testing.T) {
	r := run(t, stress.Options{Agents: 50, Turns: 4, Tools: stress.Tools{Share: 0.5, Calls: 3}, Seed: 1})
	if r.Turns.Done != 200 || r.Turns.All != 200 {
		t.Errorf("%+v, want 200 turns that are done", r.Turns)
	}
	if r.Calls.All == 0 || r.Calls.All%3 != 0 {
		t.Errorf("%d calls, want a multiple of 3", r.Calls.All)
	}
	if r.Requests != 200+r.Calls.All/3 {
		t.Errorf("%d requests with %d calls", r.Requests, r.Calls.All)
	}
	if n := r.Turn.Count; n != 200 {
		t.Errorf("%d turns were timed", n)
	}
}

func TestEverythingAtOnce(t *testing.T) {
	r := run(t, stress.Options{
		Agents: 100, Duration: 2 * time.Second, Tools: stress.Tools{Share: 0.5, Calls: 2}, Seed: 2, Ramp: 300 * time.Millisecond,
		Cancel: 0.2, Churn: 0.05, Think: 5 * time.Millisecond, Pace: 200 * time.Microsecond,
		Faults: stress.Faults{Cut: 0.02, RateLimit: 0.02, Error: 0.02, Slow: 0.02, Garbage: 0.02, SlowBy: 50 * time.Millisecond},
		Check:  1, Interval: 200 * time.Millisecond,
	})
	if r.Turns.Canceled == 0 || r.Turns.Failed == 0 || r.Turns.Done == 0 {
		t.Errorf("%+v: some must be done, some fail, some be cancelled", r.Turns)
	}
	if len(r.Series) < 5 || len(r.Injected) != 5 {
		t.Errorf("%d samples, faults %v", len(r.Series), r.Injected)
	}
}

// Against a server nothing is left either, connections that are kept included.
func TestServer(t *testing.T) {
	for _, transport := range []http.RoundTripper{nil, llm.NewTransport()} {
		s := httptest.NewServer(llmtest.Demo{})
		r := run(t, stress.Options{
			Agents: 10, Turns: 3, Engine: actors.Options{Transport: transport},
			Model: actors.Model{Connection: llm.Connection{URL: s.URL + "/v1"}, ID: "demo", ContextSize: 8192},
		})
		s.Close()
		if r.Turns.Done != 30 || r.Goroutines.After > r.Goroutines.Before {
			t.Errorf("%+v, %+v", r.Turns, r.Goroutines)
		}
	}
}

// Agents that pause at a round's end do not hold up the next one.
func TestPausesEndWithTheRound(t *testing.T) {
	start := time.Now()
	r, err := stress.Run(context.Background(), stress.Options{Agents: 20, Think: time.Hour, Duration: 200 * time.Millisecond, Rounds: 2})
	if err != nil || len(r.Violations) > 0 || len(r.Rounds) != 2 {
		t.Fatalf("%v, %+v", err, r)
	}
	if took := time.Since(start); took > 20*time.Second {
		t.Errorf("two rounds of 200 ms took %v", took)
	}
}
