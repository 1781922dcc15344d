package config

import (
	"slices"
	"sync"
)

// Type is the type of a configuration value.
type Type int

// The types of values.
const (
	String Type = iota + 1
	SecretText
	Bool
	Int
	Number
	List  // of Elem
	Map   // free keys, values of Elem
	Table // the keys of Keys
	Any   // what Lua can hold as data
)

// String names the type as an error text would.
func (t Type) String() string {
	return [...]string{"nothing", "a string", "a string", "true or false", "a whole number", "a number", "a list", "a table", "a table", "a value"}[t]
}

// Key describes one key of the configuration.
type Key struct {
	Name     string
	Type     Type
	Doc      string // one sentence, for the manual, the schema and editors
	Elem     *Key   // of a List or Map
	Keys     []Key  // of a Table
	Enum     []string
	Soft     bool // a value outside Enum is a warning and means Enum[0]
	Required bool
	Min, Max float64 // of a number; no upper limit when Max is 0
	Default  any
	check    func(any) string // what is wrong with a value of the right type; "" if nothing is
}

// defaultPct is what autocompact_pct is when nothing, or 0, is said.
const defaultPct = 70

// Schema returns the keys of config.lua. Profiles have the same but "agent".
// What it leads to is not to be changed.
func Schema() []Key { return slices.Clone(schema()) }

// schema is the one table: each layer is held against it.
var schema = sync.OnceValue(func() []Key {
	str := &Key{Type: String}
	return []Key{
		{Name: "agent", Type: String, Doc: "The profile that is used when none is named.", check: checkName},
		{Name: "model", Type: String, Doc: "provider/model-id, or a bare model id on the active connection."},
		{Name: "providers", Type: Map, Doc: "Connections by name.", Elem: &Key{Type: Table, Keys: providerKeys()}, check: checkProviderNames},
		{Name: "system_prompt", Type: String, Doc: "The system prompt."},
		{Name: "tools", Type: Map, Doc: "Settings of plugins by file or tool name; a plugin sees its own as clm.config.", Elem: &Key{Type: Map, Elem: &Key{Type: Any}}},
		{Name: "volatile_tools", Type: List, Doc: "Patterns of tool names whose older results are superseded by newer ones.", Elem: &Key{Type: String, check: checkGlob}},
		{Name: "mcp_servers", Type: List, Doc: "MCP servers; their tools are named mcp__SERVER__TOOL.", Elem: &Key{Type: Table, Keys: mcpKeys(), check: checkMCP}, check: checkMCPNames},
		{Name: "max_iterations", Type: Int, Default: int64(200), Doc: "Batches of tool calls in one turn before it ends with an error; 0 is no limit."},
		{Name: "tool_rate", Type: Number, Default: int64(0), Doc: "Tool calls a second; 0 is no limit."},
		{Name: "tool_burst", Type: Int, Min: 1, Default: int64(1), Doc: "Tool calls that may start at once under tool_rate."},
		{Name: "context_size", Type: Int, Default: int64(0), Doc: "The model's window in tokens; 0 asks the server."},
		{Name: "autocompact_pct", Type: Int, Max: 100, Default: int64(defaultPct), Doc: "Percent of the window at which the conversation is compacted; 0 is 70."},
		{Name: "disable_parallel_tool_calls", Type: Bool, Default: false, Doc: "Ask the model for one tool call at a time."},
		{Name: "permissions", Type: Table, Doc: "Rules for gated tools by name, shell_exec:GLOB or file:GLOB; deny wins.", Keys: []Key{
			{Name: "allow", Type: List, Elem: &Key{Type: String, check: checkRule}, Doc: "Rules that allow a call without a question."},
			{Name: "deny", Type: List, Elem: &Key{Type: String, check: checkRule}, Doc: "Rules that deny a call."},
		}},
		{Name: "agents", Type: Map, Doc: "Agent profiles by name, beside those in agents/NAME.lua.", Elem: &Key{Type: Map, Elem: &Key{Type: Any}}},
		{Name: "subagents", Type: List, Elem: str, Doc: "Names of profiles that the agent tool may start."},
		{Name: "plugins", Type: Map, Doc: "What a plugin may do beyond the sandbox, by its file name.", Elem: &Key{Type: Table, Keys: []Key{
			{Name: "files", Type: Table, Doc: "Paths that the plugin may use without a question.", Keys: []Key{
				{Name: "read", Type: List, Elem: str, Doc: "Files that it may read, and folders with all below them."},
				{Name: "write", Type: List, Elem: str, Doc: "Files that it may write, and folders with all below them."},
			}},
		}}},
	}
})

func providerKeys() []Key {
	return []Key{
		{Name: "kind", Type: String, Enum: []string{"openai", "ollama", "anthropic", "openai-responses", "demo"}, Soft: true, Doc: "The wire dialect."},
		{Name: "url", Type: String, check: checkURL, Doc: "The base endpoint; the dialect's path is appended."},
		{Name: "api_key", Type: SecretText, Doc: "The key that is sent."},
		{Name: "rate_tokens_per_sec", Type: Number, Doc: "Tokens a second that requests may use; 0 is no limit."},
		{Name: "rate_burst", Type: Int, Doc: "Tokens that may be used at once."},
		{Name: "headers", Type: Map, Elem: &Key{Type: SecretText, check: checkHeaderValue}, check: checkHeaderNames, Doc: "More request headers."},
		{Name: "fallback", Type: List, Elem: &Key{Type: String}, Doc: "Connections, or provider/model-id, to go on with in order when this one gives no answer."},
		{Name: "models", Type: Map, Doc: "Models by id.", Elem: &Key{Type: Table, Keys: []Key{
			{Name: "context_size", Type: Int, Doc: "The model's window in tokens."},
			{Name: "autocompact_pct", Type: Int, Max: 100, Doc: "Percent of the window at which the conversation is compacted; 0 is what holds for all models."},
			{Name: "max_output_tokens", Type: Int, Doc: "The longest answer to ask for, in tokens."},
			{Name: "price", Type: Table, Doc: "Dollars for a million tokens.", Keys: []Key{
				{Name: "input", Type: Number, Doc: "Tokens of the prompt."},
				{Name: "output", Type: Number, Doc: "Tokens of the answer."},
				{Name: "cache_read", Type: Number, Doc: "Tokens read from the provider's cache."},
				{Name: "cache_write", Type: Number, Doc: "Tokens written to the provider's cache."},
			}},
		}}},
	}
}

func mcpKeys() []Key {
	return []Key{
		{Name: "name", Type: String, Required: true, check: checkName, Doc: "The server's name in its tools' names."},
		{Name: "transport", Type: String, Enum: []string{"stdio", "http"}, Doc: "How the server is reached."},
		{Name: "command", Type: List, Elem: &Key{Type: String}, Doc: "The program and its arguments, for stdio."},
		{Name: "url", Type: String, check: checkURL, Doc: "The endpoint, for http."},
		{Name: "api_key", Type: SecretText, Doc: "A bearer token, for http."},
		{Name: "timeout_ms", Type: Int, Min: 1, Doc: "The longest that one call may take; 30000 by default."},
	}
}
