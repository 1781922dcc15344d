package main

import (
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"clm/actors/stress"
)

// The line of progress never wraps, and says the most important first.
func TestProgressLine(t *testing.T) {
	g := stress.Progress{Sample: stress.Sample{Turns: 725, InFlight: 80, Queued: 50, Violations: 3, P50: 86.1, P99: 1190, Heap: 5 << 20}, Round: 4, Rounds: 10, Elapsed: time.Minute, Share: 0.4, TotalFailed: 24}
	for range 30 {
		g.Series = append(g.Series, g.Sample)
	}
	for width := 1; width < 200; width++ {
		line := progressLine(g, width)
		if n := utf8.RuneCountInString(line); n >= width {
			t.Errorf("%d of %d columns: %s", n, width, line)
		}
		if width >= 40 && !strings.Contains(line, "3 VIOLATIONS  round 4/10") || strings.HasSuffix(line, "p50") {
			t.Errorf("%d columns: %s", width, line)
		}
	}
	g.Violations = 0
	if line := progressLine(g, 199); !strings.HasPrefix(line, strings.Repeat("█", 6)+strings.Repeat("░", 10)+" round 4/10   40 %  1m0s") || strings.Count(line[60:], "█") != 20 {
		t.Errorf("a wide terminal shows %s", line)
	}
}
