// Package model is the actor of one request to the model: it waits for the
// connection's rate, makes the attempt at its edge, reports what arrives, and
// tries again where that can help.
package model

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"clm/actors/internal/family"
	"clm/actors/msg"
	"clm/llm"
)

// Connection is one way to reach a model. The first of a list is the
// configured one, the others are its fallbacks.
type Connection struct {
	Name    string
	Client  llm.Client
	Limiter *llm.Limiter // nil: no limit
	// NoTools says that it refuses tools with this model, as was found out by
	// any agent that has it.
	NoTools *atomic.Bool
	// Model and MaxTokens replace the request's when Model is not empty.
	Model     string
	MaxTokens int
}

// Config is what a model's actor needs.
type Config struct {
	Agent       *actor.PID
	Turn        uint64
	Connections []Connection
	First       int            // of the connections, the one to begin with
	Rand        func() float64 // in [0, 1), for jitter
}

// Spec describes a model's actor.
func Spec(cfg Config) family.Spec {
	return family.Spec{Kind: family.KindModel, Behavior: &model{cfg: cfg, at: cfg.First}}
}

type model struct {
	cfg     Config
	ask     msg.AskModel
	at      int // which connection
	attempt int // of this connection
	refund  func(now time.Time)
}

// From the own edge and timers.
type (
	free      struct{} // the rate allows the request
	again     struct{} // the server may be asked again
	attempted struct {
		asked *llm.Request
		resp  *llm.Response
		err   error
	}
)

func (m *model) Receive(n *family.Node, c actor.Context, message any) {
	switch x := message.(type) {
	case msg.AskModel:
		m.ask = x
		m.reserve(n)
	case free:
		m.refund = nil
		m.try(n)
	case again:
		m.reserve(n) // it is a request like any other
	case attempted:
		m.attempted(n, c, x)
	case family.Stopping:
		if m.refund != nil {
			m.refund(n.System().Clock.Now()) // the request was never made
		}
	}
}

// reserve waits for the connection's rate.
func (m *model) reserve(n *family.Node) {
	conn := m.cfg.Connections[m.at]
	if conn.Limiter != nil {
		delay, refund := conn.Limiter.Reserve(n.System().Clock.Now(), requestBytes(m.request()))
		if delay > 0 {
			m.refund = refund
			m.wait(n, delay, "the connection's rate limit", free{})
			return
		}
	}
	m.try(n)
}

func (m *model) wait(n *family.Node, d time.Duration, why string, then any) {
	n.SetState("RATE_LIMITED")
	m.report(n, msg.StateChanged{State: msg.StateRateLimited})
	m.report(n, msg.Waiting{For: d, Why: why})
	n.After(d, then)
}

func (m *model) report(n *family.Node, d msg.EventData) {
	n.Tell(m.cfg.Agent, msg.Report{Turn: m.cfg.Turn, Data: d})
}

func (m *model) try(n *family.Node) {
	m.attempt++
	n.SetState("THINKING")
	m.report(n, msg.StateChanged{State: msg.StateThinking})
	client, req := m.cfg.Connections[m.at].Client, m.request()
	if len(req.Tools) < len(m.ask.Request.Tools) {
		n.Tell(m.cfg.Agent, msg.Learned{NoTools: true, Connection: m.at})
	}
	var emit func(llm.Delta)
	if !m.ask.Silent {
		emit = func(d llm.Delta) {
			switch d.Kind {
			case llm.DeltaText:
				m.report(n, msg.Text{Text: d.Text})
			case llm.DeltaReasoning:
				m.report(n, msg.Reasoning{Text: d.Text})
			}
		}
	}
	n.Go("model request", func(ctx context.Context) any {
		resp, err := client.Complete(ctx, req, emit)
		return attempted{req, resp, err}
	})
}

// request is what the present connection is asked.
func (m *model) request() *llm.Request {
	conn, r := m.cfg.Connections[m.at], *m.ask.Request
	if conn.Model != "" {
		r.Model, r.MaxTokens = conn.Model, conn.MaxTokens
	}
	if conn.NoTools.Load() {
		r.Tools = nil
	}
	return &r
}

func (m *model) attempted(n *family.Node, c actor.Context, x attempted) {
	if x.err == nil {
		m.answer(n, c, msg.ModelAnswered{Response: x.resp})
		return
	}
	e := asError(x.err)
	if e.Kind == llm.ErrNoTools && !e.Started && len(x.asked.Tools) > 0 {
		m.cfg.Connections[m.at].NoTools.Store(true)
		m.attempt = 0 // what is asked now is another request
		m.reserve(n)
		return
	}
	if delay, more := llm.Backoff(m.attempt, e, m.cfg.Rand()); more {
		m.wait(n, delay, e.Error(), again{})
		return
	}
	if m.at+1 < len(m.cfg.Connections) && othersMayAnswer(e) {
		m.at++
		m.attempt = 0
		m.report(n, msg.Notice{Text: fmt.Sprintf("%v; going on with %s", e, m.cfg.Connections[m.at].Name)})
		m.reserve(n)
		return
	}
	m.answer(n, c, msg.ModelAnswered{Err: x.err})
}

// othersMayAnswer tells whether a failure is the connection's own: no answer has
// begun, and it is not the request that is at fault.
func othersMayAnswer(e *llm.Error) bool {
	switch e.Kind {
	case llm.ErrNoTools, llm.ErrContext, llm.ErrCanceled:
		return false
	case llm.ErrRequest:
		return e.Retryable() // 408, 409: to the end of its tries
	}
	return !e.Started
}

func (m *model) answer(n *family.Node, c actor.Context, a msg.ModelAnswered) {
	a.Connection = m.at
	n.Request(c, c.Parent(), a)
	n.Stop()
}

func asError(err error) *llm.Error {
	var e *llm.Error
	if errors.As(err, &e) {
		return e
	}
	return &llm.Error{Kind: llm.ErrProtocol, Message: err.Error(), Started: true, Err: err}
}

// requestBytes is about the size of a request on the wire, for the rate. A
// picture counts as what models charge for one, about 1,500 tokens.
func requestBytes(r *llm.Request) int {
	b := len(r.System)
	for _, m := range r.Messages {
		b += 32 + len(m.Content) + 6000*len(m.Attachments)
		for _, c := range m.ToolCalls {
			b += 64 + len(c.Name) + len(c.Args)
		}
		for _, x := range m.Reasoning {
			b += max(len(x.Raw), len(x.Text))
		}
	}
	for _, t := range r.Tools {
		b += len(t.Name) + len(t.Description) + len(t.Schema)
	}
	return b
}
