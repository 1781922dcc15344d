package llm

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"unicode"
)

// maxErrorText bounds an error's text, in bytes.
const maxErrorText = 600

// ErrSilent is the cause of an [ErrNetwork] when a server accepted a request
// and then said nothing for so long that asking again would not help.
var ErrSilent = errors.New("the server was silent for too long")

// Error is one line of bounded length: where, what, and the way out where
// there is one.
func (e *Error) Error() string {
	var b strings.Builder
	if e.Where != "" {
		b.WriteString(e.Where)
		b.WriteString(": ")
	}
	switch {
	case e.Status != 0 && e.Message != "":
		fmt.Fprintf(&b, "HTTP %d: %s", e.Status, e.Message)
	case e.Status != 0:
		fmt.Fprintf(&b, "HTTP %d (%s)", e.Status, strings.ReplaceAll(string(e.Kind), "_", " "))
	case e.Message != "":
		b.WriteString(e.Message)
	case e.Err != nil:
		b.WriteString(e.Err.Error())
	default:
		b.WriteString(strings.ReplaceAll(string(e.Kind), "_", " "))
	}
	return OneLine(b.String(), maxErrorText)
}

// Unwrap gives the cause.
func (e *Error) Unwrap() error { return e.Err }

// Is lets errors.Is find the end of a context behind an [ErrCanceled], also
// where the transport hid the cause.
func (e *Error) Is(target error) bool {
	if e.Kind != ErrCanceled || (target != context.Canceled && target != context.DeadlineExceeded) {
		return false
	}
	if e.Err == nil || (!errors.Is(e.Err, context.Canceled) && !errors.Is(e.Err, context.DeadlineExceeded)) {
		return target == context.Canceled
	}
	return false // Unwrap finds the right one
}

// Retryable reports whether the same request may succeed a moment later:
// the server was busy, or could not be reached. Never once a 200 had arrived,
// nor after [ErrSilent].
func (e *Error) Retryable() bool {
	if e.Started || errors.Is(e.Err, ErrSilent) {
		return false
	}
	switch e.Kind {
	case ErrNetwork, ErrRateLimit, ErrOverloaded:
		return true
	case ErrRequest:
		return e.Status == 408 || e.Status == 409
	}
	return false
}

// OneLine makes foreign text fit to be shown in a message: valid UTF-8, runs
// of white space, control and invisible characters as one space, and at most
// limit bytes (of 3 or more), cut at a character with an ellipsis.
func OneLine(s string, limit int) string {
	const ellipsis = "…"
	var b strings.Builder
	space, end := false, 0 // end: the longest text that leaves room for the ellipsis
	for _, r := range s {
		if unicode.IsSpace(r) || unicode.IsControl(r) || unicode.Is(unicode.Cf, r) {
			space = b.Len() > 0
			continue
		}
		if space {
			b.WriteByte(' ')
			space = false
		}
		b.WriteRune(r)
		if b.Len() > limit {
			return b.String()[:end] + ellipsis
		}
		if b.Len() <= limit-len(ellipsis) {
			end = b.Len()
		}
	}
	return b.String()
}
