package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"clm/actors/internal/family"
	"clm/actors/internal/tool"
	"clm/llm"
)

const (
	closeGrace = time.Second     // for a polite end of the session
	callGrace  = 2 * time.Second // for a call to end after its context
	maxError   = 2 << 10         // bytes of an error that a model is told

	// The handshake that servers in the field know, and the one for servers
	// that know only later versions.
	handshake       = "2025-11-25"
	modernHandshake = "2026-07-28"
)

// link is one connection to a server.
type link struct {
	clock   family.Clock
	session *sdk.ClientSession
	changed chan struct{} // holds a token when the server's list of tools changed
	wire    wire
}

// wire is what carries a connection.
type wire interface {
	transport() sdk.Transport
	abort()      // breaks the connection; may be called from any goroutine, and again
	close()      // ends and joins what belongs to it, after the session
	why() string // the last words of the other end, for an error; may be empty
}

func (s *server) dial() (wire, error) {
	if len(s.cfg.Command) > 0 {
		return startCommand(s.cfg.Command, s.m.opts)
	}
	return dialHTTP(s.cfg, s.m.opts)
}

// connect starts the server and shakes hands.
func (s *server) connect(ctx context.Context, modern bool) (*link, error) {
	w, err := s.dial()
	if err != nil {
		return nil, err
	}
	l := &link{clock: s.m.opts.Clock, changed: make(chan struct{}, 1), wire: w}
	client := sdk.NewClient(&sdk.Implementation{Name: "clm", Version: s.m.opts.Version}, &sdk.ClientOptions{
		Logger:         slog.New(slog.DiscardHandler),
		Capabilities:   &sdk.ClientCapabilities{},
		MultiRoundTrip: &sdk.MultiRoundTripOptions{Disabled: true},
		ToolListChangedHandler: func(context.Context, *sdk.ToolListChangedRequest) {
			select {
			case l.changed <- struct{}{}:
			default:
			}
		},
	})
	version := handshake
	if modern {
		version = modernHandshake
	}
	// Not every step of the handshake ends with its context.
	aborted := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		defer close(aborted)
		w.abort()
	})
	l.session, err = client.Connect(ctx, w.transport(), &sdk.ClientSessionOptions{ProtocolVersion: version})
	if !stop() {
		<-aborted
	}
	if err != nil {
		w.close()
		return nil, l.explain(s.late(ctx, err))
	}
	return l, nil
}

// isProtocol tells whether a server answered, and refused.
func isProtocol(err error) bool {
	var refused *jsonrpc.Error
	return errors.As(err, &refused)
}

// explain adds the server's last words to an error.
func (l *link) explain(err error) error {
	if err == nil {
		err = errors.New("the connection ended")
	}
	if why := l.wire.why(); why != "" {
		return fmt.Errorf("%w\n%s", err, why)
	}
	return err
}

// close ends the session, politely if that does not take long, and joins
// everything.
func (l *link) close() {
	done := make(chan struct{})
	go func() {
		_ = l.session.Close() // a broken connection has its reason elsewhere
		close(done)
	}()
	late, stop := family.Alarm(l.clock, closeGrace)
	defer stop()
	select {
	case <-done:
	case <-late:
		l.wire.abort()
		<-done
	}
	l.wire.close()
}

// live waits for a connection.
func (s *server) live(ctx context.Context) (*link, error) {
	for {
		s.m.mu.Lock()
		l, phase, reason, changed := s.link, s.phase, s.reason, s.m.changed
		s.m.mu.Unlock()
		switch {
		case l != nil:
			return l, nil
		case phase == Failed:
			return nil, fmt.Errorf("the MCP server %s is not running: %s", s.cfg.Name, reason)
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// call calls a tool by the server's own name.
func (s *server) call(parent context.Context, name, args string) (tool.Result, error) {
	ctx, cancel := family.Timeout(parent, s.m.opts.Clock, s.timeout())
	defer cancel()
	l, err := s.live(ctx)
	var res *sdk.CallToolResult
	if err == nil {
		res, err = l.call(ctx, name, args)
	}
	switch {
	case err == nil:
		out, err := convertResult(res)
		if err != nil {
			err = errors.New(s.text(err))
		}
		return out, err
	case parent.Err() != nil:
		return tool.Result{}, parent.Err()
	case ctx.Err() != nil:
		return tool.Result{}, fmt.Errorf("timed out after %d ms", s.timeout().Milliseconds())
	}
	return tool.Result{}, s.callError(ctx, l, err)
}

// call sends a call and waits for its answer. When ctx ends and the server
// does not even take that message, the connection is broken.
func (l *link) call(ctx context.Context, name, args string) (*sdk.CallToolResult, error) {
	if strings.TrimSpace(args) == "" {
		args = "{}"
	}
	over := make(chan struct{})
	joined := make(chan struct{})
	go func() {
		defer close(joined)
		select {
		case <-over:
			return
		case <-ctx.Done():
		}
		late, stop := family.Alarm(l.clock, callGrace)
		defer stop()
		select {
		case <-over:
		case <-late:
			l.wire.abort()
		}
	}()
	res, err := l.session.CallTool(ctx, &sdk.CallToolParams{Name: name, Arguments: json.RawMessage(args)})
	close(over)
	<-joined
	return res, err
}

// callError is what the model is told about a call that has no answer.
func (s *server) callError(ctx context.Context, l *link, err error) error {
	var refused *jsonrpc.Error
	switch {
	case l == nil:
		return errors.New(s.text(err))
	case errors.As(err, &refused):
		return fmt.Errorf("the MCP server %s refuses: %s", s.cfg.Name, llm.Clip(s.text(errors.New(refused.Message)), maxError))
	}
	// The connection may have ended: then the server's last words come soon.
	ctx, cancel := family.Timeout(ctx, s.m.opts.Clock, closeGrace+callGrace)
	defer cancel()
	for {
		s.m.mu.Lock()
		now, reason, changed := s.link, s.reason, s.m.changed
		s.m.mu.Unlock()
		if now != l {
			return fmt.Errorf("the MCP server %s ended during the call, which may have had an effect: %s", s.cfg.Name, llm.Clip(reason, maxError))
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return fmt.Errorf("the MCP server %s: %s", s.cfg.Name, s.text(err))
		}
	}
}
