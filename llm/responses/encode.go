package responses

import (
	"encoding/base64"
	"hash/fnv"
	"strconv"
	"strings"

	"clm/llm"
	"clm/llm/internal/jsonscan"
	"clm/llm/internal/wire"
)

// encode makes a request's body. What stays the same from request to request
// stands first.
func (c *Client) encode(req *llm.Request) wire.Body {
	tools := c.tools.Encode(req.Tools, encodeTools)
	b := make([]byte, 0, 512+len(req.Model)+len(req.System)*9/8+len(tools))
	b = append(b, `{"model":`...)
	b = jsonscan.AppendString(b, req.Model)
	b = append(b, `,"store":false`...)
	if !c.plain.Has(req.Model) {
		b = append(b, `,"include":["reasoning.encrypted_content"]`...)
	}
	if req.Stream {
		b = append(b, `,"stream":true`...)
	}
	if req.MaxTokens > 0 {
		b = append(b, `,"max_output_tokens":`...)
		b = strconv.AppendInt(b, int64(req.MaxTokens), 10)
	}
	if strings.TrimSpace(req.System) != "" {
		b = append(b, `,"instructions":`...)
		b = jsonscan.AppendString(b, req.System)
	}
	b = append(b, tools...)
	if req.DisableParallelToolCalls && len(req.Tools) > 0 {
		b = append(b, `,"parallel_tool_calls":false`...)
	}
	b = append(b, `,"input":[`...)
	body := append(make(wire.Body, 0, 2*len(req.Messages)+2), b)
	for _, items := range c.http.Parts(req, origin(req.Model), encodeItems) {
		if len(items) == 0 {
			continue
		}
		if len(body) > 1 {
			body = append(body, comma)
		}
		body = append(body, items)
	}
	return append(body, end)
}

// What stands between the pieces of a body.
var (
	comma = []byte(",")
	end   = []byte("]}")
)

// encodeTools makes the list of a request's tools, a member of its body.
func encodeTools(tools []llm.Tool) []byte {
	b := []byte(`,"tools":[`)
	for i, t := range tools {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(b, `{"type":"function","name":`...)
		b = jsonscan.AppendString(b, t.Name)
		b = append(b, `,"description":`...)
		b = jsonscan.AppendString(b, t.Description)
		b = append(b, `,"parameters":`...)
		b = wire.AppendSchema(b, t.Schema)
		b = append(b, `,"strict":false}`...) // the default would refuse most schemas
	}
	return append(b, ']')
}

// encodeItems makes the input items of a message, with commas between them.
func encodeItems(m *llm.Message, from string) []byte {
	switch m.Role {
	case llm.RoleTool:
		return encodeResult(m)
	case llm.RoleUser:
		b := append([]byte(nil), `{"type":"message","role":"user","content":`...)
		if len(m.Attachments) == 0 {
			b = jsonscan.AppendString(b, m.Content)
		} else {
			b = appendParts(b, m.Content, m.Attachments)
		}
		return append(b, '}')
	}
	var b []byte
	for _, r := range m.Reasoning {
		if r.Origin == from {
			b = appendKept(b, r.Raw)
		}
	}
	if strings.TrimSpace(m.Content) != "" {
		b = append(wire.Separated(b), `{"type":"message","role":"assistant","content":`...)
		b = append(jsonscan.AppendString(b, m.Content), '}')
	}
	for _, call := range m.ToolCalls {
		b = append(wire.Separated(b), `{"type":"function_call","call_id":`...)
		b = jsonscan.AppendString(b, callID(call.ID))
		b = append(b, `,"name":`...)
		b = jsonscan.AppendString(b, call.Name)
		b = append(b, `,"arguments":`...)
		args := call.Args
		if args == "" {
			args = "{}"
		}
		b = append(jsonscan.AppendString(b, args), '}')
	}
	return b
}

// appendKept writes an item as it came. An item of reasoning goes back only if
// it holds any: a server that stores nothing cannot look it up by its id. The
// id of an encrypted one is left out, or the server would look for the ids of
// the items around it too.
func appendKept(b []byte, raw []byte) []byte {
	if len(raw) == 0 {
		return b
	}
	var encrypted, content []byte
	kind := ""
	for name, value := range jsonscan.Members(raw) {
		switch string(name) {
		case "type":
			kind = jsonscan.String(value)
		case "encrypted_content":
			encrypted = value
		case "content":
			content = value
		}
	}
	secret := jsonscan.IsString(encrypted) && len(encrypted) > 2
	switch {
	case kind != "reasoning":
		return append(wire.Separated(b), raw...)
	case !secret && (jsonscan.IsNull(content) || string(content) == "[]"):
		return b
	case !secret:
		return append(wire.Separated(b), raw...)
	}
	b = append(wire.Separated(b), '{')
	first := true
	for name, value := range jsonscan.Members(raw) {
		if string(name) == "id" || string(name) == "status" {
			continue
		}
		if !first {
			b = append(b, ',')
		}
		first = false
		b = append(jsonscan.AppendString(b, string(name)), ':')
		b = append(b, value...)
	}
	return append(b, '}')
}

func encodeResult(m *llm.Message) []byte {
	b := append([]byte(nil), `{"type":"function_call_output","call_id":`...)
	b = jsonscan.AppendString(b, callID(m.ToolCallID))
	b = append(b, `,"output":`...)
	if len(m.Attachments) == 0 {
		b = jsonscan.AppendString(b, m.Content)
	} else {
		b = appendParts(b, m.Content, m.Attachments)
	}
	return append(b, '}')
}

// appendParts writes text and files as a list of content parts.
func appendParts(b []byte, text string, files []llm.Attachment) []byte {
	b = append(b, '[')
	if strings.TrimSpace(text) != "" {
		b = append(b, `{"type":"input_text","text":`...)
		b = append(jsonscan.AppendString(b, text), "},"...)
	}
	for i, f := range files {
		if i > 0 {
			b = append(b, ',')
		}
		media := f.MediaType
		if media == "" {
			media = "application/octet-stream"
		}
		if strings.HasPrefix(media, "image/") {
			b = append(b, `{"type":"input_image","detail":"auto","image_url":`...)
		} else {
			name := f.Name
			if name == "" {
				name = "file"
			}
			b = append(b, `{"type":"input_file","filename":`...)
			b = append(jsonscan.AppendString(b, name), `,"file_data":`...)
		}
		b = jsonscan.AppendString(b, "data:"+media+";base64,")
		b = base64.StdEncoding.AppendEncode(b[:len(b)-1], f.Data)
		b = append(b, `"}`...)
	}
	return append(b, ']')
}

// callID shortens the ids of other providers to what is allowed here. A
// shortened one carries a hash, so that two never become the same.
func callID(id string) string {
	const longest = 64
	if len(id) <= longest && id != "" {
		return id
	}
	h := fnv.New64a()
	_, _ = h.Write([]byte(id))
	return strings.ToValidUTF8(id[:min(len(id), 40)], "") + "_" + strconv.FormatUint(h.Sum64(), 36)
}
