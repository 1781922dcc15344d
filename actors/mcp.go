package actors

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"clm/actors/internal/family"
	"clm/actors/internal/mcp"
	"clm/actors/msg"
)

type (
	// MCPServer is a Model Context Protocol server: a command or a URL.
	MCPServer = mcp.Server
	// MCPState is a server's state, for people.
	MCPState = mcp.State
)

// MCPOptions are what all servers of a group share.
type MCPOptions struct {
	Dir       string   // working folder of commands; empty: the process's
	SecretEnv []string // variables that commands do not get, beside CLM_API_KEY
	Secrets   []string // values that commands do not get and no text shows
}

// MCP is a group of MCP servers, shared by any number of agents: give it to
// [AgentOptions.MCP]. Their tools are offered as soon as they are ready, from
// an agent's next request on, and called mcp__SERVER__TOOL, also in rules of
// [Permissions].
type MCP struct {
	clock    Clock
	managers []*mcp.Manager
	version  atomic.Int64 // grows with each change of tools
}

// StartMCP starts servers in the background, each as an actor of the engine
// that ends with it. It does not wait for them: see [MCP.WaitReady]. A server
// that does not come up is told by [MCP.States]; two of one name, or of names
// that differ only in characters that no tool's name has, are an error, and
// nothing was started.
func (e *Engine) StartMCP(ctx context.Context, servers []MCPServer, o MCPOptions) (*MCP, error) {
	if err := mcp.Validate(servers); err != nil {
		return nil, err
	}
	if ctx.Err() != nil {
		return nil, fmt.Errorf("MCP servers: %w", context.Cause(ctx))
	}
	if o.Dir == "" {
		o.Dir = e.dir
	}
	m := &MCP{clock: e.opts.Clock}
	for _, s := range servers {
		reply := make(chan *mcp.Manager, 1)
		e.sys.Send(e.root.PID(), startMCP{&mcpServer{
			server: s, reply: reply,
			opts: mcp.Options{
				Version: e.opts.Version, Dir: o.Dir, SecretEnv: o.SecretEnv, Secrets: o.Secrets,
				Transport: e.opts.Transport, Clock: e.opts.Clock, OnChange: func() { m.version.Add(1) },
			},
		}})
		select {
		case manager := <-reply:
			m.managers = append(m.managers, manager)
		case <-e.root.Done():
			return nil, fmt.Errorf("MCP server %s: %w", s.Name, msg.ErrStopped)
		}
	}
	return m, nil
}

// States lists the servers.
func (m *MCP) States() []MCPState {
	var out []MCPState
	for _, g := range m.managers {
		out = append(out, g.States()...)
	}
	return out
}

// WaitReady waits until no server is starting any more, at most the limit.
func (m *MCP) WaitReady(ctx context.Context, limit time.Duration) {
	ctx, cancel := family.Timeout(ctx, m.clock, limit)
	defer cancel()
	for _, g := range m.managers {
		g.WaitReady(ctx, limit)
	}
}

func (m *MCP) tools() GoTools {
	var out GoTools
	for _, g := range m.managers {
		out = append(out, g.Tools()...)
	}
	return out
}

// startMCP asks the engine for the actor of a server.
type startMCP struct{ server *mcpServer }

// mcpServer is the actor of one server.
type mcpServer struct {
	server  MCPServer
	opts    mcp.Options
	reply   chan<- *mcp.Manager
	manager *mcp.Manager
}

func (s *mcpServer) Receive(n *family.Node, _ actor.Context, message any) {
	switch message.(type) {
	case family.Started:
		s.manager = mcp.Start(n.Context(), []mcp.Server{s.server}, s.opts)
		s.reply <- s.manager
	case family.Stopping:
		n.Go("end the server", func(context.Context) any { s.manager.Close(); return nil })
	}
}

// offered is the agent's tools at one moment.
type offered struct {
	base    *Toolset
	version int64 // of the MCP group
	all     *Toolset
}

// offer is what the agent may call now. It may be called from any goroutine of
// the agent.
func (h *host) offer() *Toolset {
	base, group := h.tools.Load(), h.opts.MCP
	if group == nil {
		return base
	}
	version := group.version.Load()
	if o := h.offered.Load(); o != nil && o.base == base && o.version == version {
		return o.all
	}
	all, err := NewToolset(base)
	if err != nil { // of tools that were in a set already
		return base
	}
	for _, t := range group.tools() {
		// One that cannot be added (its name is taken) leaves the others.
		if err := all.add(&entry{tool: &t}); err != nil {
			h.e.opts.Logger.Warn("MCP tool is left out", "error", err)
		}
	}
	h.offered.Store(&offered{base, version, all})
	return all
}
