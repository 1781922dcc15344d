package openai

import (
	"context"
	"net/http"
	"net/url"
	"strings"

	"clm/llm"
	"clm/llm/internal/wire"
)

const path = "/chat/completions"

// Client is an [llm.Client]. It is safe for concurrent use.
type Client struct {
	http *wire.Client
	kind llm.Kind

	tools wire.ToolCache

	// What the server turned out not to take.
	noStreamOptions wire.PerModel[struct{}]
	noParallel      wire.PerModel[struct{}]
	maxTokens       wire.PerModel[string] // the parameter's name
	usualMaxTokens  string                // its name as far as is known
}

// New makes a client for a connection of kind openai or ollama. It makes no
// request. The error is an [*llm.Error] for a URL that cannot be used.
func New(conn llm.Connection, rt http.RoundTripper) (*Client, error) {
	if conn.Kind == llm.KindOllama {
		conn.URL = ollamaURL(conn.URL)
	}
	h, err := wire.New(conn, rt, path, wire.Bearer)
	if err != nil {
		return nil, err
	}
	c := &Client{http: h, kind: conn.Kind, usualMaxTokens: "max_tokens"}
	if strings.Contains(conn.URL, "://api.openai.com") {
		c.usualMaxTokens = "max_completion_tokens"
	}
	return c, nil
}

// ollamaURL appends the version to a URL that names the server alone.
func ollamaURL(base string) string {
	full := base
	if !strings.Contains(full, "://") {
		full = "http://" + full
	}
	if u, err := url.Parse(full); err == nil && strings.Trim(u.Path, "/") == "" {
		u.Path = "/v1"
		return u.String()
	}
	return base
}

// Complete implements [llm.Client].
func (c *Client) Complete(ctx context.Context, req *llm.Request, emit func(llm.Delta)) (*llm.Response, error) {
	return c.http.Exchange(
		ctx, req, func() wire.Body { return c.encode(req) }, func(e *llm.Error) { c.learn(e, req) },
		func(r *wire.Response) wire.Decoder { return newDecoder(r, emit, c.origin(req.Model)) },
	)
}

// learn remembers that the server refused a parameter, which the next request
// leaves out or spells differently.
func (c *Client) learn(e *llm.Error, req *llm.Request) {
	switch {
	case req.Stream && strings.Contains(e.Message, "stream_options"):
		c.noStreamOptions.Set(req.Model, struct{}{})
	case req.DisableParallelToolCalls && strings.Contains(e.Message, "parallel_tool_calls"):
		c.noParallel.Set(req.Model, struct{}{})
	case req.MaxTokens > 0:
		if name := maxTokensName(e.Message); name != "" {
			c.maxTokens.Set(req.Model, name)
		}
	}
}

// maxTokensName is how the limit of an answer is to be called, where an error
// refuses one of its names: the newer one if it mentions both.
func maxTokensName(text string) string {
	switch {
	case !strings.Contains(text, "max_completion_tokens"):
		return "" // it is about something else, or about the value
	case strings.Contains(text, "max_tokens"):
		return "max_completion_tokens"
	}
	text = strings.ToLower(text)
	for _, word := range []string{"unsupported", "not supported", "unrecognized", "unknown", "unexpected", "not permitted"} {
		if strings.Contains(text, word) {
			return "max_tokens"
		}
	}
	return ""
}

// origin marks the reasoning of a model, see [llm.Reasoning].
func (c *Client) origin(model string) string { return string(c.kind) + "/" + model }
