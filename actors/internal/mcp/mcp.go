package mcp

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"sync"
	"time"

	"clm/actors/internal/family"
	"clm/actors/internal/tool"
	"clm/llm"
)

// Server is a server as the configuration names it: a Command or a URL.
type Server struct {
	Name    string
	Command []string      // program and arguments, for stdio
	URL     string        // for streamable HTTP
	APIKey  llm.Secret    // sent as a bearer token, for HTTP
	Timeout time.Duration // of a call; 0 is 30 s
}

// Options are what all servers share.
type Options struct {
	Version   string            // of clm
	Dir       string            // working folder of commands
	Env       []string          // environment of commands; nil is this process's
	SecretEnv []string          // variables that commands do not get, beside CLM_API_KEY
	Secrets   []string          // values that commands do not get and no text shows
	Transport http.RoundTripper // for HTTP; nil is the standard one
	Clock     family.Clock      // nil is the machine's

	// OnChange is called when Tools or States have changed, before anybody sees
	// them changed, on a goroutine of the manager. It must not call the manager.
	// May be nil.
	OnChange func()

	start   time.Duration // limit for a server to become ready
	backoff time.Duration // before the first restart
}

const (
	defaultTimeout = 30 * time.Second
	startTimeout   = 2 * time.Minute // a server may be downloaded first
	firstBackoff   = 500 * time.Millisecond
)

// Phase is where a server is.
type Phase string

// The phases of a server.
const (
	Starting Phase = "starting" // also between an end and the restart
	Ready    Phase = "ready"
	Failed   Phase = "failed" // given up
)

// State is a server's state, for people.
type State struct {
	Name   string
	Phase  Phase
	Reason string // why it failed, or ended before it was started again; may have several lines
	Tools  int
}

// Manager keeps servers. Its methods may be called from any goroutine.
type Manager struct {
	opts    Options
	servers []*server
	cancel  context.CancelFunc
	wg      sync.WaitGroup

	mu      sync.Mutex    // guards what servers show
	changed chan struct{} // closed and replaced when something changes
}

// Start starts servers in the background. ctx ends them as Close does; Close
// must be called in any case.
func Start(ctx context.Context, servers []Server, o Options) *Manager {
	if o.Env == nil {
		o.Env = os.Environ()
	}
	if o.Transport == nil {
		o.Transport = http.DefaultTransport
	}
	if o.Clock == nil {
		o.Clock = family.SystemClock{}
	}
	if o.start == 0 {
		o.start = startTimeout
	}
	if o.backoff == 0 {
		o.backoff = firstBackoff
	}
	m := &Manager{opts: o, changed: make(chan struct{})}
	ctx, m.cancel = context.WithCancel(ctx)
	taken := map[string]bool{}
	for _, cfg := range servers {
		s := &server{m: m, cfg: cfg, phase: Starting}
		m.servers = append(m.servers, s)
		if err := check(cfg, taken); err != nil {
			s.phase, s.reason = Failed, err.Error()
			continue
		}
		taken[safe(cfg.Name)] = true
		m.wg.Go(func() { s.run(ctx) })
	}
	return m
}

// Validate says what is wrong with the names of a group of servers: their tools
// could not be told apart.
func Validate(servers []Server) error {
	taken := map[string]string{}
	for _, s := range servers {
		other, again := taken[safe(s.Name)]
		switch {
		case s.Name == "":
			return errors.New("an MCP server has no name")
		case again && other == s.Name:
			return fmt.Errorf("MCP server %s: there are two of this name", s.Name)
		case again:
			return fmt.Errorf("MCP servers %s and %s: their tools would have the same names; rename one", other, s.Name)
		}
		taken[safe(s.Name)] = s.Name
	}
	return nil
}

func check(cfg Server, taken map[string]bool) error {
	switch {
	case cfg.Name == "":
		return errors.New("the server has no name")
	case taken[safe(cfg.Name)]:
		return errors.New("another server has this name")
	case (len(cfg.Command) == 0) == (cfg.URL == ""):
		return errors.New("give either a command or a url")
	}
	return nil
}

// Tools lists the tools of all servers, in the servers' order and each
// server's own.
func (m *Manager) Tools() []tool.Tool {
	m.mu.Lock()
	defer m.mu.Unlock()
	var tools []tool.Tool
	for _, s := range m.servers {
		tools = append(tools, s.tools...)
	}
	return tools
}

// States lists the servers.
func (m *Manager) States() []State {
	m.mu.Lock()
	defer m.mu.Unlock()
	states := make([]State, len(m.servers))
	for i, s := range m.servers {
		states[i] = State{Name: s.cfg.Name, Phase: s.phase, Reason: s.reason, Tools: len(s.tools)}
	}
	return states
}

// WaitReady waits until no server is starting, but at most max.
func (m *Manager) WaitReady(ctx context.Context, max time.Duration) {
	ctx, cancel := family.Timeout(ctx, m.opts.Clock, max)
	defer cancel()
	for {
		m.mu.Lock()
		starting, changed := false, m.changed
		for _, s := range m.servers {
			starting = starting || s.phase == Starting
		}
		m.mu.Unlock()
		if !starting {
			return
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return
		}
	}
}

// update changes what a server shows.
func (m *Manager) update(change func()) {
	m.mu.Lock()
	defer m.mu.Unlock()
	change()
	if m.opts.OnChange != nil {
		m.opts.OnChange()
	}
	close(m.changed)
	m.changed = make(chan struct{})
}

// Close ends all servers and waits for their end.
func (m *Manager) Close() {
	m.cancel()
	m.wg.Wait()
}
