package actors

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"net/http"
	"reflect"
	"slices"
	"sync/atomic"
	"time"

	"clm/actors/internal/model"
	"clm/llm"
	"clm/llm/provider"
)

// connections is what agents share that use the same servers. It is the engine
// actor's own.
type connections struct {
	clients  map[string]llm.Client // by [connectionKey]
	limiters llm.Limiters          // by URL and key
	windows  map[string]*window    // by connection and model
	last     *resolved             // agents come in crowds that use the same model
}

// resolved is a model with its connections. It is not changed once it was made:
// agents share it.
type resolved struct {
	Model
	conns   []model.Connection
	origins []string // of each connection's reasoning, see [llm.Reasoning]
	window  *window
}

// window is what a server says of a model's context window, asked for once.
type window struct {
	size   atomic.Int64 // tokens; 0: not known
	asking atomic.Bool
	failed atomic.Int32
}

// maxWindowTries is how often a server that fails is asked.
const maxWindowTries = 3

// ask gives a question for the window, nil when there is none to ask now.
func (w *window) ask(client llm.Client, model string) func(context.Context) (int64, error) {
	if w.size.Load() > 0 || w.failed.Load() >= maxWindowTries || !w.asking.CompareAndSwap(false, true) {
		return nil
	}
	return func(ctx context.Context) (int64, error) {
		defer w.asking.Store(false)
		limited, cancel := context.WithTimeout(ctx, 5*time.Second)
		defer cancel()
		size, err := client.ContextSize(limited, model)
		switch {
		case size > 0:
			w.size.Store(size)
		case ctx.Err() != nil: // the turn has ended: no fault of the server
		case err != nil:
			w.failed.Add(1)
		default:
			w.failed.Store(maxWindowTries) // it does not know
		}
		return size, err
	}
}

// resolve finds or makes a model's connections.
func (r *connections) resolve(m Model, rt http.RoundTripper) (*resolved, error) {
	if r.last != nil && reflect.DeepEqual(r.last.Model, m) {
		return r.last, nil
	}
	out := &resolved{Model: m.clone()}
	for i, f := range append([]Model{m}, m.Fallback...) {
		client, key, err := r.client(f.Connection, rt)
		if err != nil {
			return nil, err
		}
		mc := model.Connection{
			Name: f.Connection.Name, Client: client, Limiter: r.limiters.For(f.Connection, f.RateTokensPerSec, f.RateBurst),
		}
		if i > 0 {
			mc.Model, mc.MaxTokens = cmp.Or(f.ID, m.ID), f.MaxOutputTokens
		} else {
			out.window = r.window(key + m.ID)
		}
		out.conns = append(out.conns, mc)
		out.origins = append(out.origins, string(f.Connection.Kind)+"/"+cmp.Or(mc.Model, m.ID))
	}
	r.last = out
	return out, nil
}

func (r *connections) client(c llm.Connection, rt http.RoundTripper) (client llm.Client, key string, err error) {
	key = connectionKey(c)
	if client := r.clients[key]; client != nil {
		return client, key, nil
	}
	if client, err = provider.New(c, rt); err != nil {
		return nil, "", fmt.Errorf("connection %s: %w", c.Name, err)
	}
	r.clients[key] = client
	return client, key, nil
}

func (r *connections) window(key string) *window {
	if r.windows[key] == nil {
		r.windows[key] = new(window)
	}
	return r.windows[key]
}

// connectionKey names a connection without holding its secrets.
func connectionKey(c llm.Connection) string {
	h := sha256.New()
	fmt.Fprintf(h, "%s\n%s\n%s\n%q\n", c.Name, c.Kind, c.URL, c.Key.Reveal())
	for _, k := range slices.Sorted(maps.Keys(c.Headers)) {
		fmt.Fprintf(h, "%q %q\n", k, c.Headers[k].Reveal())
	}
	return hex.EncodeToString(h.Sum(nil))
}

// Models lists what a connection's server offers.
func (e *Engine) Models(ctx context.Context, c llm.Connection) ([]llm.Model, error) {
	client, err := provider.New(c, e.opts.Transport)
	if err != nil {
		return nil, fmt.Errorf("connection %s: %w", c.Name, err)
	}
	return client.Models(ctx)
}
