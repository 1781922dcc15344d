package stress

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"text/tabwriter"
	"time"
)

// Side is one of the two things that are compared.
type Side struct {
	Name string
	// Run makes one run with a seed; both sides of a pair get the same.
	Run func(ctx context.Context, seed uint64) (*Report, error)
}

// Load is a side that runs a load in this process.
func Load(name string, o Options) Side {
	return Side{name, func(ctx context.Context, seed uint64) (*Report, error) {
		o := o
		o.Seed = seed
		r, err := Run(ctx, o)
		if r != nil {
			r.Memory.RSSPeak = 0 // it is that of all runs so far
		}
		return r, err
	}}
}

// Build is a side that is another build of clm: the program is run as
// "PROGRAM stress --json --seed N ARGS…", and its report is read.
func Build(program string, args ...string) Side {
	return Side{program, func(ctx context.Context, seed uint64) (*Report, error) {
		all := append([]string{"stress", "--json", "--seed", fmt.Sprint(seed)}, args...)
		cmd := exec.CommandContext(ctx, program, all...)
		cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) } // it ends its agents first
		cmd.WaitDelay = endTime
		cmd.Stderr = os.Stderr
		out, err := cmd.Output()
		var r Report
		if bad := json.Unmarshal(out, &r); bad != nil {
			if err == nil {
				err = bad
			}
			return nil, fmt.Errorf("%s stress: no report: %w", filepath.Base(program), err)
		}
		return &r, nil // a run with violations has a report, too
	}}
}

// Comparison is what alternating runs of two sides found.
type Comparison struct {
	Names   [2]string    `json:"names"` // of A and B
	Pairs   int          `json:"pairs"`
	Seed    uint64       `json:"seed"` // of the first pair; the next has the next one
	Ratios  []Ratio      `json:"ratios"`
	Reports [][2]*Report `json:"reports"`

	Interrupted bool `json:"interrupted,omitempty"` // there are fewer pairs than were asked for
}

// Ratio is how B relates to A in one measure: B divided by A, with the bounds
// that hold the true ratio in 95 of 100 such comparisons.
type Ratio struct {
	Measure string  `json:"measure"`
	A       float64 `json:"a"` // geometric means
	B       float64 `json:"b"`
	Ratio   float64 `json:"ratio"`
	Low     float64 `json:"low"`
	High    float64 `json:"high"`
}

// Differs tells whether the bounds leave out 1.
func (r Ratio) Differs() bool { return r.Low > 1 || r.High < 1 }

// measures are what is compared. A measure that is 0 in a run is left out.
var measures = []struct { // not changed
	name string
	show func(float64) string
	of   func(*Report) float64
}{
	// A server that refuses everything is not a fast one.
	{"turns done/s", number, func(r *Report) float64 { return float64(r.Turns.Done) / max(r.Elapsed, 1e-9) }},
	{"first token p50", millis, func(r *Report) float64 { return r.FirstToken.P50 }},
	{"first token p99", millis, func(r *Report) float64 { return r.FirstToken.P99 }},
	{"turn p50", millis, func(r *Report) float64 { return r.Turn.P50 }},
	{"turn p99", millis, func(r *Report) float64 { return r.Turn.P99 }},
	{"tool call p50", millis, func(r *Report) float64 { return r.ToolCall.P50 }},
	{"cancel to done p99", millis, func(r *Report) float64 { return r.CancelToDone.P99 }},
	{"CPU a turn", seconds, func(r *Report) float64 { return r.CPU.Rounds / max(float64(r.Turns.All), 1) }},
	{"memory an agent", ofBytes, func(r *Report) float64 { return float64(r.Memory.PerAgentAfter) }},
	{"memory of the process", ofBytes, func(r *Report) float64 { return float64(r.Memory.RSSPeak) }},
}

func ofBytes(f float64) string { return size(int64(f)) }

// shown writes a value of a measure with its unit.
func shown(measure string, v float64) string {
	for _, m := range measures {
		if m.name == measure {
			return m.show(v)
		}
	}
	return digits(v) // of another version's comparison
}

// Compare runs two sides in turn, A B B A A B …, so that what drifts meets
// both, and compares them pair by pair. progress, if not nil, is called after
// each pair. When ctx ends, the pairs that are complete are compared, if they are
// two or more. The error is a *[ViolationError] beside the comparison when runs
// broke promises of the engine.
func Compare(ctx context.Context, a, b Side, pairs int, seed uint64, progress func(pair int)) (*Comparison, error) {
	if pairs < 2 {
		return nil, errors.New("stress: a comparison takes at least 2 pairs of runs")
	}
	if seed == 0 {
		seed = uint64(time.Now().UnixNano())
	}
	c := &Comparison{Names: [2]string{a.Name, b.Name}, Pairs: pairs, Seed: seed}
	sides := [2]Side{a, b}
	for i := range pairs {
		var pair [2]*Report
		for j := range 2 {
			k := (i + j) % 2
			r, err := sides[k].Run(ctx, seed+uint64(i))
			if ctx.Err() != nil {
				return c.cutShort(ctx)
			}
			if r == nil {
				return nil, fmt.Errorf("%s, run %d: %w", sides[k].Name, i+1, err)
			}
			pair[k] = r
		}
		c.Reports = append(c.Reports, pair)
		if progress != nil {
			progress(i + 1)
		}
	}
	return c.finish()
}

// cutShort compares what there is.
func (c *Comparison) cutShort(ctx context.Context) (*Comparison, error) {
	if len(c.Reports) < 2 {
		return nil, fmt.Errorf("stress: the comparison was cut short after %d complete pair(s) of runs, of which it takes 2: %w", len(c.Reports), context.Cause(ctx))
	}
	c.Interrupted, c.Pairs = true, len(c.Reports)
	return c.finish()
}

func (c *Comparison) finish() (*Comparison, error) {
	for _, m := range measures {
		if r, ok := ratio(c.Reports, m.of); ok {
			r.Measure = m.name
			c.Ratios = append(c.Ratios, r)
		}
	}
	var bad *ViolationError
	for _, pair := range c.Reports {
		for _, r := range pair {
			switch {
			case r.ViolationCount == 0:
			case bad == nil:
				bad = &ViolationError{r.ViolationCount, r.Violations, r.Seed}
			default:
				bad.Count += r.ViolationCount
			}
		}
	}
	if bad != nil {
		return c, bad
	}
	return c, nil
}

// ratio compares one measure: the mean of the pairs' log ratios, and its
// interval.
func ratio(pairs [][2]*Report, of func(*Report) float64) (Ratio, bool) {
	var logs []float64
	var sumA, sumB float64
	for _, p := range pairs {
		a, b := of(p[0]), of(p[1])
		if a <= 0 || b <= 0 {
			return Ratio{}, false
		}
		logs = append(logs, math.Log(b/a))
		sumA += math.Log(a)
		sumB += math.Log(b)
	}
	n := float64(len(logs))
	mean, low, high := interval(logs)
	return Ratio{A: math.Exp(sumA / n), B: math.Exp(sumB / n), Ratio: math.Exp(mean), Low: math.Exp(low), High: math.Exp(high)}, true
}

// interval is the 95 % interval of the mean of values, by Student's t. There are
// few of them: to resample five, as a bootstrap does, gives bounds that are so
// narrow that one equal measure in six is taken for different.
func interval(values []float64) (mean, low, high float64) {
	n := float64(len(values))
	for _, v := range values {
		mean += v / n
	}
	squares := 0.0
	for _, v := range values {
		squares += (v - mean) * (v - mean)
	}
	half := student(len(values)-1) * math.Sqrt(squares/(n-1)/n)
	return mean, mean - half, mean + half
}

// student is the 97.5 % quantile of Student's t.
func student(freedom int) float64 {
	t := [...]float64{
		12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228,
		2.201, 2.179, 2.160, 2.145, 2.131, 2.120, 2.110, 2.101, 2.093, 2.086,
	}
	if freedom <= len(t) {
		return t[freedom-1]
	}
	return 1.96 + 2.5/float64(freedom) // within 0.003
}

// Text writes the comparison as a table.
func (c *Comparison) Text(w io.Writer) error {
	var b strings.Builder
	fmt.Fprintf(&b, "A is %s, B is %s; %d pairs of runs, seed %d\n\n", c.Names[0], c.Names[1], c.Pairs, c.Seed)
	t := tabwriter.NewWriter(&b, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(t, "\tA\tB\tB/A\t95 % between\t\t")
	for _, r := range c.Ratios {
		note := "no difference seen"
		if r.Differs() {
			note = fmt.Sprintf("%+.1f %%", 100*(r.Ratio-1))
		}
		fmt.Fprintf(t, "%s\t%s\t%s\t%.3f\t%.3f and %.3f\t%s\t\n", r.Measure, shown(r.Measure, r.A), shown(r.Measure, r.B), r.Ratio, r.Low, r.High, note)
	}
	_ = t.Flush() // into a string
	if c.Interrupted {
		b.WriteString("\nthe comparison was cut short\n")
	}
	b.WriteString("\nOf measures that are equal about one in twenty is taken for different.\n")
	for i, name := range c.Names {
		failed, violated := int64(0), int64(0)
		for _, p := range c.Reports {
			failed += p[i].Turns.Failed
			violated += p[i].ViolationCount
		}
		if failed+violated > 0 {
			fmt.Fprintf(&b, "%s: %d turn(s) failed, %d violation(s)\n", name, failed, violated)
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// JSON writes the comparison as one JSON object.
func (c *Comparison) JSON(w io.Writer) error {
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	return e.Encode(c)
}
