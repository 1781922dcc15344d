package config

import (
	"slices"

	"github.com/spf13/pflag"
)

// Options say where the configuration comes from.
type Options struct {
	// Env is the environment, "NAME=value" each. Only it decides which files
	// are read (XDG_CONFIG_HOME, HOME).
	Env []string
	// Flags are the parsed flags of the command. Those that the person set
	// and that carry the annotation [FlagKey] are the top layer.
	Flags *pflag.FlagSet
	// Agent is the profile to run, over what every layer says; empty leaves
	// it to them.
	Agent string
}

// FlagKey is the pflag annotation that names the configuration key a flag sets.
const FlagKey = "clm.key"

// Config is the merged configuration. It is immutable; its maps and slices
// are not to be changed.
type Config struct {
	Agent                    string                    `koanf:"agent"` // the running profile; empty for none
	Providers                map[string]Provider       `koanf:"providers"`
	SystemPrompt             string                    `koanf:"system_prompt"`
	Tools                    map[string]map[string]any `koanf:"tools"`
	VolatileTools            []string                  `koanf:"volatile_tools"`
	MCPServers               []MCPServer               `koanf:"mcp_servers"`
	MaxIterations            int                       `koanf:"max_iterations"` // 0: no limit
	ToolRate                 float64                   `koanf:"tool_rate"`      // calls a second; 0: no limit
	ToolBurst                int                       `koanf:"tool_burst"`     // at least 1
	ContextSize              int                       `koanf:"context_size"`   // tokens; 0: ask the server
	AutocompactPct           int                       `koanf:"autocompact_pct"`
	DisableParallelToolCalls bool                      `koanf:"disable_parallel_tool_calls"`
	Permissions              Permissions               `koanf:"permissions"`
	Subagents                []string                  `koanf:"subagents"` // each names a profile that exists
	Agents                   map[string]map[string]any `koanf:"agents"`    // inline profiles, unmerged: see Profile
	Plugins                  map[string]Plugin         `koanf:"plugins"`

	// Model is the configured model as written, the last layer's. What a run
	// talks to is [Config.Target].
	Model string `koanf:"model"`

	Dir        string   // the configuration folder, whether or not it exists
	Files      []string // the files that were read, in order
	PluginDirs []string // plugins/, and agents/NAME/ of the running profile; they may not exist
	APIKey     Secret   // CLM_API_KEY: wins over the selected connection's key

	load   *loader
	chain  []spec         // the layers' models, lowest first
	merged map[string]any // for Show
	layers []layer        // lowest first
}

// Provider is a connection.
type Provider struct {
	Kind             string            `koanf:"kind"` // openai, ollama, anthropic, openai-responses, demo
	URL              string            `koanf:"url"`
	APIKey           Secret            `koanf:"api_key"`
	RateTokensPerSec float64           `koanf:"rate_tokens_per_sec"` // 0: no limit
	RateBurst        int               `koanf:"rate_burst"`          // tokens
	Headers          map[string]Secret `koanf:"headers"`
	Models           map[string]Model  `koanf:"models"`   // by id
	Fallback         []string          `koanf:"fallback"` // names of providers that exist, or SPECs of theirs
}

// Model is what is known of a model. Zero means that it is not said.
type Model struct {
	ContextSize     int   `koanf:"context_size"`    // tokens
	AutocompactPct  int   `koanf:"autocompact_pct"` // percent of the window
	MaxOutputTokens int   `koanf:"max_output_tokens"`
	Price           Price `koanf:"price"`
}

// Price is in dollars for a million tokens.
type Price struct {
	Input      float64 `koanf:"input"`
	Output     float64 `koanf:"output"`
	CacheRead  float64 `koanf:"cache_read"`
	CacheWrite float64 `koanf:"cache_write"`
}

// MCPServer is a server of the Model Context Protocol.
type MCPServer struct {
	Name      string   `koanf:"name"`
	Transport string   `koanf:"transport"` // stdio or http
	Command   []string `koanf:"command"`   // not empty for stdio
	URL       string   `koanf:"url"`       // not empty for http
	APIKey    Secret   `koanf:"api_key"`
	TimeoutMS int      `koanf:"timeout_ms"`
}

// Permissions are rules for gated tools: a glob on the tool's name,
// shell_exec:GLOB on a command, file:GLOB on a path. Deny wins.
type Permissions struct {
	Allow []string `koanf:"allow"`
	Deny  []string `koanf:"deny"`
}

// Plugin widens a plugin's sandbox.
type Plugin struct {
	Files Files `koanf:"files"`
}

// Files are paths that a plugin may use without a question.
type Files struct {
	Read  []string `koanf:"read"`
	Write []string `koanf:"write"`
}

// Secrets returns every secret value that the configuration holds, for a
// scrubber: what secrets.lua returns, keys, headers, passwords in URLs. Texts
// shorter than 4 bytes are left out, as removing them would destroy others.
func (c *Config) Secrets() []string { return slices.Clone(c.load.hide.texts) }

// Origin says where a value came from.
type Origin struct {
	File string // path, "environment", "flag" or "default"
	Line int    // 0 when there is none
	Name string // the variable or flag
}

// place names the origin as an error text would.
func (o Origin) place() string {
	switch o.File {
	case "environment":
		return o.Name + " in the environment"
	case "flag":
		return o.Name
	}
	return o.File
}
