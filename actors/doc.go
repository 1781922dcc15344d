// Package actors runs LLM agents as actors.
//
// An [Engine] is the root of everything that it starts, on an actor system of
// its own or on the embedder's. An [Agent] is one conversation: it talks to a
// model, calls tools, and tells what happens by events.
//
//	engine                         root of everything clm starts
//	├─ mcp/SERVER                  one Model Context Protocol server
//	└─ agent/ID                    conversation, settings, listeners; long-lived
//	   ├─ store/SESSION            writes the session's file
//	   ├─ plugin/NAME              lends one Lua VM, one slice at a time
//	   └─ turn/N                   one user turn, and all that it started
//	      ├─ model                 one request to the model, with its retries
//	      └─ toolcall/ID           permission, deadline, result
//	         └─ task/1             the main Lua coroutine
//	            ├─ request         one HTTP request, timer or file access
//	            ├─ toolcall        a clm.call
//	            └─ subtask/N       a spawned coroutine, with requests of its own
//
// A call of the tool "agent" has a task with a whole agent below it.
//
// # Guarantees
//
//   - A cancelled turn ends with all below it, children first. When its
//     [msg.TurnDone] is told, no actor, goroutine, request, timer or process of
//     the turn is alive. Only a Go tool that ignores its context may be left
//     behind after [Options.Grace]; it is counted and named.
//   - A turn ends exactly once, and its end is the last of its events, also when
//     the agent or the engine is stopped. Events come in order and none is lost,
//     however slow the listener; no listener can stop or crash an agent, and any
//     method may be called in a callback. See [Listener].
//   - What a model was told once stays as it was, byte for byte, but for volatile
//     results that newer ones replaced, and for compaction.
//   - A panic ends the call, turn or agent that it happened in and is reported
//     there. Nothing is restarted with lost state.
//   - The conversation is valid at all times: each call has its result.
//   - With a [Session], a turn is on disk before its end is told.
//   - Mailboxes are not bounded: an agent takes one turn at a time and refuses
//     the next with [ErrBusy], so what waits is bounded by what embedders send.
//   - Overload slows down those who come, not those who run: past
//     [Options.MaxTurns] a turn waits its turn, as many as [Options.MaxQueued], or
//     is refused with [ErrOverloaded].
//
// # Messages
//
// The methods of [Agent] send the messages of package msg to [Agent.PID], and so
// may an embedder's own actors: both are the same protocol. Each command is
// answered once; msg.Listen makes an actor a listener. Changes of the model and of
// tools are methods alone, which an actor may call: none waits for a turn.
//
// # The C interface
//
// What clm_agent(3) calls, and its counterpart here:
//
//	clm_agent_new                         Engine.Spawn (options are copied whole)
//	clm_agent_free, _free_ptr             Agent.Stop, Engine.Stop
//	clm_agent_submit                      Agent.Submit
//	clm_agent_cancel                      Agent.Cancel
//	clm_agent_compact                     Agent.Compact
//	clm_agent_check_connection            Agent.CheckConnection
//	clm_agent_set_provider                Agent.SetModel
//	clm_provider_from_str                 llm.ParseKind
//	clm_agent_get_state                   Agent.State
//	clm_agent_get_ctx_max                 Agent.ContextMax
//	clm_agent_get_last_error              Agent.LastError
//	clm_agent_over_autocompact_threshold  Agent.OverAutocompactThreshold
//	clm_agent_take_mid_chain_compact_*    Agent.TakeMidChainCompactStarted, …Succeeded, …Error
//	clm_agent_restore_history             Agent.RestoreHistory, AgentOptions.History
//	clm_message_to_json_full              llm.EncodeMessage
//	clm_message_from_json                 llm.DecodeMessage
//	clm_tool_add                          Agent.AddTool, AgentOptions.Tools; Agent.RemoveTool
//	(text from outside)                   Agent.Notify, Agent.Steer
//	struct clm_host                       Options.Transport, Options.Clock
//	on_assistant_text, on_reasoning       msg.Text, msg.Reasoning
//	on_tool_begin, on_permission          msg.ToolBegin, msg.PermissionAsked (answered by Agent.Permit)
//	on_tool_result, on_tool_batch         msg.ToolResult, msg.BatchProgress
//	on_finish_reason, on_usage            msg.Finished, msg.UsageReported
//	on_connection, on_state               msg.Connection, msg.StateChanged
//	on_message, on_notice                 msg.MessageAdded, msg.Notice
//	on_turn_done                          msg.TurnDone
//	(polled there)                        msg.Compaction, msg.Waiting
//	(not there)                           msg.PermissionSettled, msg.SubAgentEvent
//	EBUSY, ECANCELED, …                   ErrBusy, ErrCanceled, …; errors.Is matches both
//
// # Process globals
//
// The Lua interpreter has settings that are globals of the process; package
// luavm sets them once. An embedder that uses gopher-lua itself shares them.
package actors
