package wire

import (
	"sync/atomic"

	"clm/llm"
)

// ToolCache keeps the encoded list of a request's tools for the next request
// with the same list, which mostly comes from the same agent or from one that
// shares it. The zero value is empty.
type ToolCache struct{ last atomic.Pointer[encodedTools] }

type encodedTools struct {
	of   []llm.Tool
	data []byte
}

// Encode returns what encode makes of the tools, which must depend on nothing
// else; nil for none. The result is shared: it must not be changed.
func (c *ToolCache) Encode(tools []llm.Tool, encode func([]llm.Tool) []byte) []byte {
	if len(tools) == 0 {
		return nil
	}
	if last := c.last.Load(); last != nil && len(last.of) == len(tools) && &last.of[0] == &tools[0] {
		return last.data
	}
	data := encode(tools)
	c.last.Store(&encodedTools{tools, data})
	return data
}
