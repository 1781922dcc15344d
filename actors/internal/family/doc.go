// Package family gives protoactor what it lacks: cancelling a whole family of
// actors, and knowing when the last of it has ended.
//
// The protocol is "context cancels, stop joins":
//
//   - Each node has a context derived from its parent's. Cancelling it stops
//     the work of the whole subtree at once and in parallel.
//   - A stopping node first joins its own goroutines (see [Node.Go]), then its
//     children, and closes Done last. Done therefore means that every
//     descendant actor, goroutine, request and timer has ended.
//   - A panic ends the node that it happened in and is kept in [Node.Err] with
//     its stack; nothing is ever restarted.
//   - A spawn below a stopping node gives [ErrStopping]; a request to one is
//     answered by [Refused]. A parent learns of each child's end by exactly one
//     [ChildEnded].
//   - A goroutine that ignores its context is abandoned after [System.Grace],
//     counted, and named in the node's outcome.
//
// A behaviour runs on its mailbox alone: it needs no locks, and it must not
// block. Whatever is slow runs in [Node.Go] and answers with one message. All
// mailboxes are worked at by a few goroutines, as many as there are processors:
// what one of them makes ready it mostly takes up itself, so that a chain of
// requests and answers wakes no other processor.
package family
