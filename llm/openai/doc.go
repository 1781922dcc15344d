// Package openai speaks the OpenAI chat completions dialect, as OpenAI, llama.cpp,
// Ollama, vLLM, LM Studio, OpenRouter, Groq and the gateways in front of them
// really speak it.
//
// An answer is either understood or an error. Understood is, whatever the
// server does to it: calls without an id, a name or an index, or with null,
// empty, repeated or huge ones; arguments as a string, an object or nothing;
// content as a string, parts or null; numbers as 1, 1.0 or "1"; a stream where
// JSON was asked and the reverse; usage in a chunk of its own; a character cut
// between two chunks. An error is: an answer without a finish mark, an error
// object in a 200 in any shape, a chunk that is not JSON, a web page.
//
// Reasoning that a server sends is kept under the member's own name
// (reasoning_content, reasoning, thinking, reasoning_details) and sent back
// under it, to the model that made it.
//
// A server that refuses an optional parameter by name (stream_options,
// parallel_tool_calls, max_tokens) is asked once more without it, and not sent
// it again by this client.
package openai
