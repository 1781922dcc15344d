package wire

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"syscall"
	"time"

	"clm/llm"
)

// How long a server may be silent. The first two are long: a local server
// reads a large prompt for minutes before it sends a header, and without
// streaming it sends nothing until the whole answer is there.
const (
	HeaderTimeout = 10 * time.Minute
	WholeTimeout  = 20 * time.Minute // also for a stream that is kept alive, but says nothing
	IdleTimeout   = 5 * time.Minute
	askTimeout    = 10 * time.Second // for lists and properties
	listTimeout   = time.Minute      // for all of one
	drainTimeout  = time.Second
)

const (
	maxAnswer = 256 << 20 // bytes of one answer, decoded
	maxJSON   = 32 << 20  // bytes of one that is not a stream
	maxFault  = 64 << 10  // of an error's body, the rest is not read
	maxDrain  = 64 << 10
	maxIdles  = 100

	maxMessage = 400 // of an error's text
	maxCode    = 40
)

var errLarge = fmt.Errorf("the answer is larger than %d MiB", maxAnswer>>20)

// Client sends the requests of one dialect over one connection. It may be used
// concurrently.
type Client struct {
	conn  llm.Connection
	rt    http.RoundTripper
	own   string
	auth  func(http.Header, string)
	base  *url.URL
	scrub Scrubber
	key   llm.Secret
	blind blind
}

// New makes a client. own is the path of the dialect's requests,
// "/chat/completions": a URL that ends with it is taken as complete. auth sets
// the dialect's own headers; key is empty when there is none. The connection's
// headers are set after it and win.
func New(conn llm.Connection, rt http.RoundTripper, own string, auth func(h http.Header, key string)) (*Client, error) {
	base, err := baseURL(conn.URL)
	if err != nil {
		return nil, &llm.Error{Kind: llm.ErrRequest, Message: err.Error()}
	}
	key := llm.Secret(strings.TrimSpace(conn.Key.Reveal()))
	if !fitsHeader(key) {
		return nil, &llm.Error{Kind: llm.ErrAuth, Message: "the connection's key holds a line end or another control character: check where it comes from"}
	}
	for name, value := range conn.Headers {
		if !fitsHeader(value) || !fitsHeader(llm.Secret(name)) || name == "" || strings.ContainsAny(name, " :") {
			return nil, &llm.Error{Kind: llm.ErrRequest, Message: fmt.Sprintf("the connection's header %q cannot be sent: a name or value has characters that a header may not have", name)}
		}
	}
	return &Client{conn: conn, rt: rt, own: own, auth: auth, base: base, scrub: NewScrubber(conn), key: key}, nil
}

// Bearer is the authorisation of most dialects, for [New].
func Bearer(h http.Header, key string) {
	if key != "" {
		h.Set("Authorization", "Bearer "+key)
	}
}

// fitsHeader tells whether a header can carry a value. The transport would
// refuse it, too, but as if the network had failed.
func fitsHeader(s llm.Secret) bool {
	return !strings.ContainsFunc(s.Reveal(), func(r rune) bool { return r < ' ' && r != '\t' || r == 0x7f })
}

// Post sends body to path below the connection's URL and waits for the
// answer's first byte. stream says what was asked for; [Response.Stream] says
// what came. The error is a [*llm.Error]. The response must be closed.
func (c *Client) Post(ctx context.Context, path string, body Body, stream bool) (*Response, error) {
	r, err := http.NewRequest(http.MethodPost, endpoint(c.base, c.own, path).String(), nil)
	if err != nil {
		return nil, &llm.Error{Kind: llm.ErrRequest, Message: c.scrub.Text(err.Error())}
	}
	sent := newPayload(r, body)
	defer sent.drop()
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json")
	r.Header.Set("Accept-Encoding", "gzip")
	silence := WholeTimeout
	if stream {
		silence = HeaderTimeout
		r.Header.Set("Accept", "text/event-stream")
		r.Header.Set("Accept-Encoding", "identity") // a compressor would hold chunks back
	}
	return c.do(ctx, r, silence, IdleTimeout, WholeTimeout)
}

// Get reads a JSON value from path below the connection's URL into v.
func (c *Client) Get(ctx context.Context, path string, v any) error {
	return c.get(ctx, endpoint(c.base, c.own, path), v)
}

// GetRoot is Get for a path at the server's root, where llama.cpp keeps what
// is not part of the API: the folder that holds the connection's "/v1".
func (c *Client) GetRoot(ctx context.Context, path string, v any) error {
	return c.get(ctx, atRoot(c.base, c.own, path), v)
}

func (c *Client) get(ctx context.Context, u *url.URL, v any) error {
	r, err := http.NewRequest(http.MethodGet, u.String(), nil)
	if err != nil {
		return &llm.Error{Kind: llm.ErrRequest, Message: c.scrub.Text(err.Error())}
	}
	r.Header.Set("Accept", "application/json")
	r.Header.Set("Accept-Encoding", "gzip")
	resp, err := c.do(ctx, r, askTimeout, askTimeout, listTimeout)
	if err != nil {
		return err
	}
	defer resp.Close()
	body, err := resp.ReadAll()
	if err != nil {
		return err
	}
	if err := json.Unmarshal(body, v); err != nil {
		return resp.Failf(llm.ErrProtocol, "the answer is not the JSON that was asked for: %w", err)
	}
	return nil
}

// do makes one attempt, with the longest times to the header, between two reads,
// and between two parts of the answer.
func (c *Client) do(ctx context.Context, r *http.Request, header, idle, futile time.Duration) (*Response, error) {
	c.headers(r)
	inner, cancel := context.WithCancelCause(ctx)
	timer := time.AfterFunc(header, func() { cancel(llm.ErrSilent) })
	resp := &Response{c: c, ctx: inner, outer: ctx, cancel: cancel, timer: timer, idle: idle, futile: futile, where: c.scrub.Text(where(r.Method, r.URL))}
	h, err := c.rt.RoundTrip(r.WithContext(inner))
	if err == nil && (h == nil || h.Body == nil) { // an embedder's transport
		err = errors.New("the transport gave neither an answer nor an error")
	}
	if err != nil {
		defer resp.stop()
		return nil, resp.failed(err)
	}
	resp.status, resp.header, resp.body, resp.src = h.StatusCode, h.Header, h.Body, h.Body
	resp.Progress()
	if err := resp.open(); err != nil {
		resp.Close()
		return nil, err
	}
	return resp, nil
}

func (c *Client) headers(r *http.Request) {
	r.Header.Set("User-Agent", "clm")
	if u := r.URL.User; u != nil && c.key == "" {
		pw, _ := u.Password()
		r.SetBasicAuth(u.Username(), pw)
	}
	r.URL.User = nil
	if c.auth != nil {
		c.auth(r.Header, c.key.Reveal())
	}
	for name, value := range c.conn.Headers {
		if strings.EqualFold(name, "Host") {
			r.Host = value.Reveal()
			continue
		}
		r.Header.Set(name, value.Reveal())
	}
}

// describe says in plain words why no answer came, as far as the cause is
// known.
func describe(err error) string {
	var dns *net.DNSError
	var op *net.OpError
	switch {
	case errors.Is(err, llm.ErrSilent):
		return llm.ErrSilent.Error()
	case errors.As(err, &dns) && dns.IsNotFound:
		return "unknown host " + dns.Name + "; check the URL"
	case errors.Is(err, syscall.ECONNREFUSED):
		return "connection refused; is the server running?"
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, syscall.ECONNRESET), errors.Is(err, syscall.EPIPE):
		return "the server closed the connection"
	case errors.As(err, &op):
		return op.Err.Error()
	}
	return err.Error()
}
