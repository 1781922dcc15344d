// Package stress runs many agents under load against a model and says how they,
// the server and the engine held up.
//
// [Run] starts an engine, spawns [Options.Agents] agents, has them make turns
// (in a closed loop, or in an open one at [Options.Rate] turns a second), with
// tool calls, cancellations, faults and agents that come and go, and gives a
// [Report]: rates, latencies as histograms, errors by kind, memory, goroutines
// and actors. Without a [Options.Model] the agents talk to an embedded model in
// memory, so that neither sockets nor a server are the limit.
//
// While it runs it holds the engine to its promises: each turn ends exactly
// once, histories stay valid, no answer reaches another agent, and nothing is
// alive after a turn, an agent or the engine has ended. A breach is a
// [Violation], and makes Run return a [*ViolationError] beside the report, with
// the seed that repeats what the agents did.
//
// Latencies in an open loop count from the moment when a turn was due, not from
// the one when it could be submitted: a server that stalls is charged for all
// who had to wait for it (coordinated omission).
package stress
