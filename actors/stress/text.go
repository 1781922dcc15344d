package stress

import (
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"text/tabwriter"
	"time"
)

// Text writes the report as tables for a terminal.
func (r *Report) Text(w io.Writer) error {
	var b strings.Builder
	var load []string
	for _, s := range r.Load {
		load = append(load, s.Name+" "+s.Value)
	}
	fmt.Fprintf(&b, "load      %s\n", strings.Join(load, "; "))
	fmt.Fprintf(&b, "system    %s, %s/%s, %d CPUs; seed %d\n\n", r.System.Go, r.System.OS, r.System.Arch, r.System.CPUs, r.Seed)
	r.outcome(&b)
	b.WriteString("\n")
	r.latencies(&b)
	b.WriteString("\n")
	r.resources(&b)
	r.roundTable(&b)
	r.verdict(&b)
	_, err := io.WriteString(w, b.String())
	return err
}

func (r *Report) outcome(b *strings.Builder) {
	fmt.Fprintf(b, "turns     %d in %s: %d done, %d failed, %d cancelled", r.Turns.All, seconds(r.Elapsed), r.Turns.Done, r.Turns.Failed, r.Turns.Canceled)
	if r.Turns.Cut > 0 {
		fmt.Fprintf(b, ", %d of them because the run ended", r.Turns.Cut)
	}
	if r.Turns.Unstarted > 0 {
		fmt.Fprintf(b, "; %d were due and no agent was free", r.Turns.Unstarted)
	}
	fmt.Fprintf(b, "\nrates     %s turns/s, %s calls/s, %s requests/s, %s tokens/s\n",
		number(r.Rates.Turns), number(r.Rates.Calls), number(r.Rates.Requests), number(r.Rates.Tokens))
	tokens := fmt.Sprintf("%d tokens in, %d out", r.Tokens.Input, r.Tokens.Output)
	if r.Tokens == (Tokens{}) && r.Turns.Done > 0 {
		tokens = "the server reports no tokens"
	}
	fmt.Fprintf(b, "requests  %d, %d refused or broken; %s\n", r.Requests, r.FailedReqs, tokens)
	if r.Calls.All > 0 {
		fmt.Fprintf(b, "calls     %d, %d failed\n", r.Calls.All, r.Calls.Failed)
	}
	for _, e := range r.RequestErrors {
		fmt.Fprintf(b, "request   %s\n", e)
	}
	for _, e := range r.Errors {
		fmt.Fprintf(b, "error     %s\n", e)
	}
	for _, why := range sortedKeys(r.Refused) {
		fmt.Fprintf(b, "refused   %s: %d\n", why, r.Refused[why])
	}
	if len(r.Injected) > 0 {
		b.WriteString("injected ")
		for _, kind := range sortedKeys(r.Injected) {
			fmt.Fprintf(b, " %s %d", kind, r.Injected[kind])
		}
		b.WriteString("\n")
	}
	if w := r.Waits; w.Count > 0 {
		fmt.Fprintf(b, "waits     %d: %s for the rate limit, %s before another try\n", w.Count, seconds(w.Limiter), seconds(w.Backoff))
	}
	if n := r.Waits.Compactions; n > 0 {
		fmt.Fprintf(b, "compacted %d conversation(s)\n", n)
	}
}

func (r *Report) latencies(b *strings.Builder) {
	t := tabwriter.NewWriter(b, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(t, "\tn\tmean\tp50\tp90\tp99\tp99.9\tmax\t")
	for _, row := range r.rows() {
		if s := row.Summary; s.Count > 0 {
			fmt.Fprintf(t, "%s\t%d\t%s\t%s\t%s\t%s\t%s\t%s\t\n", row.Name, s.Count, millis(s.Mean), millis(s.P50), millis(s.P90), millis(s.P99), millis(s.P999), millis(s.Max))
		}
	}
	_ = t.Flush() // into a string
}

func (e ErrorCount) String() string {
	if e.Example == "" {
		return fmt.Sprintf("%s: %d", e.Kind, e.Count)
	}
	return fmt.Sprintf("%s: %d, like: %s", e.Kind, e.Count, oneLine(e.Example, 100))
}

type row struct {
	Name string
	Summary
}

func (r *Report) rows() []row {
	return []row{
		{"first token", r.FirstToken},
		{"turn", r.Turn},
		{"tool call", r.ToolCall},
		{"cancel to done", r.CancelToDone},
		{"wait for an agent", r.Queue},
		{"wait for admission", r.Admission},
		{"turn once admitted", r.Admitted},
	}
}

func (r *Report) resources(b *strings.Builder) {
	m := r.Memory
	b.WriteString("memory    ")
	if m.PerAgentFresh > 0 {
		fmt.Fprintf(b, "%s an agent when new, ", size(m.PerAgentFresh))
	}
	fmt.Fprintf(b, "%s after its turns; heap at most %s, process %s\n", size(m.PerAgentAfter), size(m.HeapPeak), size(m.RSSPeak))
	fmt.Fprintf(b, "cpu       %s while turns were made, %s in all; garbage collection %.1f %%\n", seconds(r.CPU.Rounds), seconds(r.CPU.Process), 100*r.CPU.GCShare)
	fmt.Fprintf(b, "routines  %d before, at most %d, %d after\n", r.Goroutines.Before, r.Goroutines.Peak, r.Goroutines.After)
	var kinds []string
	for _, a := range r.Actors {
		if a.Spawned > 0 {
			kinds = append(kinds, fmt.Sprintf("%s %d/%d", a.Kind, a.Peak, a.Spawned))
		}
	}
	fmt.Fprintf(b, "actors    at most/ever: %s; longest mailbox %d\n", strings.Join(kinds, ", "), r.Mailbox)
}

func (r *Report) roundTable(b *strings.Builder) {
	if len(r.Rounds) == 0 {
		return
	}
	b.WriteString("\n")
	t := tabwriter.NewWriter(b, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(t, "round\tturns\tfailed\tturns/s\tCPU\tlive heap\tgoroutines\t")
	for i, x := range r.Rounds {
		fmt.Fprintf(t, "%d\t%d\t%d\t%s\t%s\t%s\t%d\t\n", i+1, x.Turns, x.Failed, number(x.Rate), seconds(x.CPU), size(x.Heap), x.Goroutines)
	}
	_ = t.Flush() // into a string
	if len(r.Rounds) > 2 {
		b.WriteString(r.GrowthText() + "\n")
	}
}

func (r *Report) verdict(b *strings.Builder) {
	b.WriteString("\n")
	if r.Interrupted {
		b.WriteString("the run was cut short\n")
	}
	if r.ViolationCount == 0 {
		b.WriteString("no violations\n")
		return
	}
	fmt.Fprintf(b, "%d VIOLATION(S); --seed %d repeats the run\n", r.ViolationCount, r.Seed)
	for _, v := range r.Violations[:min(len(r.Violations), 20)] {
		fmt.Fprintf(b, "  %s\n", oneLine(v.String(), 300))
	}
}

// Line is the progress in one line for a log or a status bar, its parts two
// spaces apart, the most important first.
func (p Progress) Line() string {
	first := ""
	if p.Violations > 0 {
		first = fmt.Sprintf("%d VIOLATIONS  ", p.Violations)
	}
	if p.Rounds > 1 {
		first += fmt.Sprintf("round %d/%d  ", p.Round, p.Rounds)
	}
	queued := ""
	if p.Queued > 0 {
		queued = fmt.Sprintf(" (%d wait)", p.Queued)
	}
	latency := ""
	if p.P99 > 0 { // a turn has ended since the last sample
		latency = fmt.Sprintf("p50 %s  p99 %s  ", millis(p.P50), millis(p.P99))
	}
	return fmt.Sprintf("%s%3.0f %%  %s  %s turns/s  %d in flight%s  %d failed  %sheap %s",
		first, 100*p.Share, p.Elapsed.Truncate(100*time.Millisecond), number(p.Turns), p.InFlight, queued, p.TotalFailed, latency, size(p.Heap))
}

// Sparkline draws values as a line of block characters, the last width of them.
func Sparkline(values []float64, width int) string {
	if len(values) > width {
		values = values[len(values)-width:]
	}
	top := 0.0
	for _, v := range values {
		top = max(top, v)
	}
	bars := []rune("▁▂▃▄▅▆▇█")
	var b strings.Builder
	for _, v := range values {
		i := 0
		if top > 0 && v > 0 {
			i = min(int(v/top*float64(len(bars))), len(bars)-1)
		}
		b.WriteRune(bars[i])
	}
	return b.String()
}

func sortedKeys(m map[string]int64) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}

func oneLine(s string, most int) string {
	s = strings.Join(strings.Fields(s), " ")
	if r := []rune(s); len(r) > most {
		return string(r[:most]) + "…"
	}
	return s
}

// millis writes milliseconds with three digits and a unit.
func millis(ms float64) string {
	switch {
	case ms < 1:
		return digits(ms*1000) + " µs"
	case ms < 1000:
		return digits(ms) + " ms"
	}
	return digits(ms/1000) + " s"
}

func seconds(s float64) string { return millis(s * 1000) }

func size(n int64) string {
	switch f := float64(n); {
	case math.Abs(f) < 1<<10:
		return fmt.Sprintf("%d B", n)
	case math.Abs(f) < 1<<20:
		return digits(f/(1<<10)) + " KiB"
	case math.Abs(f) < 1<<30:
		return digits(f/(1<<20)) + " MiB"
	default:
		return digits(f/(1<<30)) + " GiB"
	}
}

func number(f float64) string {
	switch {
	case f >= 1e6:
		return digits(f/1e6) + "M"
	case f >= 1e4:
		return digits(f/1e3) + "k"
	}
	return digits(f)
}

// digits writes three significant digits, and no fewer than the whole number.
func digits(f float64) string {
	switch a := math.Abs(f); {
	case a >= 100 || a == 0:
		return fmt.Sprintf("%.0f", f)
	case a >= 10:
		return fmt.Sprintf("%.1f", f)
	}
	return fmt.Sprintf("%.2f", f)
}
