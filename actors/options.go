package actors

import (
	"log/slog"
	"maps"
	"net/http"
	"reflect"
	"slices"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"clm/actors/internal/family"
	"clm/actors/msg"
	"clm/llm"
)

type (
	// Clock is the time that an engine lives by.
	Clock = family.Clock
	// Timer is a started timer of a [Clock].
	Timer = family.Timer
	// Event is something that happened in an agent, see package msg.
	Event = msg.Event
	// Info is a picture of a live actor and what is below it.
	Info = family.Info
)

// Options are what an engine gets from its embedder. The zero value works.
type Options struct {
	System    *actor.ActorSystem // whose actors the engine's are; nil: one of its own
	Transport http.RoundTripper  // of all model requests and plugins' requests; nil: one pooled transport
	Clock     Clock              // of all waits and times, but for those of sockets and of processes that are told to end; nil: the machine's
	Logger    *slog.Logger       // nil: nothing is logged
	Grace     time.Duration      // how long a stop waits for goroutines that ignore it; 0: 2 s
	Version   string             // for the User-Agent; empty: "dev"
	Trace     bool               // log each message at debug level
	// Watch is called for each message that an actor of the engine receives,
	// on that actor's goroutine, which it must not block or end; nil: nothing is.
	Watch func(Trace)

	MaxAgents int   // Spawn past it gives ErrOverloaded; 0: no limit
	MaxTurns  int   // that run at once, those of sub-agents not counted; 0: no limit
	MaxMemory int64 // bytes of heap, garbage included, past which no turn begins; 0: no limit
	// MaxQueued is how many turns may wait while MaxTurns or MaxMemory let none
	// begin: first come, first served, told by [msg.StateQueued]. A submit past it
	// gives ErrOverloaded; 0: none waits, each gives ErrOverloaded at once. A turn
	// that waits for memory when none runs any more fails with ErrOverloaded.
	MaxQueued int
}

// Trace is one message on its way, see [Options].
type Trace = family.Trace

// Model is a model as it is reached, with what is known of it.
type Model struct {
	Connection       llm.Connection
	ID               string
	ContextSize      int64   // tokens; 0: ask the server
	AutocompactPct   int     // of the window; 0: 70
	MaxOutputTokens  int     // 0: the dialect's default
	RateTokensPerSec float64 // of the connection, a token being 4 bytes of a request; 0: no limit
	RateBurst        int     // tokens; 0: one second's worth
	Price            Price
	Fallback         []Model // tried in order when no answer has begun; one without an ID is the same model, at the same price if it names none
}

// Price is what a model costs, per million tokens.
type Price struct{ Input, Output, CacheRead, CacheWrite float64 }

// Of is the price of one request.
func (p Price) Of(u llm.Usage) float64 {
	plain := u.Input - u.CacheRead - u.CacheWrite
	return (float64(plain)*p.Input + float64(u.Output)*p.Output + float64(u.CacheRead)*p.CacheRead + float64(u.CacheWrite)*p.CacheWrite) / 1e6
}

// Defaults of [AgentOptions].
const (
	DefaultMaxIterations  = 200
	DefaultAutocompactPct = 70
	DefaultToolTimeout    = 10 * time.Minute
)

// AgentOptions describe one agent. They are copied whole when it is spawned;
// the toolset, the budget and the session are shared by reference.
type AgentOptions struct {
	ID       string // unique in the engine; empty: one is made
	Model    Model
	System   string    // system prompt
	Tools    *Toolset  // nil: none
	Builtins *Builtins // the tools built in, before the others; nil: none
	MCP      *MCP      // servers whose tools are offered too; nil: none
	NoStream bool      // ask for whole answers

	Sequential    bool     // one tool call at a time (disable_parallel_tool_calls)
	MaxIterations int      // tool batches of a turn; 0: 200, negative: no limit
	Volatile      []string // shell-style patterns, see [path.Match], of tools whose older results become stubs

	ToolRate  float64 // dispatched calls a second; 0: no limit
	ToolBurst int     // 0: 1

	// SubAgents are the profiles that the tool "agent" may start; nil: there is
	// no such tool. A sub-agent works below the call that wanted it: it ends with
	// it, spends the same budget, follows this agent's permissions, of which its
	// profile can deny more, and asks through this agent's questions. Its events
	// come as [msg.SubAgentEvent]. Of its profile ID, Budget, Session, History,
	// OnEvent and Permissions.Ask are not used; without a Model.ID it has this
	// agent's model. At most 8 run at once, at most 3 below each other.
	SubAgents map[string]AgentOptions

	Permissions Permissions
	Budget      *Budget       // ceilings; nil: none
	Session     *Session      // where the conversation is kept; nil: nowhere
	History     []llm.Message // of a conversation that goes on
	OnEvent     func(Event)   // called for each event in order, on a goroutine of its own; see [Agent.Listen]
}

// clone copies all that the options hold.
func (o AgentOptions) clone() AgentOptions { return o.cloned(map[uintptr]map[string]AgentOptions{}) }

// cloned is clone; done are the clones of profiles, by the address of their map:
// profiles may name themselves.
func (o AgentOptions) cloned(done map[uintptr]map[string]AgentOptions) AgentOptions {
	o.Model = o.Model.clone()
	o.Volatile = slices.Clone(o.Volatile)
	o.Permissions.Allow, o.Permissions.Deny = slices.Clone(o.Permissions.Allow), slices.Clone(o.Permissions.Deny)
	o.History = slices.Clone(o.History)
	if b := o.Builtins; b != nil {
		o.Builtins = &Builtins{b.Dir, b.SpoolDir, slices.Clone(b.SecretEnv), slices.Clone(b.Secrets), slices.Clone(b.Private)}
	}
	if o.SubAgents == nil {
		return o
	}
	key := reflect.ValueOf(o.SubAgents).Pointer()
	if done[key] == nil {
		profiles := make(map[string]AgentOptions, len(o.SubAgents))
		done[key] = profiles
		for name, sub := range o.SubAgents {
			profiles[name] = sub.cloned(done)
		}
	}
	o.SubAgents = done[key]
	return o
}

func (m Model) clone() Model {
	m.Connection.Headers = maps.Clone(m.Connection.Headers)
	m.Fallback = slices.Clone(m.Fallback)
	for i, f := range m.Fallback {
		m.Fallback[i] = f.clone()
	}
	return m
}

// Builtins are what the tools built in (read_file, list_dir, write_file,
// shell_exec, bg_exec) need. Background jobs belong to the agent and end with it.
type Builtins struct {
	Dir       string   // working folder; empty: the process's
	SpoolDir  string   // where full outputs go; empty: the system's temporary folder
	SecretEnv []string // variables that commands do not get, beside CLM_API_KEY
	Secrets   []string // values that commands do not get and results do not show
	Private   []string // absolute folders and files that the file tools refuse
}

// BuiltinNames are the names that tools built in take.
func BuiltinNames() []string {
	return []string{"read_file", "list_dir", "write_file", "shell_exec", "bg_exec", SubAgentTool}
}

// Permissions say which gated calls may run.
type Permissions struct {
	Allow, Deny []string // rules: TOOL, shell_exec:COMMAND, file:PATH, with * and ?; deny wins
	AllowAll    bool     // what no rule denies may run
	// Ask says that someone answers PermissionAsked events. Without it a call
	// that no rule allows is denied at once.
	Ask bool
}
