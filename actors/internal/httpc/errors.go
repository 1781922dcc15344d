package httpc

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"syscall"
	"unicode"
	"unicode/utf8"
)

const (
	maxWhere = 200 // bytes of the place in an error
	maxCause = 180 // bytes of the cause
)

// plain makes one line of an error of net/http.
func plain(ctx context.Context, method string, u *url.URL, err error) error {
	if ended := ctx.Err(); ended != nil {
		return ended
	}
	where := url.URL{Scheme: u.Scheme, Host: u.Host, Path: u.Path}
	return &requestError{visible(method + " " + where.String()), cause(err), err}
}

// requestError keeps its cause for errors.Is, and its text short.
type requestError struct {
	where, text string
	err         error
}

func (e *requestError) Error() string { return e.where + ": " + e.text }
func (e *requestError) Unwrap() error { return e.err }

// cause says in a few words what went wrong.
func cause(err error) string {
	var (
		wrapped *url.Error
		dns     *net.DNSError
		cert    *tls.CertificateVerificationError
		timeout net.Error
		op      *net.OpError
	)
	if errors.As(err, &wrapped) {
		err = wrapped.Err
	}
	switch {
	case errors.As(err, &dns) && dns.IsNotFound:
		return "unknown host " + clip(dns.Name, maxCause/2)
	case errors.As(err, &dns):
		return "the host's name could not be looked up"
	case errors.As(err, &cert):
		return "the server's certificate is not valid: " + clip(cert.Err.Error(), maxCause)
	case errors.Is(err, http.ErrSchemeMismatch):
		return "the server speaks http, not https"
	case errors.Is(err, syscall.ECONNREFUSED):
		return "connection refused"
	case errors.Is(err, syscall.ECONNRESET), errors.Is(err, syscall.EPIPE):
		return "the server reset the connection"
	case err == io.EOF, strings.Contains(err.Error(), "server closed idle connection"):
		return "the server closed the connection without an answer"
	case errors.As(err, &timeout) && timeout.Timeout():
		return "the server does not answer in time"
	case errors.As(err, &op) && op.Err != nil:
		return clip(op.Err.Error(), maxCause)
	}
	return clip(err.Error(), maxCause)
}

// visible is foreign text as it may stand in an error.
func visible(s string) string {
	if i := strings.IndexAny(s, "?#"); i >= 0 {
		s = s[:i]
	}
	if i := strings.LastIndexByte(s, '@'); i >= 0 { // credentials in something that may be no URL
		s = "…" + s[i:]
	}
	return clip(s, maxWhere)
}

// clip makes one short line of foreign text.
func clip(s string, limit int) string {
	s = strings.Map(func(r rune) rune {
		if r == utf8.RuneError || unicode.IsControl(r) || unicode.Is(unicode.Cf, r) {
			return '.'
		}
		return r
	}, s[:min(len(s), 4*limit)])
	if len(s) <= limit {
		return s
	}
	for limit > 0 && !utf8.RuneStart(s[limit]) {
		limit--
	}
	return s[:limit] + "…"
}
