// Package wire is the HTTP half that all dialects share: where a request goes,
// what its headers are, when it has waited long enough, and what an answer is,
// whatever its status, content type or shape of error.
//
// Guarantees:
//
//   - One call is one attempt, but for requests that are put differently when a
//     server names what it does not take. Redirects are not followed: a key never goes to
//     a host that the user did not name.
//   - There is no limit on the whole time of an answer, only on the time to its
//     first byte, between two reads, and between two parts of the answer, as a
//     server may keep its stream alive for ever. All of them, and the caller's
//     context, end a read that waits; no goroutine is left.
//   - Every error is a [*llm.Error] without the connection's secrets, even if
//     the server echoed them.
//   - What an answer is gets decided by its first byte, not by its content
//     type: servers send JSON where a stream was asked and the reverse.
package wire
