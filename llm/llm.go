package llm

import (
	"context"
	"encoding/json"
	"time"
)

// Role says who a message is from.
type Role string

// The roles of a conversation. The system prompt is not a message: it is
// [Request.System], so that a history never holds one.
const (
	RoleUser      Role = "user"
	RoleAssistant Role = "assistant"
	RoleTool      Role = "tool"
)

// Message is one entry of a conversation in the internal form. A message is a
// value: what its slices hold is never changed after it was made.
type Message struct {
	Role        Role
	Content     string       // valid UTF-8; empty is allowed beside ToolCalls
	ToolCalls   []ToolCall   // assistant only
	ToolCallID  string       // tool only: the call that this answers
	ToolName    string       // tool only
	Failed      bool         // tool only: the result is a failure
	Reasoning   []Reasoning  // assistant only
	Attachments []Attachment // user and tool only

	wire *wireCache // made by History; nil means no caching
}

// ToolCall is a model's wish to run a tool.
type ToolCall struct {
	ID   string
	Name string
	Args string // raw JSON text, "{}" when the model gave none
}

// Reasoning is one reasoning block of a provider.
type Reasoning struct {
	Origin string          // dialect and model that made it, "anthropic/claude-x"; foreign blocks are not sent
	Text   string          // what a person may read; empty for encrypted blocks
	Raw    json.RawMessage // the provider's own block, sent back verbatim to its origin; nil when Text is all
}

// Attachment is an image or a file that goes with a message.
type Attachment struct {
	Name      string
	MediaType string // "image/png"
	Data      []byte
}

// Tool is what a model is told about a tool.
type Tool struct {
	Name        string
	Description string
	Schema      json.RawMessage // a JSON Schema of type object
}

// Request asks a model for one answer. It is a value; a client does not change it.
type Request struct {
	Model                    string
	System                   string
	Messages                 []Message
	Tools                    []Tool
	Stream                   bool
	DisableParallelToolCalls bool
	MaxTokens                int // 0: the dialect's default for the model
}

// Response is a model's whole answer. A client returns one only when the
// answer is complete: a stream that ends early is an error.
type Response struct {
	Message         Message
	Finish          Finish
	Usage           Usage
	Model           string  // as the server names it; may be empty
	TokensPerSecond float64 // as the server reports it; 0 when it does not
}

// Finish is why a model stopped.
type Finish string

// Finish reasons. FinishToolCalls is reported whenever the message has calls
// that may run, whatever the server said; FinishLength means that calls in the
// message were cut by the token limit and must not run.
const (
	FinishStop      Finish = "stop"
	FinishToolCalls Finish = "tool_calls"
	FinishLength    Finish = "length"
	FinishFilter    Finish = "content_filter"
)

// Usage counts tokens. Zero means that the server did not say.
type Usage struct {
	Input      int64 `json:"input"` // whole prompt, cached parts included
	Output     int64 `json:"output"`
	CacheRead  int64 `json:"cache_read,omitempty"`
	CacheWrite int64 `json:"cache_write,omitempty"`
	Reasoning  int64 `json:"reasoning,omitempty"`
}

// Total is input and output together.
func (u Usage) Total() int64 { return u.Input + u.Output }

// DeltaKind says what a [Delta] carries.
type DeltaKind int

// The kinds of deltas.
const (
	DeltaText      DeltaKind = iota + 1 // Text was added to the answer
	DeltaReasoning                      // Text was added to the reasoning
	DeltaToolCall                       // the model began a call of the tool named by Text
)

// Delta is a part of an answer that arrived, for people to watch. The
// [Response] repeats all of it.
type Delta struct {
	Kind DeltaKind
	Text string
}

// Client talks to one connection in one dialect. Its methods may be called
// concurrently, start no goroutine that outlives them, make exactly one
// attempt (retries belong to the caller, see [Backoff]; only a server that
// refuses an optional parameter by its name, or images, is asked again without
// it), and
// return a *[Error] for whatever goes wrong. When ctx ends they return soon,
// with the response's body closed.
type Client interface {
	// Complete sends a request and reads its whole answer. emit is called on
	// the caller's goroutine for each delta; it may be nil.
	Complete(ctx context.Context, req *Request, emit func(Delta)) (*Response, error)
	// Models lists what the server offers.
	Models(ctx context.Context) ([]Model, error)
	// ContextSize asks the server for the window of a model, in tokens;
	// 0 and nil when it does not say.
	ContextSize(ctx context.Context, model string) (int64, error)
}

// Model is one entry of a server's list.
type Model struct {
	ID          string
	ContextSize int64 // tokens, 0 when unknown
}

// Connection is a model server as the configuration names it.
type Connection struct {
	Name    string // "groq"; empty for one given by its URL alone
	Kind    Kind
	URL     string // base URL; the dialect's path is appended unless it is there
	Key     Secret
	Headers map[string]Secret // extra request headers; not changed after it was set
}

// Kind is a wire dialect.
type Kind string

// The kinds of providers.
const (
	KindOpenAI    Kind = "openai"
	KindOllama    Kind = "ollama"
	KindAnthropic Kind = "anthropic"
	KindResponses Kind = "openai-responses"
	KindDemo      Kind = "demo"
)

// ParseKind maps a provider's kind from the configuration. Unknown and empty
// text mean [KindOpenAI], with false.
func ParseKind(s string) (Kind, bool) {
	switch k := Kind(s); k {
	case KindOpenAI, KindOllama, KindAnthropic, KindResponses, KindDemo:
		return k, true
	}
	return KindOpenAI, false
}

// ErrorKind is a class of failures.
type ErrorKind string

// The classes of failures.
const (
	ErrNetwork    ErrorKind = "network"       // no connection, or it broke
	ErrAuth       ErrorKind = "authorisation" // 401, 403
	ErrRateLimit  ErrorKind = "rate_limit"    // 429
	ErrQuota      ErrorKind = "quota"         // spent; final
	ErrOverloaded ErrorKind = "overloaded"    // 5xx, 529
	ErrRequest    ErrorKind = "request"       // the server refuses the request
	ErrNoTools    ErrorKind = "no_tools"      // the model does not take tools
	ErrContext    ErrorKind = "context"       // the prompt is larger than the window
	ErrProtocol   ErrorKind = "protocol"      // the answer cannot be understood or ended early
	ErrCanceled   ErrorKind = "canceled"      // ctx ended
)

// Error is a failed request. Its text is one line for people, says what and
// where, is bounded in length, and never holds a key.
type Error struct {
	Kind       ErrorKind
	Status     int           // HTTP status, 0 without a response
	Message    string        // the server's own words, or a description
	Where      string        // method and URL without query or credentials
	RetryAfter time.Duration // from the server; 0 when it did not say
	Started    bool          // a 200 had arrived: never retried
	Err        error         // cause, may be nil
}
