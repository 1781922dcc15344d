package llm

import (
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"
)

func TestLimiter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := NewLimiter(10, 20) // 40 bytes a second, 80 at once
		for i, tt := range []struct {
			bytes int
			want  time.Duration
		}{
			{80, 0},           // the bucket is full
			{40, time.Second}, // 10 tokens
			{4, 1100 * time.Millisecond},
			{1 << 30, 3100 * time.Millisecond}, // counts as the burst
			{0, 3200 * time.Millisecond},       // at least a token; first come, first served
		} {
			delay, _ := l.Reserve(time.Now(), tt.bytes)
			if diff := delay - tt.want; diff < -time.Millisecond || diff > time.Millisecond {
				t.Errorf("reservation %d waits %v, want %v", i, delay, tt.want)
			}
		}
		time.Sleep(time.Hour)
		if delay, _ := l.Reserve(time.Now(), 80); delay != 0 {
			t.Errorf("a full bucket delays by %v", delay)
		}
		_, cancel := l.Reserve(time.Now(), 80)
		cancel(time.Now())
		cancel(time.Now())
		if delay, _ := l.Reserve(time.Now(), 40); delay > time.Second+time.Millisecond {
			t.Errorf("a cancelled reservation still counts: %v", delay)
		}
	})
	var none *Limiter
	if delay, cancel := none.Reserve(time.Now(), 1<<30); delay != 0 || cancel == nil {
		t.Error("no limiter limits")
	}
	if NewLimiter(0, 5) != nil || NewLimiter(-1, 5) != nil {
		t.Error("a limiter without a rate")
	}
}

// TestLimiterKeepsItsRate holds that whatever is asked for, no more than the
// burst and the rate is let through, in the order of asking.
func TestLimiterKeepsItsRate(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rate := rapid.Float64Range(0.5, 1000).Draw(t, "rate")
		burst := rapid.IntRange(1, 1000).Draw(t, "burst")
		l := NewLimiter(rate, burst)
		now := time.Unix(1000, 0)
		start, last := now, now
		total := 0.0
		for range rapid.IntRange(1, 30).Draw(t, "requests") {
			bytes := rapid.IntRange(0, 8000).Draw(t, "bytes")
			delay, _ := l.Reserve(now, bytes)
			at := now.Add(delay)
			if at.Before(last) {
				t.Fatalf("a later request may be sent %v earlier", last.Sub(at))
			}
			last = at
			total += float64(min(max(1, (bytes+3)/4), burst))
			if allowed := float64(burst) + rate*at.Sub(start).Seconds(); total > allowed+0.01*total+1 {
				t.Fatalf("%v tokens by then, %v allowed", total, allowed)
			}
			now = now.Add(time.Duration(rapid.IntRange(0, 2000).Draw(t, "ms")) * time.Millisecond)
		}
	})
}

func TestLimiters(t *testing.T) {
	var all Limiters
	a := Connection{URL: "http://h/v1", Key: "k1"}
	b := Connection{URL: "http://h/v1", Key: "k2"}
	l := all.For(a, 5, 50)
	if l == nil || all.For(Connection{Name: "other", URL: "http://h/v1/", Key: "k1"}, 5, 50) != l {
		t.Error("two names of one connection have two limiters")
	}
	if all.For(b, 5, 50) == l {
		t.Error("two keys share a limiter")
	}
	if all.For(a, 0, 50) != nil {
		t.Error("no rate, but a limiter")
	}
	if all.For(a, 7, 70); l.bucket.Limit() != 7 || l.bucket.Burst() != 70 {
		t.Error("new settings do not hold")
	}
}
