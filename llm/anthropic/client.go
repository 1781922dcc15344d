package anthropic

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"clm/llm"
	"clm/llm/internal/wire"
)

const path = "/messages"

// Client is an [llm.Client]. It is safe for concurrent use.
type Client struct {
	http *wire.Client
	list *wire.Client // for the models: the same, with the length of a page

	tools wire.ToolCache
	// What the server turned out not to take.
	limit   wire.PerModel[int] // the most tokens that a model may be asked for
	noMarks wire.PerModel[struct{}]
}

// New makes a client for a connection. It makes no request. The error is an
// [*llm.Error] for a URL that cannot be used.
func New(conn llm.Connection, rt http.RoundTripper) (*Client, error) {
	// The vendor's own settings name the server without the version.
	if base := strings.TrimRight(conn.URL, "/"); strings.HasSuffix(base, "://api.anthropic.com") {
		conn.URL = base + "/v1"
	}
	h, err := wire.New(conn, rt, path, authorise)
	if err != nil {
		return nil, err
	}
	sep := "?"
	if strings.Contains(conn.URL, "?") {
		sep = "&"
	}
	conn.URL, _, _ = strings.Cut(conn.URL, "#")
	conn.URL += sep + "limit=1000" // the default page has 20
	list, err := wire.New(conn, rt, path, authorise)
	if err != nil {
		return nil, err
	}
	return &Client{http: h, list: list}, nil
}

func authorise(h http.Header, key string) {
	h.Set("anthropic-version", "2023-06-01")
	if key != "" {
		h.Set("x-api-key", key)
	}
}

// Complete implements [llm.Client].
func (c *Client) Complete(ctx context.Context, req *llm.Request, emit func(llm.Delta)) (*llm.Response, error) {
	return c.http.Exchange(
		ctx, req, func() wire.Body { return c.encode(req) }, func(e *llm.Error) { c.learn(e, req) },
		func(r *wire.Response) wire.Decoder { return newDecoder(r, emit, origin(req.Model)) },
	)
}

// learn remembers what a server refused that requests can do without: cache
// marks, which some gateways do not know, or an answer longer than the model
// can write.
func (c *Client) learn(e *llm.Error, req *llm.Request) {
	if strings.Contains(e.Message, "cache_control") {
		c.noMarks.Set(req.Model, struct{}{})
	}
	if n := longest(e.Message); n > 0 {
		c.limit.Set(req.Model, n)
	}
}

// longest reads how many tokens a model can write out of "max_tokens: 32000 >
// 8192, which is the maximum …"; 0 when the text is about something else.
func longest(text string) int {
	_, after, _ := strings.Cut(text, "max_tokens: ")
	asked, after, _ := strings.Cut(after, " > ")
	limit := after[:len(after)-len(strings.TrimLeft(after, "0123456789"))]
	n, err := strconv.Atoi(limit)
	if more, err2 := strconv.Atoi(asked); err != nil || err2 != nil || n >= more {
		return 0
	}
	return n
}

// maxTokens is what the API must be told: how long the answer may be.
func (c *Client) maxTokens(req *llm.Request) int {
	n := req.MaxTokens
	if n <= 0 {
		n = defaultMaxTokens(req.Model)
	}
	if limit, ok := c.limit.Get(req.Model); ok {
		n = min(n, limit)
	}
	return n
}

// defaultMaxTokens is a length that the model's family can write; names may
// have a vendor's prefix and a date behind them. What speaks the dialect but is
// no Claude gets what most servers take.
func defaultMaxTokens(model string) int {
	_, version, claude := strings.Cut(model, "claude-")
	switch {
	case !claude:
		return 8192
	case strings.HasPrefix(version, "3-5"), strings.HasPrefix(version, "3.5"):
		return 8192
	case strings.HasPrefix(version, "3-7"), strings.HasPrefix(version, "3.7"):
		return 32000
	case strings.HasPrefix(version, "3"), strings.HasPrefix(version, "2"), strings.HasPrefix(version, "instant"):
		return 4096
	case strings.HasPrefix(version, "opus"), strings.HasPrefix(version, "sonnet"), strings.HasPrefix(version, "haiku"):
		return 32000
	}
	return 8192
}

// origin marks the reasoning of a model, see [llm.Reasoning].
func origin(model string) string { return string(llm.KindAnthropic) + "/" + model }

// Models implements [llm.Client].
func (c *Client) Models(ctx context.Context) ([]llm.Model, error) { return c.list.Models(ctx) }

// ContextSize implements [llm.Client]. Where the server knows nothing of single
// models it asks as in the other dialects.
func (c *Client) ContextSize(ctx context.Context, model string) (int64, error) {
	var entry struct {
		MaxInput wire.Int `json:"max_input_tokens"`
	}
	err := c.http.Get(ctx, "/models/"+url.PathEscape(model), &entry)
	var e *llm.Error
	refused := errors.As(err, &e) && e.Status != 0 && e.Kind != llm.ErrAuth
	if refused || err == nil && entry.MaxInput.N <= 0 {
		return c.http.ContextSize(ctx, model)
	}
	return entry.MaxInput.N, err
}
