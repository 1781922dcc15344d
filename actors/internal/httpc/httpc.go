package httpc

import (
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
)

const (
	maxRedirects = 10
	maxURL       = 8 << 10  // bytes
	maxHeaders   = 100      // number
	maxHeaderLen = 32 << 10 // bytes of all names and values
)

// Header is one request header.
type Header struct{ Name, Value string }

// Request is what a plugin asks for.
type Request struct {
	Method  string // GET or POST
	URL     string
	Headers []Header
	Body    string // of a POST
	MaxBody int64  // bytes of the decoded answer; a longer one is an error
	Tool    string // in the User-Agent
	Version string // in the User-Agent
}

// Response is the server's answer, whatever its status.
type Response struct {
	Status int
	Body   string
}

// Do carries out a request.
func Do(ctx context.Context, rt http.RoundTripper, r Request) (Response, error) {
	req, err := build(ctx, r)
	if err != nil {
		return Response{}, err
	}
	client := http.Client{Transport: rt, CheckRedirect: follow}
	resp, err := client.Do(req)
	if err != nil {
		return Response{}, plain(ctx, r.Method, req.URL, err)
	}
	defer resp.Body.Close()
	body, err := read(resp, r.MaxBody)
	if err != nil {
		return Response{}, plain(ctx, r.Method, resp.Request.URL, err)
	}
	return Response{Status: resp.StatusCode, Body: body}, nil
}

func build(ctx context.Context, r Request) (*http.Request, error) {
	if r.Method != http.MethodGet && r.Method != http.MethodPost {
		return nil, fmt.Errorf("the method %.20q is neither GET nor POST", r.Method)
	}
	if len(r.URL) > maxURL {
		return nil, fmt.Errorf("the URL is longer than %d bytes", maxURL)
	}
	u, err := url.Parse(r.URL)
	if err != nil || u.Hostname() == "" || !web(u) {
		return nil, errors.New("not an http or https URL: " + visible(r.URL))
	}
	var body io.Reader
	if r.Method == http.MethodPost {
		body = strings.NewReader(r.Body)
	}
	req, err := http.NewRequestWithContext(ctx, r.Method, r.URL, body)
	if err != nil {
		return nil, plain(ctx, r.Method, u, err)
	}
	if r.Method == http.MethodPost {
		req.Header.Set("Content-Type", "application/json")
	}
	req.Header.Set("User-Agent", fmt.Sprintf("clm/%s (tool %s)", r.Version, r.Tool))
	req.Header.Set("Accept-Encoding", "gzip")
	if err := setHeaders(req, r.Headers); err != nil {
		return nil, err
	}
	return req, nil
}

func web(u *url.URL) bool { return u.Scheme == "http" || u.Scheme == "https" }

// follow judges a redirect.
func follow(req *http.Request, via []*http.Request) error {
	switch last := via[len(via)-1]; {
	case len(via) > maxRedirects:
		return fmt.Errorf("more than %d redirects", maxRedirects)
	case !web(req.URL):
		return fmt.Errorf("a redirect to %.20s, which is neither http nor https", req.URL.Scheme)
	case last.URL.Scheme == "https" && req.URL.Scheme == "http":
		return errors.New("a redirect from https to http")
	}
	req.Header.Del("Referer")
	if req.URL.Host != via[0].URL.Host {
		for name := range req.Header {
			switch name {
			case "User-Agent", "Accept", "Accept-Encoding", "Accept-Language", "Content-Type":
			default:
				delete(req.Header, name)
			}
		}
	}
	return nil
}

// read takes the body, decoded, up to its bound. The transport's own decoding
// is off, so that the bound holds for what comes out.
func read(resp *http.Response, limit int64) (string, error) {
	var body io.Reader = resp.Body
	if strings.EqualFold(resp.Header.Get("Content-Encoding"), "gzip") && !resp.Uncompressed {
		z, err := gzip.NewReader(body)
		if errors.Is(err, io.EOF) {
			return "", nil // no body at all
		}
		if err != nil {
			return "", fmt.Errorf("the body is not gzip as its header says: %w", err)
		}
		body = z
	} else if resp.ContentLength > limit {
		return "", tooLarge(limit)
	}
	var b strings.Builder
	if body == resp.Body && resp.ContentLength > 0 {
		b.Grow(int(resp.ContentLength))
	}
	n, err := io.Copy(&b, io.LimitReader(body, limit+1))
	if n > limit {
		return "", tooLarge(limit)
	}
	if err != nil {
		return "", fmt.Errorf("the body broke off after %d bytes: %w", n, err)
	}
	return b.String(), nil
}

func tooLarge(limit int64) error {
	return fmt.Errorf("the body is larger than the %d bytes that the plugin has free", max(limit, 0))
}
