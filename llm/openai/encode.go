package openai

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"strconv"
	"strings"

	"clm/llm"
	"clm/llm/internal/jsonscan"
	"clm/llm/internal/wire"
)

// encode makes a request's body.
func (c *Client) encode(req *llm.Request) wire.Body {
	head := make([]byte, 0, 128+len(req.System)*9/8)
	head = append(head, `{"model":`...)
	head = jsonscan.AppendString(head, req.Model)
	head = append(head, `,"messages":[`...)
	first := true
	if req.System != "" {
		head = append(head, `{"role":"system","content":`...)
		head = append(jsonscan.AppendString(head, req.System), '}')
		first = false
	}
	body := make(wire.Body, 0, len(req.Messages)+3)
	body = c.appendMessages(append(body, head), req, first)
	body = append(body, closeList)
	if tools := c.tools.Encode(req.Tools, encodeTools); tools != nil {
		body = append(body, tools)
	}
	return append(body, c.encodeOptions(req))
}

var closeList = []byte("]")

func (c *Client) encodeOptions(req *llm.Request) []byte {
	var b []byte
	if req.DisableParallelToolCalls && len(req.Tools) > 0 && !c.noParallel.Has(req.Model) {
		b = append(b, `,"parallel_tool_calls":false`...)
	}
	if req.MaxTokens > 0 {
		name, learned := c.maxTokens.Get(req.Model)
		if !learned {
			name = c.usualMaxTokens
		}
		b = append(append(append(b, `,"`...), name...), `":`...)
		b = strconv.AppendInt(b, int64(req.MaxTokens), 10)
	}
	if !req.Stream {
		return append(b, `,"stream":false}`...)
	}
	b = append(b, `,"stream":true`...)
	if !c.noStreamOptions.Has(req.Model) {
		b = append(b, `,"stream_options":{"include_usage":true}`...)
	}
	return append(b, '}')
}

// appendMessages adds the conversation; first says that nothing stands before it
// in its list. Images of tool results follow the last result of their group in a
// user message, as a tool message can hold only text and nothing may come
// between results.
func (c *Client) appendMessages(body wire.Body, req *llm.Request, first bool) wire.Body {
	origin := c.origin(req.Model)
	var images [][]byte
	for i := range req.Messages {
		m := c.http.Shown(req.Model, &req.Messages[i])
		if m.Role != llm.RoleTool && images != nil {
			body, images = append(body, images...), nil
		}
		data := m.Wire(origin, func() []byte { return encodeMessage(m, origin) })
		if len(m.Attachments) > 0 && m.Role == llm.RoleTool {
			var image []byte
			data, image, _ = bytes.Cut(data, []byte{0})
			images = append(images, image)
		}
		if first {
			data, first = data[1:], false
		}
		body = append(body, data)
	}
	return append(body, images...)
}

// encodeMessage makes one message, with the comma before it; a tool result's
// images follow it as a user message after a NUL, which JSON cannot hold.
func encodeMessage(m *llm.Message, origin string) []byte {
	b := append(make([]byte, 0, sizeOf(m)), ',')
	switch m.Role {
	case llm.RoleAssistant:
		return appendAssistant(b, m, origin)
	case llm.RoleTool:
		b = append(b, `{"role":"tool","tool_call_id":`...)
		b = jsonscan.AppendString(b, m.ToolCallID)
		b = append(b, `,"content":`...)
		b = append(jsonscan.AppendString(b, m.Content), '}')
		if len(m.Attachments) > 0 {
			b = append(b, 0, ',')
			b = appendUser(b, "Attached to the result of "+m.ToolName+" ("+m.ToolCallID+"):", m.Attachments)
		}
		return b
	}
	return appendUser(b, m.Content, m.Attachments)
}

// sizeOf is about what a message takes, escapes and files left out.
func sizeOf(m *llm.Message) int {
	n := 64 + len(m.Content) + len(m.ToolCallID)
	for _, call := range m.ToolCalls {
		n += 80 + len(call.ID) + len(call.Name) + len(call.Args)*5/4
	}
	return n
}

func appendUser(b []byte, text string, files []llm.Attachment) []byte {
	b = append(b, `{"role":"user","content":`...)
	if len(files) == 0 {
		return append(jsonscan.AppendString(b, text), '}')
	}
	b = append(b, '[')
	if text != "" {
		b = append(b, `{"type":"text","text":`...)
		b = append(jsonscan.AppendString(b, text), "},"...)
	}
	for i, f := range files {
		if i > 0 {
			b = append(b, ',')
		}
		b = appendFile(b, f)
	}
	return append(b, "]}"...)
}

func appendFile(b []byte, f llm.Attachment) []byte {
	media := f.MediaType
	if media == "" {
		media = "application/octet-stream"
	}
	image := strings.HasPrefix(media, "image/")
	if image {
		b = append(b, `{"type":"image_url","image_url":{"url":`...)
	} else {
		name := f.Name
		if name == "" {
			name = "file"
		}
		b = append(b, `{"type":"file","file":{"filename":`...)
		b = append(jsonscan.AppendString(b, name), `,"file_data":`...)
	}
	head := jsonscan.AppendString(nil, "data:"+media+";base64,")
	b = append(b, head[:len(head)-1]...)
	b = base64.StdEncoding.AppendEncode(b, f.Data)
	return append(b, `"}}`...)
}

// appendAssistant writes what the model said. Its content is null beside calls
// when it said nothing, as servers themselves send it, and never null without.
func appendAssistant(b []byte, m *llm.Message, origin string) []byte {
	b = append(b, `{"role":"assistant","content":`...)
	if m.Content == "" && len(m.ToolCalls) > 0 {
		b = append(b, "null"...)
	} else {
		b = jsonscan.AppendString(b, m.Content)
	}
	for _, r := range m.Reasoning {
		if r.Origin == origin {
			b = appendReasoning(b, r, len(m.ToolCalls) > 0)
		}
	}
	for i, call := range m.ToolCalls {
		if i == 0 {
			b = append(b, `,"tool_calls":[`...)
		} else {
			b = append(b, ',')
		}
		b = append(b, `{"id":`...)
		b = jsonscan.AppendString(b, call.ID)
		b = append(b, `,"type":"function","function":{"name":`...)
		b = jsonscan.AppendString(b, call.Name)
		b = append(b, `,"arguments":`...)
		b = append(jsonscan.AppendString(b, sentArgs(call.Args)), "}}"...)
	}
	if len(m.ToolCalls) > 0 {
		b = append(b, ']')
	}
	return append(b, '}')
}

// sentArgs is a call's arguments as servers take them back. Some parse them,
// and refuse the whole conversation for ever when a model once wrote them wrong.
func sentArgs(args string) string {
	switch text := strings.TrimSpace(args); {
	case text == "":
		return "{}"
	case text[0] == '{' && json.Valid([]byte(text)):
		return args
	}
	return `{"invalid_arguments":` + string(jsonscan.AppendString(nil, args)) + "}"
}

// appendReasoning writes the members that the server had sent. Plain text goes
// back only with a call that it led to: there some servers demand it, elsewhere
// some refuse it. Structured details always go back.
func appendReasoning(b []byte, r llm.Reasoning, calls bool) []byte {
	_, details := member(r.Raw, "reasoning_details")
	for name, value := range jsonscan.Members(r.Raw) {
		if calls || details {
			b = append(b, ',')
			b = append(jsonscan.AppendString(b, string(name)), ':')
			b = append(b, value...)
		}
	}
	return b
}

func member(b []byte, want string) ([]byte, bool) {
	for name, value := range jsonscan.Members(b) {
		if string(name) == want {
			return value, true
		}
	}
	return nil, false
}

// encodeTools makes the list of a request's tools, a member of its body.
func encodeTools(tools []llm.Tool) []byte {
	b := []byte(`,"tools":[`)
	for i, t := range tools {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(b, `{"type":"function","function":{"name":`...)
		b = jsonscan.AppendString(b, t.Name)
		b = append(b, `,"description":`...)
		b = jsonscan.AppendString(b, t.Description)
		b = append(b, `,"parameters":`...)
		b = append(wire.AppendSchema(b, t.Schema), "}}"...)
	}
	return append(b, ']')
}
