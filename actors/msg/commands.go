package msg

import (
	"encoding/json"
	"fmt"
	"time"

	"clm/llm"
)

// Submit starts a user turn. From anyone to an agent; answered by [Submitted]
// or [Rejected].
type Submit struct {
	Prompt      string
	Attachments []llm.Attachment
}

// Submitted says which turn was started.
type Submitted struct{ Turn uint64 }

// Steer adds text to the turn that runs: it joins the turn's next request, or
// becomes the next turn if there is none. With no turn in flight it is a
// [Submit]. Answered by [Submitted] or [Rejected].
type Steer struct{ Text string }

// Notify gives an agent text from outside its conversation: submitted when
// idle, folded with others into one follow-up turn when busy. Answered by
// [Accepted] or [Rejected]; without a sender, it joins the next turn instead of
// being rejected.
type Notify struct{ Text string }

// Cancel ends the turn in flight; if it names one, that one only, so that it
// cannot end the next one when it comes late. Answered by [Accepted] at once, or
// [Rejected] when there is no such turn; the end itself is [TurnDone].
type Cancel struct{ Turn uint64 } // 0: whichever is in flight

// Compact folds older turns into a summary, as a turn of its own. Answered by
// [Submitted] or [Rejected].
type Compact struct{}

// CheckConnection probes the model server. Answered by [Accepted]; the result
// is a [Connection] event.
type CheckConnection struct{}

// Permit answers a [PermissionAsked] event. Answered by [Accepted], or by
// [Rejected] when the question is no longer open.
type Permit struct {
	ID     uint64
	Answer PermitAnswer
}

// PermitAnswer is a person's answer to a permission question.
type PermitAnswer string

// The answers. Always and never also settle the questions that wait and that
// the answer covers.
const (
	AllowOnce   PermitAnswer = "allow"
	AllowAlways PermitAnswer = "always"
	DenyOnce    PermitAnswer = "deny"
	DenyAlways  PermitAnswer = "never"
)

// RestoreHistory appends messages of a stored conversation, without events.
// Between turns only. Answered by [Accepted] or [Rejected].
type RestoreHistory struct{ Messages []llm.Message }

// ClearHistory empties the conversation. Between turns only. Answered by
// [Accepted] or [Rejected].
type ClearHistory struct{}

// GetHistory asks for the conversation. Between turns only. Answered by
// [History] or [Rejected].
type GetHistory struct{}

// History is a conversation; its slice is never changed.
type History struct{ Messages []llm.Message }

// Listen makes the sender a listener: the agent's events come to it as [Event]
// messages until it stops. Answered by [Accepted].
type Listen struct{}

// Accepted is the answer of a command that has no other.
type Accepted struct{}

// Rejected says that a command was not carried out: nothing was started.
type Rejected struct{ Err error }

// Event is something that happened in an agent. A listener gets an agent's
// events in order, none missing; adjacent pieces of text may arrive joined.
type Event struct {
	Seq   uint64    `json:"seq"` // grows within an agent
	Agent string    `json:"agent"`
	Turn  uint64    `json:"turn,omitempty"` // 0: outside any turn
	Time  time.Time `json:"time"`
	Data  EventData `json:"data"`
}

// EventData is one of the event types of this package.
type EventData interface{ EventName() string }

type (
	// Text is a part of the assistant's answer.
	Text struct {
		Text string `json:"text"`
	}
	// Reasoning is a part of the model's reasoning.
	Reasoning struct {
		Text string `json:"text"`
	}
	// ToolBegin says that a call was taken up.
	ToolBegin struct {
		CallID string `json:"call_id"`
		Name   string `json:"name"`
		Args   string `json:"args"` // JSON text as the model wrote it
	}
	// PermissionAsked is a question; [Permit] answers it.
	PermissionAsked struct {
		ID       uint64 `json:"id"`
		CallID   string `json:"call_id"`
		Tool     string `json:"tool"`
		Args     string `json:"args"`     // raw JSON text
		Question string `json:"question"` // for people: control characters made visible, bounded
		Reason   string `json:"reason"`   // why it is asked, or what the call would do
	}
	// PermissionSettled says how a question ended.
	PermissionSettled struct {
		ID      uint64 `json:"id"`
		CallID  string `json:"call_id"`
		Allowed bool   `json:"allowed"`
		By      string `json:"by"` // "answer", "rule", "cancel"
	}
	// ToolResult is the end of a call.
	ToolResult struct {
		CallID   string        `json:"call_id"`
		Name     string        `json:"name"`
		Text     string        `json:"text"` // as the model gets it
		Failed   bool          `json:"failed"`
		Duration time.Duration `json:"duration_ns"`
	}
	// BatchProgress counts the calls of one answer that have ended.
	BatchProgress struct {
		Done  int `json:"done"`
		Total int `json:"total"`
	}
	// Finished is why the model stopped.
	Finished struct {
		Reason llm.Finish `json:"reason"`
	}
	// UsageReported is what a request cost, one for a summary included, and what
	// the conversation takes after it.
	UsageReported struct {
		Usage           llm.Usage `json:"usage"`
		ContextUsed     int64     `json:"context_used"`          // tokens
		ContextMax      int64     `json:"context_max,omitempty"` // tokens, 0: unknown
		TokensPerSecond float64   `json:"tokens_per_second,omitempty"`
		Price           float64   `json:"price,omitempty"` // of the request, in the configuration's currency
	}
	// Connection is the result of [CheckConnection].
	Connection struct {
		OK     bool     `json:"ok"`
		Error  string   `json:"error,omitempty"`
		Models []string `json:"models,omitempty"`
	}
	// StateChanged tells an agent's new state.
	StateChanged struct {
		State State `json:"state"`
	}
	// Waiting says that a request waits before it is sent (again).
	Waiting struct {
		For time.Duration `json:"for_ns"`
		Why string        `json:"why"`
	}
	// MessageAdded is a message that entered the conversation. In JSON it is as
	// [llm.EncodeMessage] writes it: without the data of attachments.
	MessageAdded struct {
		Message llm.Message `json:"message"`
	}
	// Compaction is a step of folding the conversation.
	Compaction struct {
		Phase    string `json:"phase"`     // "started", "succeeded", "failed"
		MidChain bool   `json:"mid_chain"` // before a request of a turn, not by [Compact]
		Error    string `json:"error,omitempty"`
	}
	// Notice is a sentence for people.
	Notice struct {
		Text string `json:"text"`
	}
	// SubAgentEvent is an event of a sub-agent, told while the call that wanted
	// it runs. Its questions come as [PermissionAsked] of the agent itself.
	SubAgentEvent struct {
		CallID string `json:"call_id"`
		Event  Event  `json:"event"`
	}
	// TurnDone is the last event of a turn: nothing of it is alive.
	TurnDone struct {
		Status  string `json:"status"`          // "done", "failed", "canceled", "ceiling"
		Kind    string `json:"kind,omitempty"`  // class of the failure: "network", "iterations", "panic", …
		Error   string `json:"error,omitempty"` // for people
		Text    string `json:"text"`            // the last answer's text
		Pending int    `json:"pending"`         // notifications and steering that start the next turn
		Err     error  `json:"-"`
	}
)

// EventName is the event's name in JSON.
func (Text) EventName() string              { return "text" }
func (Reasoning) EventName() string         { return "reasoning" }
func (ToolBegin) EventName() string         { return "tool_begin" }
func (PermissionAsked) EventName() string   { return "permission" }
func (PermissionSettled) EventName() string { return "permission_settled" }
func (ToolResult) EventName() string        { return "tool_result" }
func (BatchProgress) EventName() string     { return "batch" }
func (Finished) EventName() string          { return "finish" }
func (UsageReported) EventName() string     { return "usage" }
func (Connection) EventName() string        { return "connection" }
func (StateChanged) EventName() string      { return "state" }
func (Waiting) EventName() string           { return "waiting" }
func (MessageAdded) EventName() string      { return "message" }
func (Compaction) EventName() string        { return "compaction" }
func (Notice) EventName() string            { return "notice" }
func (SubAgentEvent) EventName() string     { return "sub_agent" }
func (TurnDone) EventName() string          { return "turn_done" }

// State is what an agent does.
type State int32

// The states.
const (
	StateIdle State = iota
	StateThinking
	StateCallingTool
	StateRateLimited
	StateComplete
	StateError
	StateQueued // the turn waits until the engine has room for it
)

var stateNames = [...]string{"IDLE", "THINKING", "CALLING_TOOL", "RATE_LIMITED", "COMPLETE", "ERROR", "QUEUED"}

func (s State) String() string {
	if s < 0 || int(s) >= len(stateNames) {
		return fmt.Sprintf("State(%d)", int32(s))
	}
	return stateNames[s]
}

// MarshalText writes the state's name.
func (s State) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// MarshalJSON writes an event as {"seq", …, "type": NAME, "data": {…}}.
func (e Event) MarshalJSON() ([]byte, error) {
	type plain Event
	return json.Marshal(struct {
		Type string `json:"type"`
		plain
	}{e.Data.EventName(), plain(e)})
}

// MarshalJSON writes the message as sessions hold it.
func (m MessageAdded) MarshalJSON() ([]byte, error) {
	b, err := llm.EncodeMessage(m.Message)
	if err != nil {
		return nil, fmt.Errorf("message event: %w", err)
	}
	return json.Marshal(struct {
		Message json.RawMessage `json:"message"`
	}{b})
}
