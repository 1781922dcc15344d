package wire

import (
	"errors"
	"fmt"
	"net/url"
	"strings"
)

// baseURL parses a connection's URL. A missing scheme means http, as in
// "localhost:8081/v1".
func baseURL(base string) (*url.URL, error) {
	base = strings.TrimSpace(base)
	if base == "" {
		return nil, errors.New("the connection has no URL; give it one, like http://127.0.0.1:8081/v1")
	}
	if !strings.Contains(base, "://") {
		base = "http://" + strings.TrimPrefix(base, "//")
	}
	u, err := url.Parse(base)
	if err != nil {
		var ue *url.Error
		if errors.As(err, &ue) {
			err = ue.Err // without the URL: it may hold a password
		}
		return nil, fmt.Errorf("the connection's URL cannot be read: %w", err)
	}
	if u.Scheme != "http" && u.Scheme != "https" {
		return nil, fmt.Errorf("the connection's URL has the scheme %q: use http or https", u.Scheme)
	}
	if u.Host == "" {
		return nil, errors.New("the connection's URL names no host")
	}
	u.Fragment, u.RawFragment = "", ""
	return u, nil
}

// endpoint is base with path appended. A trailing slash does no harm, and
// neither does own, the path of the dialect's requests, at the base's end. The
// query is kept.
func endpoint(base *url.URL, own, path string) *url.URL {
	at := strings.TrimRight(base.EscapedPath(), "/")
	at = strings.TrimRight(strings.TrimSuffix(at, own), "/")
	return withPath(base, at+path)
}

// atRoot is the URL of path on the server itself: beside the version folder of
// the API, where llama.cpp has its own endpoints.
func atRoot(base *url.URL, own, path string) *url.URL {
	at := strings.TrimRight(base.EscapedPath(), "/")
	at = strings.TrimRight(strings.TrimSuffix(at, own), "/")
	return withPath(base, strings.TrimSuffix(at, "/v1")+path)
}

func withPath(base *url.URL, escaped string) *url.URL {
	u := *base
	u.RawPath = escaped
	// It was escaped by EscapedPath; what cannot be undone is taken literally.
	if p, err := url.PathUnescape(escaped); err == nil {
		u.Path = p
	} else {
		u.Path, u.RawPath = escaped, ""
	}
	return &u
}

// where names a request in an error: no query, no user.
func where(method string, u *url.URL) string {
	return method + " " + u.Scheme + "://" + u.Host + u.EscapedPath()
}
