package responses

import (
	"context"
	"net/http"
	"strings"

	"clm/llm"
	"clm/llm/internal/wire"
)

const path = "/responses"

// Client is an [llm.Client]. It is safe for concurrent use.
type Client struct {
	http *wire.Client

	tools wire.ToolCache
	plain wire.PerModel[struct{}] // those without encrypted reasoning
}

// New makes a client for a connection. It makes no request. The error is an
// [*llm.Error] for a URL that cannot be used.
func New(conn llm.Connection, rt http.RoundTripper) (*Client, error) {
	h, err := wire.New(conn, rt, path, wire.Bearer)
	if err != nil {
		return nil, err
	}
	return &Client{http: h}, nil
}

// Complete implements [llm.Client].
func (c *Client) Complete(ctx context.Context, req *llm.Request, emit func(llm.Delta)) (*llm.Response, error) {
	return c.http.Exchange(
		ctx, req, func() wire.Body { return c.encode(req) }, func(e *llm.Error) { c.learn(e, req) },
		func(r *wire.Response) wire.Decoder { return newDecoder(r, emit, origin(req.Model)) },
	)
}

// learn remembers that the server refused to give the reasoning of this model
// in encrypted form. It is not asked for again.
func (c *Client) learn(e *llm.Error, req *llm.Request) {
	if refusesEncryption(strings.ToLower(e.Message)) {
		c.plain.Set(req.Model, struct{}{})
	}
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

// origin marks the reasoning of a model, see [llm.Reasoning].
func origin(model string) string { return string(llm.KindResponses) + "/" + model }

// Models implements [llm.Client].
func (c *Client) Models(ctx context.Context) ([]llm.Model, error) { return c.http.Models(ctx) }

// ContextSize implements [llm.Client].
func (c *Client) ContextSize(ctx context.Context, model string) (int64, error) {
	return c.http.ContextSize(ctx, model)
}
