package wire

import (
	"math"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// maxRetryAfter bounds what a server may ask for.
const maxRetryAfter = 60 * time.Second

// retryAfter reads how long a server wants to be left alone: retry-after-ms,
// or Retry-After in seconds (with a fraction, too) or as a date. Junk,
// negative and past values are 0; the rest is at most a minute.
func retryAfter(h http.Header, now time.Time) time.Duration {
	if d := seconds(h.Get("Retry-After-Ms"), time.Millisecond); d > 0 {
		return d
	}
	v := strings.TrimSpace(h.Get("Retry-After"))
	if d := seconds(v, time.Second); d > 0 {
		return d
	}
	if t, err := http.ParseTime(v); err == nil {
		return min(max(t.Sub(now), 0), maxRetryAfter)
	}
	return 0
}

func seconds(v string, unit time.Duration) time.Duration {
	f, err := strconv.ParseFloat(strings.TrimSpace(v), 64)
	if err != nil || math.IsNaN(f) || f <= 0 {
		return 0
	}
	if f >= float64(maxRetryAfter/unit) {
		return maxRetryAfter
	}
	return time.Duration(math.Ceil(f * float64(unit)))
}
