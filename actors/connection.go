package actors

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"
	"sync/atomic"

	"clm/actors/internal/model"
	"clm/llm"
	"clm/llm/provider"
)

// connection is what all agents that use the same server with the same key
// share: the client and the rate.
type connection struct {
	client  llm.Client
	limiter *llm.Limiter
}

// resolved is a model with its connections.
type resolved struct {
	Model
	conns  []model.Connection
	origin string
	window *atomic.Int64 // tokens, as asked: 0 not yet, -1 being asked or unknown
}

// resolve finds or makes a model's connections.
func (r *engine) resolve(m Model) (resolved, error) {
	out := resolved{Model: m, window: new(atomic.Int64)}
	for i, f := range append([]Model{m}, m.Fallback...) {
		c, err := r.connection(f)
		if err != nil {
			return resolved{}, err
		}
		mc := model.Connection{Name: f.Connection.Name, Client: c.client, Limiter: c.limiter}
		if i > 0 {
			mc.Model = f.ID
		}
		out.conns = append(out.conns, mc)
	}
	out.origin = string(m.Connection.Kind) + "/" + m.ID
	return out, nil
}

func (r *engine) connection(m Model) (*connection, error) {
	key := connectionKey(m)
	if c := r.conns[key]; c != nil {
		return c, nil
	}
	client, err := provider.New(m.Connection, r.e.opts.Transport)
	if err != nil {
		return nil, fmt.Errorf("connection %s: %w", m.Connection.Name, err)
	}
	c := &connection{client: client}
	if m.RateTokensPerSec > 0 {
		c.limiter = llm.NewLimiter(m.RateTokensPerSec, m.RateBurst)
	}
	r.conns[key] = c
	return c, nil
}

// connectionKey names a connection without holding its secrets.
func connectionKey(m Model) string {
	h := sha256.New()
	c := m.Connection
	fmt.Fprintf(h, "%s\n%s\n%s\n%q\n%g %d\n", c.Name, c.Kind, c.URL, c.Key.Reveal(), m.RateTokensPerSec, m.RateBurst)
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
