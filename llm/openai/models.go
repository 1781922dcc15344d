package openai

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"clm/llm"
	"clm/llm/internal/wire"
)

// modelEntry is an element of GET /models, with the names that servers have
// for the size of the window.
type modelEntry struct {
	ID               wire.String `json:"id"`
	Name             wire.String `json:"name"` // where there is no id
	ContextLength    wire.Int    `json:"context_length"`
	MaxModelLen      wire.Int    `json:"max_model_len"`
	ContextWindow    wire.Int    `json:"context_window"`
	MaxContextLength wire.Int    `json:"max_context_length"`
	LoadedLength     wire.Int    `json:"loaded_context_length"`
	Meta             *struct {
		Train wire.Int `json:"n_ctx_train"`
	} `json:"meta"`
}

func (e modelEntry) size() int64 {
	for _, n := range [...]wire.Int{e.LoadedLength, e.ContextLength, e.MaxModelLen, e.ContextWindow, e.MaxContextLength} {
		if n.N > 0 {
			return n.N
		}
	}
	if e.Meta != nil && e.Meta.Train.N > 0 {
		return e.Meta.Train.N
	}
	return 0
}

// modelList is {"data":[…]}, {"models":[…]} or the list alone.
type modelList []modelEntry

func (l *modelList) UnmarshalJSON(b []byte) error {
	*l = nil
	var entries []modelEntry
	if len(b) > 0 && b[0] == '[' {
		if err := json.Unmarshal(b, &entries); err != nil {
			return err
		}
		*l = entries
		return nil
	}
	var body struct {
		Data   []modelEntry    `json:"data"`
		Models []modelEntry    `json:"models"`
		Error  json.RawMessage `json:"error"`
	}
	if err := json.Unmarshal(b, &body); err != nil {
		return err
	}
	if f, ok := wire.ParseFault(body.Error); ok {
		return fmt.Errorf("the server reports: %s", f.Message)
	}
	*l = body.Data
	if body.Data == nil {
		*l = body.Models
	}
	return nil
}

// Models implements [llm.Client]. Entries without a name are left out.
func (c *Client) Models(ctx context.Context) ([]llm.Model, error) {
	var list modelList
	if err := c.http.Get(ctx, "/models", &list); err != nil {
		return nil, err
	}
	var models []llm.Model
	for _, e := range list {
		id := string(e.ID)
		if id == "" {
			id = string(e.Name)
		}
		if id != "" {
			models = append(models, llm.Model{ID: id, ContextSize: e.size()})
		}
	}
	return models, nil
}

// ContextSize implements [llm.Client]. It asks what the server really set up
// (llama.cpp's window of one slot, Ollama's of the loaded model), then what it
// says of the model. The error is that of the last question, and only there
// when no question was answered.
func (c *Client) ContextSize(ctx context.Context, model string) (int64, error) {
	ask := c.llamaSize
	if c.kind == llm.KindOllama {
		ask = c.ollamaSize
	}
	n, err := ask(ctx, model)
	if n > 0 || isCanceled(err) {
		return n, err
	}
	models, err := c.Models(ctx)
	if err != nil {
		return 0, err
	}
	for _, m := range models {
		if m.ID == model {
			return m.ContextSize, nil
		}
	}
	if len(models) == 1 { // a server of one model takes any name for it
		return models[0].ContextSize, nil
	}
	return 0, nil
}

func isCanceled(err error) bool {
	var e *llm.Error
	return errors.As(err, &e) && e.Kind == llm.ErrCanceled
}

// llamaSize asks llama.cpp.
func (c *Client) llamaSize(ctx context.Context, _ string) (int64, error) {
	var props struct {
		Settings *struct {
			Size wire.Int `json:"n_ctx"`
		} `json:"default_generation_settings"`
		Size wire.Int `json:"n_ctx"`
	}
	if err := c.http.GetRoot(ctx, "/props", &props); err != nil {
		return 0, err
	}
	if props.Settings != nil && props.Settings.Size.N > 0 {
		return props.Settings.Size.N, nil
	}
	return max(props.Size.N, 0), nil
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
