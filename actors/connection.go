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

	"clm/actors/internal/family"
	"clm/actors/internal/model"
	"clm/llm"
	"clm/llm/provider"
)

// connections is what agents share that use the same servers. It is the engine
// actor's own.
type connections struct {
	servers  map[string]*server // by [connectionKey]
	asked    uint64             // counts what was asked for, to tell what is old
	limiters llm.Limiters       // by URL and key
	last     *resolved          // agents come in crowds that use the same model
}

// maxIdleServers is how many connections are kept that no agent has: keys and
// URLs may change for as long as an engine lives.
const maxIdleServers = 64

// server is a connection with what was learned of what is behind it.
type server struct {
	conn   llm.Connection
	client llm.Client
	models map[string]*learned
	agents atomic.Int64 // that have it
	asked  uint64       // when it was last asked for
}

// learned is what a server turned out to be like with one model. All agents
// share it.
type learned struct {
	window  window
	noTools atomic.Bool // it refuses them
}

// maxLearned bounds the models that are remembered of one server.
const maxLearned = 1000

// resolved is a model with its connections. It is not changed once it was made:
// agents share it.
type resolved struct {
	Model
	servers []*server
	conns   []model.Connection
	origins []string // of each connection's reasoning, see [llm.Reasoning]
	prices  []Price  // of each connection's answers
	window  *window
}

// hold keeps the connections for one more agent, until it calls release.
func (m *resolved) hold() { m.count(1) }

func (m *resolved) release() { m.count(-1) }

func (m *resolved) count(n int64) {
	for _, s := range m.servers {
		s.agents.Add(n)
	}
}

// window is what a server says of a model's context window, asked for once.
type window struct {
	size   atomic.Int64 // tokens; 0: not known
	asking atomic.Bool
	failed atomic.Int32
}

const (
	maxWindowTries = 3 // how often a server that fails is asked
	windowTime     = 5 * time.Second
)

// ask gives a question for the window, nil when there is none to ask now. Nothing
// is lost if the turn that got it never puts it.
func (w *window) ask(clock Clock, client llm.Client, model string) func(context.Context) (int64, error) {
	if w.size.Load() > 0 || w.failed.Load() >= maxWindowTries || w.asking.Load() {
		return nil
	}
	return func(ctx context.Context) (int64, error) {
		if !w.asking.CompareAndSwap(false, true) {
			return w.size.Load(), nil // another turn asks, or did just now
		}
		defer w.asking.Store(false)
		limited, cancel := family.Timeout(ctx, clock, windowTime)
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
	r.asked++
	if r.last != nil && reflect.DeepEqual(r.last.Model, m) {
		return r.last, nil
	}
	out := &resolved{Model: m.clone()}
	for i, f := range append([]Model{m}, m.Fallback...) {
		s, err := r.server(f.Connection, rt)
		if err != nil {
			return nil, err
		}
		known := s.model(cmp.Or(f.ID, m.ID))
		mc := model.Connection{
			Name: f.Connection.Name, Client: s.client, NoTools: &known.noTools,
			Limiter: r.limiters.For(f.Connection, f.RateTokensPerSec, f.RateBurst),
		}
		if i > 0 {
			mc.Model, mc.MaxTokens = cmp.Or(f.ID, m.ID), f.MaxOutputTokens
		} else {
			out.window = &known.window
		}
		price := f.Price
		if f.ID == "" { // the same model
			price = cmp.Or(price, m.Price)
		}
		out.servers = append(out.servers, s)
		out.conns = append(out.conns, mc)
		out.origins = append(out.origins, string(f.Connection.Kind)+"/"+cmp.Or(mc.Model, m.ID))
		out.prices = append(out.prices, price)
	}
	out.hold()
	if r.last != nil {
		r.last.release()
	}
	r.last = out
	return out, nil
}

// server finds or makes a connection.
func (r *connections) server(c llm.Connection, rt http.RoundTripper) (*server, error) {
	key := connectionKey(c)
	s := r.servers[key]
	if s == nil {
		client, err := provider.New(c, rt)
		if err != nil {
			return nil, connectionError(c, err)
		}
		s = &server{conn: c, client: client, models: map[string]*learned{}}
		r.makeRoom()
		r.servers[key] = s
	}
	s.asked = r.asked
	return s, nil
}

// makeRoom drops the connection that was not asked for for the longest time
// when too many are there that no agent has. The present model's are not
// touched: they are the newest.
func (r *connections) makeRoom() {
	idle, oldest := 0, ""
	for key, s := range r.servers {
		if s.agents.Load() > 0 || s.asked == r.asked {
			continue
		}
		idle++
		if oldest == "" || s.asked < r.servers[oldest].asked {
			oldest = key
		}
	}
	if idle < maxIdleServers {
		return
	}
	gone := r.servers[oldest].conn
	delete(r.servers, oldest)
	for _, s := range r.servers {
		if llm.SameLimiter(s.conn, gone) {
			return
		}
	}
	r.limiters.Forget(gone)
}

// model is what is known of a server with a model. What is forgotten is learned
// again.
func (s *server) model(id string) *learned {
	if s.models[id] == nil {
		if len(s.models) >= maxLearned {
			clear(s.models)
		}
		s.models[id] = new(learned)
	}
	return s.models[id]
}

func connectionError(c llm.Connection, err error) error {
	if c.Name == "" {
		return err
	}
	return fmt.Errorf("connection %s: %w", c.Name, err)
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
		return nil, connectionError(c, err)
	}
	return client.Models(ctx)
}
