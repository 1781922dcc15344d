package anthropic

import (
	"bytes"
	"encoding/json"
	"strings"

	"clm/llm"
	"clm/llm/internal/jsonscan"
	"clm/llm/internal/wire"
)

// block is a content block of an answer.
type block struct {
	index     int64
	kind      string
	thought   wire.Thought
	signature jsonscan.Text // of thinking
	input     jsonscan.Text // of a call, as JSON
	id, name  string        // of a call
	raw       []byte        // as it began, for the kinds that are kept whole
}

// find returns the block that a delta belongs to, opening one where its start
// was lost. A delta without an index goes to the last block.
func (d *decoder) find(e event) *block {
	for i := len(d.blocks) - 1; i >= 0; i-- {
		if b := d.blocks[i]; b.index == e.index || !e.indexed {
			return b
		}
	}
	kind := ""
	switch deltaType(jsonscan.Member(e.delta, "type")) {
	case "text_delta":
		kind = "text"
	case "thinking_delta", "signature_delta":
		kind = "thinking"
	case "input_json_delta":
		kind = "tool_use"
	}
	return d.open(e.index, kind)
}

// maxBlocks bounds the content blocks of one answer.
const maxBlocks = 2000

func (d *decoder) open(index int64, kind string) *block {
	b := &block{index: index, kind: kind}
	if len(d.blocks) == maxBlocks {
		d.over = true
		return b // goes nowhere
	}
	d.blocks = append(d.blocks, b)
	return b
}

// start opens a block with what it begins with: mostly nothing, in a whole
// answer everything.
func (d *decoder) start(index int64, data []byte) {
	b := d.open(index, jsonscan.String(jsonscan.Member(data, "type")))
	switch b.kind {
	case "text":
		d.said.Text(jsonscan.Member(data, "text"))
	case "thinking":
		d.said.Thought(&b.thought, jsonscan.Member(data, "thinking"))
		b.sign(jsonscan.Member(data, "signature"))
	case "tool_use":
		b.id = strings.TrimSpace(jsonscan.String(jsonscan.Member(data, "id")))
		b.name = strings.TrimSpace(jsonscan.String(jsonscan.Member(data, "name")))
		b.raw = bytes.Clone(jsonscan.Member(data, "input"))
		d.said.Call(b.name)
	default:
		b.raw = bytes.Clone(data)
	}
}

// delta adds to a block.
func (d *decoder) delta(b *block, data []byte) {
	var kind string
	var text, partial, thinking, signature []byte
	for name, value := range jsonscan.Members(data) {
		switch string(name) {
		case "type":
			kind = deltaType(value)
		case "text":
			text = value
		case "partial_json":
			partial = value
		case "thinking":
			thinking = value
		case "signature":
			signature = value
		}
	}
	switch kind {
	case "text_delta":
		d.said.Text(text)
	case "thinking_delta":
		d.said.Thought(&b.thought, thinking)
	case "signature_delta":
		b.sign(signature)
	case "input_json_delta":
		if jsonscan.IsString(partial) {
			b.input.Append(jsonscan.Inner(partial))
		}
	}
}

// deltaType avoids an allocation for each delta.
func deltaType(value []byte) string {
	switch string(value) {
	case `"text_delta"`:
		return "text_delta"
	case `"thinking_delta"`:
		return "thinking_delta"
	case `"input_json_delta"`:
		return "input_json_delta"
	}
	return jsonscan.String(value)
}

func (b *block) sign(value []byte) {
	if jsonscan.IsString(value) {
		b.signature.Append(jsonscan.Inner(value))
	}
}

// addTo adds the finished block to the message, but for its text, which is
// there.
func (b *block) addTo(m *llm.Message, origin string) {
	r := llm.Reasoning{Origin: origin, Text: b.thought.String()}
	switch b.kind {
	case "thinking":
		r.Raw = append([]byte(nil), `{"type":"thinking","thinking":`...)
		r.Raw = jsonscan.AppendString(r.Raw, r.Text)
		r.Raw = append(r.Raw, `,"signature":`...)
		r.Raw = append(jsonscan.AppendString(r.Raw, b.signature.String()), '}')
	case "tool_use":
		m.ToolCalls = append(m.ToolCalls, b.call(m.ToolCalls))
	case "text":
	default:
		r.Raw = b.whole()
	}
	if r.Text != "" || r.Raw != nil {
		m.Reasoning = append(m.Reasoning, r)
	}
}

// call is the block as a call, with an id that none of the message's calls
// has.
func (b *block) call(others []llm.ToolCall) llm.ToolCall {
	begun := string(b.raw) // with what the block began
	if jsonscan.IsString(b.raw) {
		begun = jsonscan.String(b.raw)
	}
	return llm.ToolCall{ID: wire.FreeID(b.id, others), Name: b.name, Args: wire.Args(b.input.String(), begun)}
}

// whole is a block of a kind that is kept as it came, with the input that may
// have followed it. nil when there is nothing to keep.
func (b *block) whole() json.RawMessage {
	if len(b.raw) == 0 || b.raw[0] != '{' {
		return nil
	}
	var compact bytes.Buffer
	if json.Compact(&compact, b.raw) != nil {
		return nil
	}
	input := b.input.String()
	if input == "" || !json.Valid([]byte(input)) {
		return compact.Bytes()
	}
	out, sep := []byte{'{'}, ""
	for name, value := range jsonscan.Members(compact.Bytes()) {
		if string(name) == "input" {
			value = []byte(input)
		}
		out = append(jsonscan.AppendString(append(out, sep...), string(name)), ':')
		out, sep = append(out, value...), ","
	}
	return append(out, '}')
}
