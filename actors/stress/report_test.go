package stress_test

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"math"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"clm/actors/stress"
)

func TestReports(t *testing.T) {
	r := run(t, stress.Options{Agents: 20, Duration: 300 * time.Millisecond, Interval: 50 * time.Millisecond, Tools: stress.Tools{Share: 1}, Faults: stress.Faults{Cut: 0.1}, Cancel: 0.2, Rounds: 3, Seed: 3})
	var page, data bytes.Buffer
	if err := r.HTML(&page); err != nil {
		t.Fatal(err)
	}
	if file := os.Getenv("CLM_STRESS_PAGE"); file != "" { // to look at it
		if err := os.WriteFile(file, page.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if m := regexp.MustCompile(`(?i)(src|href)\s*=|url\(|https?://[a-z.]*(googleapis|cdn|jsdelivr)`).Find(page.Bytes()); m != nil {
		t.Errorf("the page refers to something outside: %s", m)
	}
	for _, svg := range regexp.MustCompile(`(?s)<svg.*?</svg>`).FindAllString(page.String(), -1) {
		if err := xml.Unmarshal([]byte(svg), new(struct{})); err != nil {
			t.Errorf("%v in %.200s", err, svg)
		}
		if strings.Contains(svg, "NaN") || strings.Contains(svg, "Inf") {
			t.Errorf("a plot has no numbers: %.300s", svg)
		}
	}
	if n := strings.Count(page.String(), "<path"); n < 10 {
		t.Errorf("%d lines are drawn", n)
	}
	if err := r.JSON(&data); err != nil {
		t.Fatal(err)
	}
	var back stress.Report
	if err := json.Unmarshal(data.Bytes(), &back); err != nil {
		t.Fatal(err)
	}
	if back.Turns != r.Turns || len(back.Rounds) != 3 || len(back.Series) != len(r.Series) {
		t.Errorf("the JSON report reads as %+v", back.Turns)
	}
}

// Memory that grows is told from a round that ended with a little more.
func TestGrowth(t *testing.T) {
	const heap = 1 << 30
	for name, c := range map[string]struct {
		of   func(round int) float64 // 0 to 9, as a share of heap
		want float64                 // from the fifth to the tenth
	}{
		"flat":          {func(int) float64 { return 1 }, 0},
		"leak":          {func(i int) float64 { return 1 + 0.01*float64(i) }, 0.05 / 1.04},
		"pools fill":    {func(i int) float64 { return min(1, 0.5+0.15*float64(i)) }, 0},
		"last is large": {func(i int) float64 { return 1 + 0.1*float64(i/9) }, 0},
		"first is small": {func(i int) float64 {
			if i == 4 {
				return 0.9
			}
			return 1
		}, 0},
		"shrinks": {func(i int) float64 { return 1 - 0.01*float64(i) }, -0.05 / 0.96},
	} {
		var r stress.Report
		for i := range 10 {
			r.Rounds = append(r.Rounds, stress.Round{Heap: int64(c.of(i) * heap)})
		}
		if got := r.Growth(); math.Abs(got-c.want) > 1e-6 || !strings.Contains(r.GrowthText(), "from round 5 to 10") {
			t.Errorf("%s: %v, want %v; %s", name, got, c.want, r.GrowthText())
		}
	}
	if few := (&stress.Report{Rounds: make([]stress.Round, 2)}); few.Growth() != 0 || few.GrowthText() != "" {
		t.Errorf("two rounds: %v, %q", few.Growth(), few.GrowthText())
	}
}

func TestParse(t *testing.T) {
	for in, want := range map[string]stress.Tools{
		"0.5": {Share: 0.5, Calls: 1}, "1:4": {Share: 1, Calls: 4}, "0.1:2:chain": {Share: 0.1, Calls: 2, Chain: true},
	} {
		if got, err := stress.ParseTools(in); err != nil || got != want {
			t.Errorf("tools %q: %+v, %v", in, got, err)
		}
	}
	for _, in := range []string{"", "2", "x", "NaN", "0.5:0", "0.5:x", "0.5:1:tree", "0.5:1:chain:1"} {
		if got, err := stress.ParseTools(in); err == nil {
			t.Errorf("tools %q are taken: %+v", in, got)
		}
	}
	for in, want := range map[string][2]int{"10": {10, 0}, "10:200": {10, 200}, "1:0": {1, 0}} {
		if running, queued, err := stress.ParseAdmission(in); err != nil || running != want[0] || queued != want[1] {
			t.Errorf("admission %q: %d running, %d queued, %v", in, running, queued, err)
		}
	}
	for _, in := range []string{"", "0", "-1", "x", "1:", "1:-1", "1:x", "1:2:3", "1.5"} {
		if running, queued, err := stress.ParseAdmission(in); err == nil {
			t.Errorf("admission %q is taken: %d running, %d queued", in, running, queued)
		}
	}
	for in, want := range map[string]stress.Faults{
		"": {}, "cut=0.5, slow=0.25,slowby=2s": {Cut: 0.5, Slow: 0.25, SlowBy: 2 * time.Second}, "429=1": {RateLimit: 1},
	} {
		if got, err := stress.ParseFaults(in); err != nil || got != want {
			t.Errorf("faults %q: %+v, %v", in, got, err)
		}
	}
	if f, err := stress.ParseFaults("0.05"); err != nil || f.Cut < 0.0099 || f.Garbage > 0.0101 {
		t.Errorf("%+v, %v", f, err)
	}
	for _, in := range []string{"x", "cut=2", "fire=0.1", "slowby=x", "cut"} {
		if got, err := stress.ParseFaults(in); err == nil {
			t.Errorf("faults %q are taken: %+v", in, got)
		}
	}
}

func TestRefusedOptions(t *testing.T) {
	for _, o := range []stress.Options{
		{Agents: -1},
		{Rate: 1, Concurrency: 2},
		{Cancel: 1.5},
		{Faults: stress.Faults{Cut: 0.7, Slow: 0.7}},
		{Tools: stress.Tools{Share: 0.5, Name: "none"}},
		{Duration: -time.Second},
		{Tools: stress.Tools{Share: 1, Calls: 1e6}},
		{Tools: stress.Tools{Share: 1, Args: "[]"}},
		{Tools: stress.Tools{Args: `{"name": tag}`}},
	} {
		if r, err := stress.Run(t.Context(), o); err == nil || r != nil {
			t.Errorf("%+v: a report and the error %v", o, err)
		}
	}
}
