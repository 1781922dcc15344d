package mcp

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"clm/actors/internal/family"
	"clm/llm"
)

// listenWait is for a server to say whether it offers a stream of its own
// messages. One that does not answer at all is taken not to.
const listenWait = 5 * time.Second

// remote is a server behind a URL.
type remote struct {
	endpoint *url.URL
	key      llm.Secret
	rt       http.RoundTripper
	clock    family.Clock
	ctx      context.Context // ends all requests
	cancel   context.CancelFunc
}

func dialHTTP(cfg Server, o Options) (*remote, error) {
	u, err := url.Parse(cfg.URL)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return nil, errors.New("its url is not an http or https URL")
	}
	r := &remote{endpoint: u, key: cfg.APIKey, rt: o.Transport, clock: o.Clock}
	r.ctx, r.cancel = context.WithCancel(context.Background())
	return r, nil
}

func (r *remote) transport() sdk.Transport {
	return &sdk.StreamableClientTransport{
		Endpoint: r.endpoint.String(), MaxRetries: 2, MaxEventSize: maxLine,
		HTTPClient: &http.Client{Transport: r, CheckRedirect: follow},
	}
}

func follow(req *http.Request, via []*http.Request) error {
	switch {
	case len(via) > 5:
		return errors.New("more than 5 redirects")
	case via[len(via)-1].URL.Scheme == "https" && req.URL.Scheme != "https":
		return errors.New("a redirect from https to http")
	}
	return nil
}

func (r *remote) abort()      { r.cancel() }
func (r *remote) why() string { return "" }
func (r *remote) close()      { r.cancel() }

// RoundTrip adds the key where it belongs, and ties each request to the
// connection: the SDK's own contexts outlive it.
func (r *remote) RoundTrip(req *http.Request) (*http.Response, error) {
	ctx, cancel := context.WithCancelCause(req.Context())
	stop := context.AfterFunc(r.ctx, func() { cancel(context.Canceled) })
	end := func() { stop(); cancel(context.Canceled) }
	own := req.Clone(ctx)
	if r.key != "" && req.URL.Scheme == r.endpoint.Scheme && req.URL.Host == r.endpoint.Host {
		own.Header.Set("Authorization", "Bearer "+r.key.Reveal())
	}
	var late family.Timer
	if req.Method == http.MethodGet {
		late = r.clock.AfterFunc(listenWait, func() { cancel(errNoStream) })
	}
	resp, err := r.rt.RoundTrip(own)
	if late != nil && !late.Stop() && context.Cause(ctx) == errNoStream {
		if err == nil {
			resp.Body.Close()
		}
		end()
		return noStream(req), nil
	}
	if err != nil {
		end()
		return nil, err
	}
	resp.Body = &body{resp.Body, end}
	return resp, nil
}

var errNoStream = errors.New("no stream")

// noStream is the answer of a server without a stream of its own messages.
func noStream(req *http.Request) *http.Response {
	return &http.Response{
		Status: fmt.Sprint(http.StatusMethodNotAllowed), StatusCode: http.StatusMethodNotAllowed, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: http.Header{}, Body: http.NoBody, Request: req,
	}
}

// body frees what a request holds when it is closed.
type body struct {
	io.ReadCloser
	end func()
}

func (b *body) Close() error {
	defer b.end()
	return b.ReadCloser.Close()
}
