// Package llm is what a model is to the rest of the program: messages, a
// conversation with its rules, requests, answers and errors. It knows no wire
// dialect (those are in the folders below, and [clm/llm/provider] chooses among
// them), no actors, and starts no goroutine.
//
// Guarantees:
//
//   - A [History] can go to a model at any time, and each request continues the
//     one before it byte for byte, so that servers can cache it and each message
//     is encoded once ([Message.Wire]).
//   - A [Client] gives an answer only when it is complete; all else is an
//     [*Error] of a [ErrorKind], without the connection's secrets.
//   - A [Plan] never tears a call from its result, keeps what the conversation
//     is about, and makes it shorter or says [ErrNoProgress].
//   - [EncodeMessage] and [DecodeMessage] lose nothing.
//
// Messages, requests and answers are values: they may be kept and shared, and
// nothing that their slices hold is changed after it was made.
package llm
