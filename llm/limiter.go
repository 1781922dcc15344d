package llm

import (
	"strings"
	"sync"
	"time"

	"golang.org/x/time/rate"
)

// bytesPerLimiterToken: see [Limiter.Reserve].
const bytesPerLimiterToken = 4

// Limiter is the token bucket of one connection, shared by all agents that use
// it. It is first come, first served: each reservation is later than those
// before it. A nil Limiter never delays.
type Limiter struct{ bucket *rate.Limiter }

// NewLimiter makes a bucket that starts full. tokensPerSec at or below 0 means
// no limit, and gives nil. A burst below 1 is one second's tokens.
func NewLimiter(tokensPerSec float64, burst int) *Limiter {
	if tokensPerSec <= 0 {
		return nil
	}
	return &Limiter{rate.NewLimiter(rate.Limit(tokensPerSec), burstOf(tokensPerSec, burst))}
}

func burstOf(tokensPerSec float64, burst int) int {
	if burst >= 1 {
		return burst
	}
	return max(1, int(min(tokensPerSec, 1<<30)))
}

// Reserve takes the tokens of a request of that many bytes, 4 bytes a token,
// and says how long to wait before it may be sent. A request above the burst
// counts as the burst: it must be possible. cancel gives the tokens back when
// the request will not be sent, as far as nobody waits behind it; it may be
// called at any time, more than once. now must not go backwards.
func (l *Limiter) Reserve(now time.Time, bytes int) (delay time.Duration, cancel func(now time.Time)) {
	if l == nil {
		return 0, func(time.Time) {}
	}
	n := min(max(1, (bytes+bytesPerLimiterToken-1)/bytesPerLimiterToken), l.bucket.Burst())
	r := l.bucket.ReserveN(now, n)
	return r.DelayFrom(now), r.CancelAt
}

// Limiters holds the limiter of each connection. The zero value is ready.
type Limiters struct {
	byConn sync.Map // limiterKey to *Limiter
}

type limiterKey struct {
	url string
	key Secret
}

func keyOf(conn Connection) limiterKey {
	return limiterKey{strings.TrimRight(conn.URL, "/"), conn.Key}
}

// SameLimiter tells whether connections share a limiter.
func SameLimiter(a, b Connection) bool { return keyOf(a) == keyOf(b) }

// Forget drops a connection's limiter. Who has it may use it on; who asks next
// gets a new one.
func (ls *Limiters) Forget(conn Connection) { ls.byConn.Delete(keyOf(conn)) }

// For returns the limiter that all agents share which use this URL and key,
// and nil when tokensPerSec names no limit. The settings given last hold for
// all of them.
func (ls *Limiters) For(conn Connection, tokensPerSec float64, burst int) *Limiter {
	if tokensPerSec <= 0 {
		return nil
	}
	k := keyOf(conn)
	have, ok := ls.byConn.Load(k)
	if !ok {
		have, _ = ls.byConn.LoadOrStore(k, NewLimiter(tokensPerSec, burst))
	}
	l := have.(*Limiter)
	if limit := rate.Limit(tokensPerSec); l.bucket.Limit() != limit {
		l.bucket.SetLimit(limit)
	}
	if n := burstOf(tokensPerSec, burst); l.bucket.Burst() != n {
		l.bucket.SetBurst(n)
	}
	return l
}
