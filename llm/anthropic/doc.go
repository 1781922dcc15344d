// Package anthropic is the Messages dialect: Anthropic's own API and what
// speaks it.
//
// A request holds the system prompt, the tools, and the conversation with the
// results of a batch and what the user said in one user message, as the API
// wants it. Four cache marks are set: on the tools, on the system prompt, and
// on the ends of this request and of the one before it, so that each request
// is the continuation of one that the server has cached; a gateway that knows no
// marks gets none. Messages stand last in the body, each encoded once.
//
// Thinking blocks go back to the model that made them, with their signature and
// before its text; redacted blocks and blocks of an unknown type likewise, byte
// for byte.
//
// An answer is complete when message_stop has come, or the reason to stop: there
// are gateways that end, or fall silent, right after it. Events are told apart by
// the type in their data, as some gateways drop the event lines; a block
// without its start, an error of any shape, and JSON in the place of a stream
// are understood.
package anthropic
