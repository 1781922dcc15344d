package openai

import (
	"context"

	"clm/llm"
	"clm/llm/internal/wire"
)

// Models implements [llm.Client].
func (c *Client) Models(ctx context.Context) ([]llm.Model, error) { return c.http.Models(ctx) }

// ContextSize implements [llm.Client]. It asks what the server really set up
// (llama.cpp's window of one slot, Ollama's of the loaded model), then what it
// says of the model. The error is that of the last question, and only there
// when no question was answered.
func (c *Client) ContextSize(ctx context.Context, model string) (int64, error) {
	if c.kind != llm.KindOllama {
		return c.http.ContextSize(ctx, model)
	}
	n, err := c.ollamaSize(ctx, model)
	if n > 0 || wire.IsCanceled(err) {
		return n, err
	}
	return c.http.ListedSize(ctx, model)
}

// ollamaSize asks for the models that are loaded.
func (c *Client) ollamaSize(ctx context.Context, model string) (int64, error) {
	var loaded struct {
		Models []struct {
			Name  string   `json:"name"`
			Model string   `json:"model"`
			Size  wire.Int `json:"context_length"`
		} `json:"models"`
	}
	if err := c.http.GetRoot(ctx, "/api/ps", &loaded); err != nil {
		return 0, err
	}
	for _, m := range loaded.Models {
		if m.Name == model || m.Model == model || m.Name == model+":latest" {
			return max(m.Size.N, 0), nil
		}
	}
	return 0, nil
}
