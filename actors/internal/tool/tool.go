// Package tool is what a tool is, whichever source it comes from: built in,
// an embedder's Go function, an MCP server's, or a plugin's.
package tool

import (
	"context"
	"encoding/json"
	"time"
)

// Tool is one tool. It is immutable; agents share it.
type Tool struct {
	Name        string
	Description string
	Schema      json.RawMessage // JSON Schema of the arguments, of type object; nil takes any object
	NoPrompt    bool            // runs without a permission question
	Hidden      bool            // not advertised to a model
	Timeout     time.Duration   // wall limit of one call; 0 is the engine's default
	Source      string          // "builtin", "go", "plugin:FILE", "mcp:SERVER"

	// Run executes a call on a goroutine of the tool call that wants it. It
	// must return soon after ctx ends. Nil for a plugin's tool.
	Run func(ctx context.Context, call Call) (Result, error)

	// Reason says in a few words what a call would do, for the permission
	// question; nil for none.
	Reason func(args string) string
}

// Call is one call of a tool.
type Call struct {
	ID   string
	Name string
	Args string // raw JSON object text, checked against the schema
}

// Result is what a tool gives back to the model.
type Result struct {
	Text        string
	Attachments []Attachment
}

// Attachment is an image that a tool gives to the model.
type Attachment struct {
	Name, MediaType string
	Data            []byte
}
