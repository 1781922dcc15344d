package msg

import (
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"clm/llm"
)

// Report is a fact about a turn for the outside. From any actor of the turn to
// its agent, which makes an [Event] of it; no answer.
type Report struct {
	Turn uint64
	Data EventData
}

// RunTurn starts a turn. From the agent to a turn; answered by [TurnEnded].
type RunTurn struct{ Input []llm.Message }

// TurnAdmitted says that a turn which had to wait may begin, or why it never
// may. From the engine to the turn, once; no answer.
type TurnAdmitted struct{ Err error }

// SteerTurn adds user text to the next request. From the agent to its turn;
// answered by [TurnSteered], in the order of asking, unless the turn ends first:
// then the text is the agent's again.
type SteerTurn struct{ Text string }

// TurnSteered says that a text has entered the conversation.
type TurnSteered struct{}

// TurnEnded is a turn's outcome. What is below it may still be ending: the
// agent tells its listeners when the turn's actor has ended.
type TurnEnded struct {
	Text string // the last answer
	Err  error  // nil: done
	Kind string // class of the failure
}

// Learned is what a turn found out that outlives it. From the turn or a model
// actor to the agent; no answer.
type Learned struct {
	NoTools     bool  // the connection refuses tools: the request went without them
	Connection  int   // which, as in [ModelAnswered]
	ContextSize int64 // 0: nothing new
}

// Replaced says that the conversation was rewritten (compaction, superseded
// results). From the turn to its agent; no answer.
type Replaced struct{ Messages []llm.Message }

// AskModel sends one request to the model. From the turn to a model actor;
// answered by [ModelAnswered]. Meanwhile the model actor reports text.
type AskModel struct {
	Request *llm.Request // not changed after it was sent
	Silent  bool         // report nothing: a summary is being made
}

// ModelAnswered is the model's whole answer, or why there is none.
type ModelAnswered struct {
	Response   *llm.Response
	Err        error
	Connection int // that was asked last: 0 is the configured one, then its fallbacks
}

// RunTool runs one call. From the turn (or a task) to a toolcall; answered by
// [ToolDone].
type RunTool struct {
	Index int // place of the call in its batch
	Call  llm.ToolCall
}

// ToolDone is a call's result.
type ToolDone struct {
	Index       int
	CallID      string
	Name        string
	Text        string // made safe for a model
	Failed      bool
	Attachments []llm.Attachment
	Duration    time.Duration
}

// ToolStarted says that a call has begun, or waits for a person or its rate:
// the next call of the batch may be taken up, so that calls begin in the order
// in which the model made them. From a toolcall to its turn; no answer.
type ToolStarted struct{ Index int }

// ToolAsked says that a person is being asked about a call. From the agent to
// the toolcall that waits for [ToolPrepared]; no answer.
type ToolAsked struct{}

// PrepareTool asks the agent whether a call may run, and with what. From a
// toolcall or a task, up to the agent that keeps the rules; answered by
// [ToolPrepared]. The answer may take as long as a person takes.
type PrepareTool struct {
	Turn     uint64
	CallID   string
	Tool     string
	Args     string
	Reason   string // what the call would do
	NoPrompt bool
	Path     string // the resolved path that the call touches, if it is known
	Plugin   string // the plugin whose actor the call needs; empty for none
	File     string // not a call but a file access of one: the resolved path
	Write    bool   // of File: it is to be written
	Nested   bool   // made by a plugin's clm.call: not dispatched by the model
	Token    uint64 // given back in the answer: a sub-agent asks for several calls
}

// ToolPrepared says whether the call may run.
type ToolPrepared struct {
	Allowed bool
	Why     string        // for the model, when not allowed
	Delay   time.Duration // wait this long first: the tool rate
	Plugin  *actor.PID    // the plugin's actor, when one was asked for
	Token   uint64        // of the question
}

// KeepMessages appends messages to the session. From the agent to its store;
// no answer: a failure is told by [SessionSynced].
type KeepMessages struct{ Messages []llm.Message }

// RewriteSession replaces the session's messages. From the agent to its store;
// no answer, as above.
type RewriteSession struct{ Messages []llm.Message }

// SyncSession has all that came before put on disk. From the agent to its
// store; answered by [SessionSynced].
type SyncSession struct{}

// SessionSynced says that the session is on disk, or why not.
type SessionSynced struct{ Err error }
