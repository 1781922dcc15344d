// Package httpc carries out the HTTP requests of plugins: http and https only,
// a bounded number of redirects and never from https to http, a bounded body,
// and errors that a plugin's author can read.
package httpc

import (
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
)

const maxRedirects = 10

// Header is one request header.
type Header struct{ Name, Value string }

// Request is what a plugin asks for.
type Request struct {
	Method  string // GET or POST
	URL     string
	Headers []Header
	Body    string
	MaxBody int64  // bytes of the decoded answer; a longer one is an error
	Tool    string // in the User-Agent
	Version string // in the User-Agent
}

// Response is the server's answer, whatever its status.
type Response struct {
	Status int
	Body   string
}

// Do carries out a request. It returns soon after ctx ends. Its errors are one
// line, without credentials.
func Do(ctx context.Context, rt http.RoundTripper, r Request) (Response, error) {
	req, err := build(ctx, r)
	if err != nil {
		return Response{}, err
	}
	client := http.Client{Transport: rt, CheckRedirect: follow}
	resp, err := client.Do(req)
	if err != nil {
		return Response{}, plain(req.URL, err)
	}
	defer resp.Body.Close()
	body, err := read(resp, r.MaxBody)
	if err != nil {
		return Response{}, plain(resp.Request.URL, err)
	}
	return Response{Status: resp.StatusCode, Body: body}, nil
}

func build(ctx context.Context, r Request) (*http.Request, error) {
	u, err := url.Parse(r.URL)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return nil, fmt.Errorf("%q is not an http or https URL", clip(r.URL))
	}
	var body io.Reader
	if r.Method == http.MethodPost {
		body = strings.NewReader(r.Body)
	}
	req, err := http.NewRequestWithContext(ctx, r.Method, r.URL, body)
	if err != nil {
		return nil, plain(u, err)
	}
	if r.Method == http.MethodPost {
		req.Header.Set("Content-Type", "application/json")
	}
	req.Header.Set("User-Agent", fmt.Sprintf("clm/%s (tool %s)", r.Version, r.Tool))
	req.Header.Set("Accept-Encoding", "gzip")
	for _, h := range r.Headers {
		if strings.EqualFold(h.Name, "Host") {
			req.Host = h.Value
			continue
		}
		req.Header.Set(h.Name, h.Value)
	}
	return req, nil
}

func follow(req *http.Request, via []*http.Request) error {
	switch {
	case len(via) > maxRedirects:
		return fmt.Errorf("more than %d redirects", maxRedirects)
	case req.URL.Scheme != "http" && req.URL.Scheme != "https":
		return fmt.Errorf("a redirect to %s, which is not http or https", req.URL.Scheme)
	case via[len(via)-1].URL.Scheme == "https" && req.URL.Scheme == "http":
		return errors.New("a redirect from https to http")
	}
	return nil
}

// read takes the body, decoded, up to its bound. The transport's own decoding
// is off, so that the bound holds for what comes out.
func read(resp *http.Response, limit int64) (string, error) {
	var body io.Reader = resp.Body
	if strings.EqualFold(resp.Header.Get("Content-Encoding"), "gzip") {
		z, err := gzip.NewReader(body)
		if errors.Is(err, io.EOF) {
			return "", nil // no body at all
		}
		if err != nil {
			return "", fmt.Errorf("the body is not gzip as its header says: %w", err)
		}
		body = z
	}
	if resp.ContentLength > limit {
		return "", tooLarge(limit)
	}
	var b strings.Builder
	n, err := io.Copy(&b, io.LimitReader(body, limit+1))
	if err != nil {
		return "", fmt.Errorf("the body broke off after %d bytes: %w", n, err)
	}
	if n > limit {
		return "", tooLarge(limit)
	}
	return b.String(), nil
}

func tooLarge(limit int64) error {
	return fmt.Errorf("the body is larger than the %d bytes that the plugin has free", limit)
}

// plain makes an error of net/http readable: it drops the URL's query and the
// chain of wrappers.
func plain(u *url.URL, err error) error {
	where := u.Scheme + "://" + u.Host + u.Path
	var wrapped *url.Error
	if errors.As(err, &wrapped) {
		err = wrapped.Err
	}
	var op *net.OpError
	if errors.As(err, &op) && op.Err != nil {
		err = fmt.Errorf("%s: %w", op.Op, op.Err)
	}
	return fmt.Errorf("%s: %w", clip(where), err)
}

func clip(s string) string {
	if len(s) > 200 {
		return strings.ToValidUTF8(s[:200], "") + "…"
	}
	return s
}
