package luavm

import (
	"encoding/json"
	"time"
)

// Limits of one VM and of one call, fixed by clm-tool(5).
const (
	DefaultMemory   = 8 << 20                // bytes of one VM
	DefaultLoadTime = 500 * time.Millisecond // CPU of the load-time code
	DefaultCPU      = 30 * time.Second       // CPU of a call whose tool sets no timeout_ms
	MaxInFlight     = 8                      // requests of one VM at a time
	MaxRequests     = 128                    // requests of one call
	MaxCalls        = 128                    // calls of other tools that one VM waits for at a time
	MaxCallArgs     = 2 << 20                // bytes of their arguments
	MaxLoadFiles    = 128                    // file accesses of the load-time code
	MaxLiveTasks    = 1024                   // live children of one call
	MaxWaitTasks    = 128                    // tasks in one wait
)

// Options are what one VM gets from its host. The zero value is usable: the defaults, learning, no log.
type Options struct {
	// Memory is the cap in bytes; 0 means DefaultMemory.
	Memory int64
	// LoadTime is the CPU limit of the load-time code; 0 means DefaultLoadTime.
	LoadTime time.Duration
	// Config is clm.config, taken by the file's name. nil: none, see ToolConfig.
	// Values are nil, bool, string, the Go number types, []any and map[string]any.
	Config map[string]any
	// ToolConfig is clm.config during a call, by tool name. Used only when Config is nil.
	ToolConfig map[string]map[string]any
	// Reserved says why a tool name may not be registered ("" if it may): a builtin, another plugin's. nil: all free.
	Reserved func(name string) string
	// Tools is what the learning load registered. A later load that registers others fails. nil: this load learns.
	Tools []Tool
	// Refused is what VM.Refused gave after the learning load: a later load refuses these names in the same words.
	Refused map[string]string
	// Log receives the text of print and ctx:log, called from the goroutine of the Step. nil: off.
	// Neither it nor Reserved may run Lua.
	Log func(text string)
}

// Tool is one registration of clm.tool_register.
type Tool struct {
	Name        string
	Description string
	// Schema is a valid JSON Schema of type object.
	Schema json.RawMessage
	// Timeout is timeout_ms, the CPU limit of a call; 0 means unset (DefaultCPU).
	Timeout time.Duration
	// NoPrompt skips the permission prompt; Hidden keeps the tool from the model.
	NoPrompt, Hidden bool
}

// Result is how a call ended.
type Result struct {
	// Text is what ctx:complete or ctx:fail was given, byte for byte, or the reason of the failure,
	// without the frame "[tool failed: …]". It may hold any bytes: making it safe is the host's.
	Text string
	// Failed says that the call did not complete.
	Failed bool
	// Aborted says that the host ended it: time, memory, cancellation. Then Failed is true too.
	Aborted bool
}

// Yield is what one Step gives back.
type Yield struct {
	// Spawned are the tasks made in this slice; the host steps each of them, in order, after this Yield.
	Spawned []*Task
	// Cancelled are the tasks that were ended from outside in this slice (task:cancel, try_all, the end of main):
	// the host drops their requests and timers. They never run again; a Step of one gives Done.
	Cancelled []*Task
	// Done says that the task has ended; then Want is nil.
	Done bool
	// Failed says that a child ended by an error.
	Failed bool
	// Result is the call's outcome: on main's Done, and on the Done of a child whose time or memory has ended the
	// whole call; then the others end at their next Step.
	Result *Result
	// Want is what the task waits for; nil when Done.
	Want Want
}

// Want is one of HTTP, Sleep, ReadFile, WriteFile, CallTool, Wait.
type Want interface{ isWant() }

// Header is one request header. Names are valid field names, values hold no control characters.
type Header struct{ Name, Value string }

// HTTP asks for one request. Answer: Err, or Status and Body.
type HTTP struct {
	Method string // GET or POST
	URL    string // http or https, with a host
	// Headers are in the order of their names, each name once.
	Headers []Header
	Body    string
	// MaxBody is how many bytes the answer's Body may have (after decoding); a longer one is an Err.
	MaxBody int64
	// Tool is the name of the calling tool, for the User-Agent.
	Tool string
}

// Sleep asks for a pause. Answer: nothing.
type Sleep struct{ For time.Duration }

// ReadFile asks for a whole file. Answer: Err, or Text.
type ReadFile struct {
	Path     string
	MaxBytes int64 // a longer file is an Err
}

// WriteFile asks to replace a file in one step. Answer: Err, or nothing.
type WriteFile struct{ Path, Content string }

// CallTool asks for another tool of the same agent (clm.call). Answer: Err, or Text.
type CallTool struct {
	Name string
	Args string // JSON text of an object
}

// WaitMode says when a Wait is over.
type WaitMode uint8

// The modes: every task has ended; at least one has; every one has or one has failed.
const (
	WaitAll WaitMode = iota
	WaitAny
	WaitTry
)

// Wait is main waiting for tasks of its call. Answer: Timeout when Timeout ran out first, else nothing.
type Wait struct {
	Tasks   []*Task // those of the wait that have not ended, 1 to MaxWaitTasks
	Mode    WaitMode
	Timeout time.Duration // < 0: none
}

func (HTTP) isWant()      {}
func (Sleep) isWant()     {}
func (ReadFile) isWant()  {}
func (WriteFile) isWant() {}
func (CallTool) isWant()  {}
func (Wait) isWant()      {}

// Over reports whether the wait can go on, given what the host knows of each task. It changes nothing.
func (w Wait) Over(ended func(*Task) (done, failed bool)) bool {
	all := true
	for _, t := range w.Tasks {
		done, failed := ended(t)
		if done && (w.Mode == WaitAny || w.Mode == WaitTry && failed) {
			return true
		}
		all = all && done
	}
	return all
}

// Answer is the outcome of a Want. The zero value answers a Sleep, a WriteFile that worked, a Wait that is over.
type Answer struct {
	// Err says why the want failed; Lua sees nil and this text.
	Err    string
	Status int    // HTTP
	Body   string // HTTP
	Text   string // ReadFile, CallTool
	// Timeout says that a Wait's time ran out.
	Timeout bool
}
