package llm

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"
	"unicode/utf8"
)

func TestBackoff(t *testing.T) {
	refused := &net.OpError{Op: "dial", Err: os.NewSyscallError("connect", syscall.ECONNREFUSED)}
	unknown := &net.OpError{Op: "dial", Err: &net.DNSError{Name: "h", IsNotFound: true}}
	const s = time.Second
	for _, tt := range []struct {
		name  string
		err   *Error
		rnd   float64
		waits []time.Duration // after try 1, 2, …; then no more
	}{
		{"no error", nil, 1, nil},
		{"429", &Error{Kind: ErrRateLimit, Status: 429}, 1, []time.Duration{s, 2 * s, 4 * s, 8 * s}},
		{"full jitter", &Error{Kind: ErrRateLimit, Status: 429}, 0, []time.Duration{0, 0, 0, 0}},
		{"half", &Error{Kind: ErrOverloaded, Status: 529}, 0.5, []time.Duration{s / 2, s, 2 * s, 4 * s}},
		{"503", &Error{Kind: ErrOverloaded, Status: 503}, 1, []time.Duration{s, 2 * s, 4 * s, 8 * s}},
		{"408", &Error{Kind: ErrRequest, Status: 408}, 1, []time.Duration{s, 2 * s, 4 * s, 8 * s}},
		{"409", &Error{Kind: ErrRequest, Status: 409}, 1, []time.Duration{s, 2 * s, 4 * s, 8 * s}},
		{"broken before the answer", &Error{Kind: ErrNetwork}, 1, []time.Duration{s, 2 * s, 4 * s, 8 * s}},
		{"named wait", &Error{Kind: ErrRateLimit, RetryAfter: 7 * s}, 0, []time.Duration{7 * s, 7 * s, 7 * s, 7 * s}},
		{"named wait, jitter", &Error{Kind: ErrRateLimit, RetryAfter: 7 * s}, 1, []time.Duration{8 * s, 9 * s, 11 * s, 15 * s}},
		{"absurd wait", &Error{Kind: ErrOverloaded, RetryAfter: 1e9 * s}, 0, []time.Duration{60 * s, 60 * s, 60 * s, 60 * s}},
		{"refused", &Error{Kind: ErrNetwork, Err: refused}, 1, []time.Duration{s / 2}},
		{"unknown host", &Error{Kind: ErrNetwork, Err: unknown}, 1, []time.Duration{s / 2}},
		{"silent", &Error{Kind: ErrNetwork, Err: ErrSilent}, 1, nil},
		{"quota", &Error{Kind: ErrQuota, Status: 429, RetryAfter: s}, 1, nil},
		{"in the answer", &Error{Kind: ErrNetwork, Started: true}, 1, nil},
		{"error in a 200", &Error{Kind: ErrOverloaded, Started: true}, 1, nil},
		{"400", &Error{Kind: ErrRequest, Status: 400}, 1, nil},
		{"401", &Error{Kind: ErrAuth, Status: 401}, 1, nil},
		{"context", &Error{Kind: ErrContext, Status: 400}, 1, nil},
		{"no tools", &Error{Kind: ErrNoTools, Status: 400}, 1, nil},
		{"not understood", &Error{Kind: ErrProtocol}, 1, nil},
		{"cancelled", &Error{Kind: ErrCanceled, Err: context.Canceled}, 1, nil},
	} {
		for i := range len(tt.waits) + 1 {
			delay, again := Backoff(i+1, tt.err, tt.rnd)
			if again != (i < len(tt.waits)) || again && delay != tt.waits[i] {
				t.Errorf("%s, after try %d: %v, %v", tt.name, i+1, delay, again)
			}
		}
	}
	if _, again := Backoff(0, &Error{Kind: ErrNetwork}, 0); again {
		t.Error("attempt 0")
	}
}

func TestErrorText(t *testing.T) {
	long := strings.Repeat("ü", 2000)
	for _, tt := range []struct {
		err  Error
		want string
	}{
		{Error{Kind: ErrAuth, Status: 401, Message: "bad key", Where: "POST http://h/v1"}, "POST http://h/v1: HTTP 401: bad key"},
		{Error{Kind: ErrRateLimit, Status: 429}, "HTTP 429 (rate limit)"},
		{Error{Kind: ErrNetwork, Err: errors.New("reset\nby peer")}, "reset by peer"},
		{Error{Kind: ErrNetwork}, "network"},
		{Error{Kind: ErrRequest, Message: " a\x00\x1b[1m\u202e b\xff "}, "a [1m b\uFFFD"},
	} {
		if got := tt.err.Error(); got != tt.want {
			t.Errorf("got %q, want %q", got, tt.want)
		}
	}
	e := Error{Message: long}
	if got := e.Error(); len(got) > 600 || len(got) < 590 || !utf8.ValidString(got) || !strings.HasSuffix(got, "…") {
		t.Errorf("%d bytes: %q", len(got), got)
	}
	for n := 3; n < 40; n++ {
		if got := OneLine("grüße 日本語 🙂 text", n); len(got) > n || !utf8.ValidString(got) {
			t.Errorf("OneLine to %d: %q", n, got)
		}
	}
}

func TestErrorIs(t *testing.T) {
	for _, tt := range []struct {
		err                *Error
		canceled, deadline bool
	}{
		{&Error{Kind: ErrCanceled}, true, false},
		{&Error{Kind: ErrCanceled, Err: context.Canceled}, true, false},
		{&Error{Kind: ErrCanceled, Err: fmt.Errorf("x: %w", context.DeadlineExceeded)}, false, true},
		{&Error{Kind: ErrCanceled, Err: errors.New("hidden")}, true, false},
		{&Error{Kind: ErrNetwork}, false, false},
	} {
		wrapped := fmt.Errorf("turn 1: %w", tt.err)
		if errors.Is(wrapped, context.Canceled) != tt.canceled || errors.Is(wrapped, context.DeadlineExceeded) != tt.deadline {
			t.Errorf("%+v", tt.err)
		}
	}
}
