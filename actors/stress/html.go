package stress

import (
	_ "embed"
	"fmt"
	"html/template"
	"io"
	"math"
	"slices"
	"strings"
)

//go:embed report.html.tmpl
var pageSource string // not changed

// HTML writes the report as one page that needs nothing else.
func (r *Report) HTML(w io.Writer) error {
	t, err := template.New("report").Funcs(template.FuncMap{
		"ms": millis, "size": size, "number": number, "seconds": seconds, "inc": func(i int) int { return i + 1 },
	}).Parse(pageSource)
	if err != nil {
		return fmt.Errorf("report page: %w", err)
	}
	return t.Execute(w, struct {
		R     *Report
		Facts []Setting
		Rows  []row
		Plots []plot
	}{r, r.facts(), r.measured(), r.plots()})
}

func (r *Report) measured() []row {
	var out []row
	for _, x := range r.rows() {
		if x.Count > 0 {
			out = append(out, x)
		}
	}
	return out
}

func (r *Report) facts() []Setting {
	return []Setting{
		{"turns in " + seconds(r.Elapsed), fmt.Sprint(r.Turns.All)},
		{"turns per second", number(r.Rates.Turns)},
		{"requests per second", number(r.Rates.Requests)},
		{"tokens per second", number(r.Rates.Tokens)},
		{"failed", fmt.Sprint(r.Turns.Failed)},
		{"cancelled", fmt.Sprint(r.Turns.Canceled)},
		{"CPU while turns were made", seconds(r.CPU.Rounds)},
		{"garbage collection", fmt.Sprintf("%.1f %%", 100*r.CPU.GCShare)},
		{"memory of the process", size(r.Memory.RSSPeak)},
		{"an agent after its turns", size(r.Memory.PerAgentAfter)},
		{"goroutines at most", fmt.Sprint(r.Goroutines.Peak)},
		{"longest mailbox", fmt.Sprint(r.Mailbox)},
	}
}

// plot is a picture of some lines, in the coordinates of its SVG.
type plot struct {
	Title          string
	Lines          []line
	XTicks, YTicks []tick
}

type line struct {
	Name, Class, Path string
	LabelX            float64
}

type tick struct {
	At   float64
	Text string
}

type points struct {
	name string
	xy   [][2]float64
}

// The plot's area in its SVG.
const (
	left, right, top, bottom = 60.0, 500.0, 20.0, 205.0
)

func (r *Report) plots() []plot {
	out := []plot{r.distribution()}
	if len(r.Series) < 2 {
		return out
	}
	series := func(title string, unit func(float64) string, lines ...points) {
		out = append(out, drawSeries(title, unit, lines))
	}
	of := func(name string, f func(Sample) float64) points {
		p := points{name: name}
		for _, s := range r.Series {
			p.xy = append(p.xy, [2]float64{s.At, f(s)})
		}
		return p
	}
	series("per second", number,
		of("turns", func(s Sample) float64 { return s.Turns }), of("calls", func(s Sample) float64 { return s.Calls }),
		of("requests", func(s Sample) float64 { return s.RequestsPS }), of("failed", func(s Sample) float64 { return s.Failed }))
	series("a turn's latency over time", millis,
		of("p50", func(s Sample) float64 { return s.P50 }), of("p99", func(s Sample) float64 { return s.P99 }))
	series("in flight", number,
		of("agents", func(s Sample) float64 { return float64(s.Agents) }), of("turns", func(s Sample) float64 { return float64(s.InFlight) }),
		of("requests", func(s Sample) float64 { return float64(s.Requests) }), of("goroutines", func(s Sample) float64 { return float64(s.Goroutines) }))
	if slices.ContainsFunc(r.Series, func(s Sample) bool { return s.Queued > 0 }) {
		series("turns that wait for admission", number, of("queued", func(s Sample) float64 { return float64(s.Queued) }))
	}
	const mib = 1 << 20 // so that the axis has round numbers of them
	series("heap", func(v float64) string { return size(int64(v * mib)) },
		of("objects", func(s Sample) float64 { return float64(s.Heap) / mib }))
	series("processor cores in use", digits, of("cores", func(s Sample) float64 { return s.CPU }))
	return out
}

// distribution draws latencies over percentiles, each nine as wide as the one
// before, both axes logarithmic.
func (r *Report) distribution() plot {
	p := plot{Title: "latency by percentile"}
	low, high, nines := math.Inf(1), 0.0, 1.0
	for _, x := range r.rows() {
		for _, c := range x.Curve {
			low, high, nines = min(low, max(c[1], 1e-3)), max(high, c[1]), max(nines, nine(c[0]))
		}
	}
	if high == 0 {
		return p
	}
	from, to := math.Floor(math.Log10(low)), math.Ceil(math.Log10(high*1.0001))
	y := func(ms float64) float64 { return scale(math.Log10(max(ms, 1e-3)), from, max(to, from+1), bottom, top) }
	x := func(q float64) float64 { return scale(nine(q), 0, nines, left, right) }
	for e := from; e <= to; e++ {
		p.YTicks = append(p.YTicks, tick{y(math.Pow(10, e)), millis(math.Pow(10, e))})
	}
	for _, q := range []float64{0, 50, 90, 99, 99.9, 99.99} {
		if nine(q) <= nines {
			p.XTicks = append(p.XTicks, tick{x(q), fmt.Sprintf("%g %%", q)})
		}
	}
	for i, row := range r.rows()[:4] {
		var path strings.Builder
		for j, c := range row.Curve {
			move(&path, j, x(c[0]), y(c[1]))
		}
		if path.Len() > 0 {
			p.Lines = append(p.Lines, line{row.Name, fmt.Sprintf("s%d", i), path.String(), left + float64(i)*110})
		}
	}
	return p
}

// nine is how many nines a percentile has: 0 at 0, 1 at 90, 2 at 99.
func nine(q float64) float64 { return -math.Log10(max(1-q/100, 1e-9)) }

func scale(v, from, to, a, b float64) float64 { return a + (v-from)/(to-from)*(b-a) }

func move(b *strings.Builder, i int, x, y float64) {
	c := 'L'
	if i == 0 {
		c = 'M'
	}
	fmt.Fprintf(b, "%c%.1f %.1f", c, x, y)
}

func drawSeries(title string, unit func(float64) string, lines []points) plot {
	p := plot{Title: title}
	high, last := 0.0, 1e-3
	for _, l := range lines {
		for _, v := range l.xy {
			high, last = max(high, v[1]), max(last, v[0])
		}
	}
	if high == 0 {
		high = 1
	}
	step := niceStep(high / 4)
	high = math.Ceil(high/step) * step
	for v := 0.0; v <= high*1.001; v += step {
		p.YTicks = append(p.YTicks, tick{scale(v, 0, high, bottom, top), unit(v)})
	}
	for at, step := 0.0, niceTime(last/4); at <= last; at += step {
		p.XTicks = append(p.XTicks, tick{scale(at, 0, last, left, right), clock(at)})
	}
	for i, l := range lines {
		var path strings.Builder
		for j, v := range l.xy {
			move(&path, j, scale(v[0], 0, last, left, right), scale(v[1], 0, high, bottom, top))
		}
		p.Lines = append(p.Lines, line{l.name, fmt.Sprintf("s%d", i), path.String(), left + float64(i)*110})
	}
	return p
}

// niceTime rounds seconds up to a step of a clock.
func niceTime(s float64) float64 {
	for _, step := range []float64{5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600} {
		if s > 2 && s <= step {
			return step
		}
	}
	if s > 2 {
		return 3600 * niceStep(s/3600)
	}
	return niceStep(s)
}

// clock writes a time of a run as short as it can be.
func clock(s float64) string {
	switch {
	case s < 60:
		return fmt.Sprintf("%.3g s", s)
	case s < 3600:
		return fmt.Sprintf("%.3g min", s/60)
	}
	return fmt.Sprintf("%.3g h", s/3600)
}

// niceStep rounds up to 1, 2 or 5 times a power of ten.
func niceStep(v float64) float64 {
	p := math.Pow(10, math.Floor(math.Log10(v)))
	for _, f := range []float64{1, 2, 5} {
		if v <= f*p {
			return f * p
		}
	}
	return 10 * p
}
