// Package msg is the protocol of the actors: plain values, no behaviour.
//
// An embedder sends the messages of commands.go to an agent's PID and gets each
// one's answer as its sender; package actors wraps the same messages in
// methods. What an agent has to tell comes as an [Event]. The messages of
// internal.go pass between the engine's own actors.
//
// A request is a verb and goes to an actor of a higher rank (see
// family.Kind); its answer is in the past tense and comes back exactly once.
// A request that reaches an actor which is ending is answered by
// family.Refused. Nothing in a message is changed after it was sent.
package msg
