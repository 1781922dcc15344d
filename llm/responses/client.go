package responses

import (
	"bytes"
	"context"
	"errors"
	"maps"
	"net/http"
	"strings"
	"sync/atomic"

	"clm/llm"
	"clm/llm/internal/wire"
)

const path = "/responses"

// Client is an [llm.Client]. It is safe for concurrent use.
type Client struct {
	http *wire.Client

	tools wire.ToolCache
	plain atomic.Pointer[map[string]bool] // models without encrypted reasoning
}

// New makes a client for a connection. It makes no request. The error is an
// [*llm.Error] for a URL that cannot be used.
func New(conn llm.Connection, rt http.RoundTripper) (*Client, error) {
	h, err := wire.New(conn, rt, path, bearer)
	if err != nil {
		return nil, err
	}
	return &Client{http: h}, nil
}

func bearer(h http.Header, key string) {
	if key != "" {
		h.Set("Authorization", "Bearer "+key)
	}
}

// Complete implements [llm.Client].
func (c *Client) Complete(ctx context.Context, req *llm.Request, emit func(llm.Delta)) (*llm.Response, error) {
	body := c.encode(req)
	resp, err := c.http.Post(ctx, path, body, req.Stream)
	if err != nil && c.learns(err, req) {
		if again := c.encode(req); !bytes.Equal(again, body) {
			resp, err = c.http.Post(ctx, path, again, req.Stream)
		}
	}
	if err != nil {
		return nil, err
	}
	defer resp.Close()
	d := newDecoder(resp, emit)
	if resp.Stream {
		err = d.stream()
	} else {
		err = d.whole()
	}
	if err != nil {
		return nil, err
	}
	return d.response(origin(req.Model))
}

// learns tells whether the server refused to give the reasoning of this model
// in encrypted form. It is not asked for again.
func (c *Client) learns(err error, req *llm.Request) bool {
	var e *llm.Error
	if !errors.As(err, &e) || e.Status != http.StatusBadRequest && e.Status != http.StatusUnprocessableEntity {
		return false
	}
	if !refusesEncryption(strings.ToLower(e.Message)) {
		return false
	}
	plain := map[string]bool{}
	if old := c.plain.Load(); old != nil {
		plain = maps.Clone(*old)
	}
	plain[req.Model] = true
	c.plain.Store(&plain)
	return true
}

// refusesEncryption looks for the parameter in an error's text.
func refusesEncryption(text string) bool {
	for _, name := range []string{"encrypted", "'include", "\"include", "`include", "include[", "body.include", "parameter: include"} {
		if strings.Contains(text, name) {
			return true
		}
	}
	return false
}

func (c *Client) isPlain(model string) bool {
	plain := c.plain.Load()
	return plain != nil && (*plain)[model]
}

// origin marks the reasoning of a model, see [llm.Reasoning].
func origin(model string) string { return string(llm.KindResponses) + "/" + model }

// Models implements [llm.Client].
func (c *Client) Models(ctx context.Context) ([]llm.Model, error) { return c.http.Models(ctx) }

// ContextSize implements [llm.Client].
func (c *Client) ContextSize(ctx context.Context, model string) (int64, error) {
	return c.http.ContextSize(ctx, model)
}
