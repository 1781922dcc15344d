package wire

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"clm/llm"
)

// modelEntry is an element of GET /models, with the names that servers have
// for the size of the window.
type modelEntry struct {
	ID               String `json:"id"`
	Name             String `json:"name"` // where there is no id
	MaxInput         Int    `json:"max_input_tokens"`
	ContextLength    Int    `json:"context_length"`
	MaxModelLen      Int    `json:"max_model_len"`
	ContextWindow    Int    `json:"context_window"`
	MaxContextLength Int    `json:"max_context_length"`
	LoadedLength     Int    `json:"loaded_context_length"`
	Meta             *struct {
		Train Int `json:"n_ctx_train"`
	} `json:"meta"`
}

func (e modelEntry) size() int64 {
	for _, n := range [...]Int{e.LoadedLength, e.MaxInput, e.ContextLength, e.MaxModelLen, e.ContextWindow, e.MaxContextLength} {
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
	if f, ok := ParseFault(body.Error); ok {
		return fmt.Errorf("the server reports: %s", f.Message)
	}
	*l = body.Data
	if body.Data == nil {
		*l = body.Models
	}
	return nil
}

// Models lists what the server offers, from /models. Entries without a name
// are left out.
func (c *Client) Models(ctx context.Context) ([]llm.Model, error) {
	var list modelList
	if err := c.Get(ctx, "/models", &list); err != nil {
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

// ContextSize asks what llama.cpp really set up for one slot, then what the
// list of models says. The error is that of the list, and only when neither
// was answered.
func (c *Client) ContextSize(ctx context.Context, model string) (int64, error) {
	n, err := c.llamaSize(ctx)
	if n > 0 || IsCanceled(err) {
		return n, err
	}
	return c.ListedSize(ctx, model)
}

// ListedSize is the window of a model as the list says, 0 when it does not.
func (c *Client) ListedSize(ctx context.Context, model string) (int64, error) {
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

// IsCanceled tells whether a request ended because its context did.
func IsCanceled(err error) bool {
	var e *llm.Error
	return errors.As(err, &e) && e.Kind == llm.ErrCanceled
}

func (c *Client) llamaSize(ctx context.Context) (int64, error) {
	var props struct {
		Settings *struct {
			Size Int `json:"n_ctx"`
		} `json:"default_generation_settings"`
		Size Int `json:"n_ctx"`
	}
	if err := c.GetRoot(ctx, "/props", &props); err != nil {
		return 0, err
	}
	if props.Settings != nil && props.Settings.Size.N > 0 {
		return props.Settings.Size.N, nil
	}
	return max(props.Size.N, 0), nil
}
