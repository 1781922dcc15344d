package llm

import (
	"crypto/tls"
	"errors"
	"net"
	"syscall"
	"time"
)

// The bounds of retries: tries of one request together, and waits.
const (
	maxTries     = 5
	firstBackoff = time.Second
	maxBackoff   = 30 * time.Second
	maxWait      = 60 * time.Second
	deadHostWait = 500 * time.Millisecond
)

// Backoff decides what to do about a request that failed. attempt is the
// number of tries made, 1 after the first; rnd is a random number in [0, 1).
// again is false when the failure is final; else the caller waits delay and
// tries again.
//
// What may pass (a busy or overloaded server, 408, 409, 429, 5xx, a connection
// that broke before the answer began) is tried up to 5 times, after a random
// part of 1, 2, 4 and 8 s (full jitter). A server that says how long to wait is
// obeyed, up to a minute, with the same random part on top, so that agents that
// were refused together do not come back together. A refused connection, an
// unknown host or a bad certificate is tried once more after half a second.
// Nothing is tried again once a 200 had arrived, nor for a spent quota.
func Backoff(attempt int, err *Error, rnd float64) (delay time.Duration, again bool) {
	if err == nil || attempt < 1 || attempt >= maxTries || !err.Retryable() {
		return 0, false
	}
	rnd = min(max(rnd, 0), 1)
	if err.hostIsDead() {
		return deadHostWait, attempt == 1
	}
	step := min(firstBackoff<<(attempt-1), maxBackoff)
	if err.RetryAfter > 0 {
		return min(err.RetryAfter, maxWait) + time.Duration(rnd*float64(step)), true
	}
	return time.Duration(rnd * float64(step)), true
}

// hostIsDead tells that nobody listens there, that there is no such host, or
// that it is not who it should be: waiting longer hardly helps, but a server
// that just restarts is met.
func (e *Error) hostIsDead() bool {
	var dns *net.DNSError
	var cert *tls.CertificateVerificationError
	return errors.Is(e.Err, syscall.ECONNREFUSED) || errors.As(e.Err, &cert) ||
		errors.As(e.Err, &dns) && dns.IsNotFound
}
