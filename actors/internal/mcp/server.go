package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os/exec"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"clm/actors/internal/family"
	"clm/actors/internal/schema"
	"clm/actors/internal/tool"
	"clm/llm"
)

const (
	maxRestarts   = 4 // within restartWindow
	restartWindow = 5 * time.Minute
	maxPages      = 100
	maxTools      = 1000
	maxReason     = 2 << 10 // bytes
	maxDescribe   = 8 << 10 // bytes of a tool's description
)

// server keeps one server. The fields below mu of its manager are guarded by
// that.
type server struct {
	m   *Manager
	cfg Server

	phase  Phase
	reason string
	tools  []tool.Tool
	link   *link // nil while there is no connection
}

// run keeps the server until ctx ends or it is given up.
func (s *server) run(ctx context.Context) {
	var restarts []time.Time
	modern := false
	for {
		err := s.once(ctx, modern)
		if ctx.Err() != nil {
			s.m.update(func() { s.phase, s.reason, s.link, s.tools = Failed, "closed", nil, nil })
			return
		}
		modern = modern != isProtocol(err)
		now := s.m.opts.Clock.Now()
		for len(restarts) > 0 && now.Sub(restarts[0]) > restartWindow {
			restarts = restarts[1:]
		}
		reason := s.text(err)
		if len(restarts) >= maxRestarts || errors.As(err, new(*exec.Error)) {
			s.m.update(func() { s.phase, s.reason, s.link, s.tools = Failed, reason, nil, nil })
			return
		}
		s.m.update(func() { s.phase, s.reason, s.link = Starting, reason, nil })
		pause := s.m.opts.backoff << len(restarts)
		restarts = append(restarts, now)
		over, stop := family.Alarm(s.m.opts.Clock, pause/2+rand.N(pause/2+1))
		select {
		case <-over:
		case <-ctx.Done():
		}
		stop()
	}
}

// once starts the server and stays with it to its end, which the error says.
func (s *server) once(ctx context.Context, modern bool) error {
	begin, cancel := family.Timeout(ctx, s.m.opts.Clock, s.m.opts.start)
	defer cancel()
	l, err := s.connect(begin, modern)
	if err != nil {
		return err
	}
	defer l.close()
	tools, err := s.list(begin, l)
	if err != nil {
		return l.explain(s.late(begin, err))
	}
	s.m.update(func() { s.phase, s.reason, s.link, s.tools = Ready, "", l, tools })
	ended := make(chan error, 1)
	go func() { ended <- l.session.Wait() }() // ends with l.close
	for {
		select {
		case err := <-ended:
			return l.explain(err)
		case <-l.changed:
			again, cancel := family.Timeout(ctx, s.m.opts.Clock, s.m.opts.start)
			tools, err := s.list(again, l)
			cancel()
			if err == nil { // else the old list stays
				s.m.update(func() { s.tools = tools })
			}
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// late says of an error that it came of the time to start being over.
func (s *server) late(ctx context.Context, err error) error {
	if errors.Is(context.Cause(ctx), context.DeadlineExceeded) {
		return fmt.Errorf("no answer within %v: %w", s.m.opts.start, err)
	}
	return err
}

// list asks for all pages of the server's tools.
func (s *server) list(ctx context.Context, l *link) ([]tool.Tool, error) {
	var found []*sdk.Tool
	params, seen := &sdk.ListToolsParams{}, map[string]bool{}
	for range maxPages {
		page, err := l.session.ListTools(ctx, params)
		var refused *jsonrpc.Error
		if errors.As(err, &refused) && refused.Code == jsonrpc.CodeMethodNotFound {
			break // a server without tools
		}
		if err != nil {
			return nil, fmt.Errorf("list of tools: %w", err)
		}
		found = append(found, page.Tools...)
		if page.NextCursor == "" || seen[page.NextCursor] || len(found) >= maxTools {
			break
		}
		seen[page.NextCursor] = true
		params = &sdk.ListToolsParams{Cursor: page.NextCursor}
	}
	return s.convert(found[:min(len(found), maxTools)]), nil
}

// convert makes tools of what a server lists. A tool that cannot be offered is
// left out; the others stay.
func (s *server) convert(found []*sdk.Tool) []tool.Tool {
	var kept []*sdk.Tool
	var names []string
	seen := map[string]bool{}
	for _, t := range found {
		if t != nil && t.Name != "" && !seen[t.Name] {
			seen[t.Name] = true
			kept, names = append(kept, t), append(names, t.Name)
		}
	}
	mapped := toolNames(s.cfg.Name, names)
	var tools []tool.Tool
	for i, t := range kept {
		raw, err := json.Marshal(t.InputSchema)
		if err == nil {
			raw, err = schema.Normalise(raw)
		}
		if err != nil {
			continue
		}
		describe := t.Description
		if describe == "" {
			describe = t.Title
		}
		tools = append(tools, tool.Tool{
			Name: mapped[i], Description: llm.Clip(llm.Clean(describe), maxDescribe), Schema: raw,
			Timeout: s.timeout(), Source: "mcp:" + s.cfg.Name,
			Run: func(ctx context.Context, call tool.Call) (tool.Result, error) { return s.call(ctx, t.Name, call.Args) },
		})
	}
	return tools
}

func (s *server) timeout() time.Duration {
	if s.cfg.Timeout > 0 {
		return s.cfg.Timeout
	}
	return defaultTimeout
}

// text is an error for people, without secrets.
func (s *server) text(err error) string {
	text := llm.Clean(err.Error())
	for _, secret := range append([]string{s.cfg.APIKey.Reveal()}, s.m.opts.Secrets...) {
		if len(secret) >= 4 {
			text = strings.ReplaceAll(text, secret, "[redacted]")
		}
	}
	return llm.Clip(strings.TrimSpace(text), maxReason)
}
