package anthropic

import (
	"encoding/base64"
	"encoding/json"
	"hash/fnv"
	"mime"
	"strconv"
	"strings"

	"clm/llm"
	"clm/llm/internal/jsonscan"
	"clm/llm/internal/wire"
)

const cacheMark = `,"cache_control":{"type":"ephemeral"}`

// encode makes a request's body. What stays the same from request to request
// stands first.
func (c *Client) encode(req *llm.Request) wire.Body {
	mark := cacheMark
	if c.noMarks.Has(req.Model) {
		mark = ""
	}
	tools := c.tools.Encode(req.Tools, encodeTools)
	b := make([]byte, 0, 512+len(req.Model)+len(req.System)*9/8+len(tools))
	b = append(b, `{"model":`...)
	b = jsonscan.AppendString(b, req.Model)
	b = append(b, `,"max_tokens":`...)
	b = strconv.AppendInt(b, int64(c.maxTokens(req)), 10)
	if req.Stream {
		b = append(b, `,"stream":true`...)
	}
	if strings.TrimSpace(req.System) != "" {
		b = append(b, `,"system":[{"type":"text","text":`...)
		b = jsonscan.AppendString(b, req.System)
		b = append(append(b, mark...), "}]"...)
	}
	if len(tools) > 0 {
		b = append(b, tools[:len(tools)-len("}]")]...) // the mark goes into the last tool
		b = append(append(b, mark...), "}]"...)
	}
	if req.DisableParallelToolCalls && len(req.Tools) > 0 {
		b = append(b, `,"tool_choice":{"type":"auto","disable_parallel_tool_use":true}`...)
	}
	b = append(b, `,"messages":[`...)
	body := append(make(wire.Body, 0, 4*len(req.Messages)+8), b)
	body = appendMessages(body, req.Messages, c.http.Parts(req, origin(req.Model), encodeBlocks), []byte(mark))
	return append(body, closeBody)
}

// What stands between the pieces of a body.
var (
	comma     = []byte(",")
	closeItem = []byte("}")
	closeBody = []byte("]}")
	asUser    = []byte(`{"role":"user","content":[`)
	asModel   = []byte(`{"role":"assistant","content":[`)
	nextUser  = []byte(`]},{"role":"user","content":[`)
	nextModel = []byte(`]},{"role":"assistant","content":[`)
	goesOn    = []byte(`{"role":"user","content":[{"type":"text","text":"(the conversation goes on)"}]},`)
)

// encodeTools makes the list of a request's tools, a member of its body.
func encodeTools(tools []llm.Tool) []byte {
	b := []byte(`,"tools":[`)
	for i, t := range tools {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(b, `{"name":`...)
		b = jsonscan.AppendString(b, t.Name)
		if t.Description != "" {
			b = append(b, `,"description":`...)
			b = jsonscan.AppendString(b, t.Description)
		}
		b = append(b, `,"input_schema":`...)
		b = wire.AppendSchema(b, t.Schema)
		b = append(b, '}')
	}
	return append(b, ']')
}

// appendMessages adds the conversation, whose messages are in parts. Neighbours
// of the same side become one message; results are the user's side. The first
// message must be the user's.
func appendMessages(b wire.Body, msgs []llm.Message, parts [][]byte, mark []byte) wire.Body {
	marks := markedEnds(msgs)
	open := false // a message is
	user := true  // the side of the open message
	for i, blocks := range parts {
		if len(blocks) == 0 {
			continue
		}
		switch side := msgs[i].Role != llm.RoleAssistant; {
		case !open && side:
			b = append(b, asUser)
			user = true
		case !open:
			b = append(b, goesOn, asModel)
			user = false
		case side == user:
			b = append(b, comma)
		case side:
			b = append(b, nextUser)
			user = true
		default:
			b = append(b, nextModel)
			user = false
		}
		open = true
		if i == marks[0] || i == marks[1] {
			b = append(b, blocks[:len(blocks)-1], mark, closeItem) // into the last block
		} else {
			b = append(b, blocks)
		}
	}
	if open {
		b = append(b, closeBody)
	}
	return b
}

// markedEnds finds the messages that end this request and the one before it,
// which ended with what came before the last answer. -1 where there is none.
func markedEnds(msgs []llm.Message) (ends [2]int) {
	i := len(msgs) - 1
	for n := range ends {
		for n > 0 && i >= 0 && msgs[i].Role != llm.RoleAssistant {
			i--
		}
		for i >= 0 && msgs[i].Role == llm.RoleAssistant {
			i--
		}
		ends[n] = i
	}
	return ends
}

// encodeBlocks makes the content blocks of a message, without the brackets
// around them. Empty text is left out: the API refuses it.
func encodeBlocks(m *llm.Message, from string) []byte {
	var b []byte
	switch m.Role {
	case llm.RoleTool:
		return appendResult(b, m)
	case llm.RoleAssistant:
		for _, r := range m.Reasoning {
			if r.Origin == from && r.Raw != nil {
				b = append(wire.Separated(b), r.Raw...)
			}
		}
	}
	for _, a := range m.Attachments {
		b = appendFile(wire.Separated(b), a)
	}
	if strings.TrimSpace(m.Content) != "" {
		b = appendText(wire.Separated(b), m.Content)
	}
	for _, call := range m.ToolCalls {
		b = append(wire.Separated(b), `{"type":"tool_use","id":`...)
		b = jsonscan.AppendString(b, safeID(call.ID))
		b = append(b, `,"name":`...)
		b = jsonscan.AppendString(b, call.Name)
		b = append(b, `,"input":`...)
		b = append(appendInput(b, call.Args), '}')
	}
	return b
}

func appendText(b []byte, text string) []byte {
	b = append(b, `{"type":"text","text":`...)
	return append(jsonscan.AppendString(b, text), '}')
}

func appendResult(b []byte, m *llm.Message) []byte {
	b = append(b, `{"type":"tool_result","tool_use_id":`...)
	b = jsonscan.AppendString(b, safeID(m.ToolCallID))
	text := strings.TrimSpace(m.Content) != ""
	switch {
	case len(m.Attachments) > 0:
		b = append(b, `,"content":[`...)
		if text {
			b = append(appendText(b, m.Content), ',')
		}
		for i, a := range m.Attachments {
			if i > 0 {
				b = append(b, ',')
			}
			b = appendFile(b, a)
		}
		b = append(b, ']')
	case text:
		b = append(b, `,"content":`...)
		b = jsonscan.AppendString(b, m.Content)
	case m.Failed: // the API wants to hear why
		b = append(b, `,"content":"failed"`...)
	}
	if m.Failed {
		b = append(b, `,"is_error":true`...)
	}
	return append(b, '}')
}

// appendFile writes what the API can show to a model, and a note of what it
// cannot.
func appendFile(b []byte, a llm.Attachment) []byte {
	media, _, err := mime.ParseMediaType(a.MediaType)
	if err != nil {
		media = a.MediaType
	}
	switch {
	case media == "image/png", media == "image/jpeg", media == "image/gif", media == "image/webp":
		b = append(b, `{"type":"image","source":{"type":"base64","media_type":`...)
	case media == "application/pdf":
		b = append(b, `{"type":"document","source":{"type":"base64","media_type":`...)
	case strings.HasPrefix(media, "text/"):
		b = append(b, `{"type":"document","source":{"type":"text","media_type":"text/plain","data":`...)
		b = append(jsonscan.AppendString(b, llm.Clean(string(a.Data))), '}')
		if a.Name != "" {
			b = append(b, `,"title":`...)
			b = jsonscan.AppendString(b, a.Name)
		}
		return append(b, '}')
	default:
		return appendText(b, "[the file "+a.Name+" of the type "+media+" cannot be shown to this model]")
	}
	b = jsonscan.AppendString(b, media)
	b = append(b, `,"data":"`...)
	b = base64.StdEncoding.AppendEncode(b, a.Data)
	return append(b, `"}}`...)
}

// appendInput writes a call's arguments, which must be an object. What the
// model wrote instead is kept inside one, so that it sees its mistake.
func appendInput(b []byte, args string) []byte {
	args = strings.TrimSpace(args)
	switch {
	case args == "":
		return append(b, "{}"...)
	case args[0] == '{' && json.Valid([]byte(args)):
		return append(b, args...)
	}
	b = append(b, `{"invalid_arguments":`...)
	return append(jsonscan.AppendString(b, args), '}')
}

// safeID maps the ids of other providers to the characters that are allowed
// here. A changed one carries a hash, so that two never become the same.
func safeID(id string) string {
	safe := strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '_' || r == '-' {
			return r
		}
		return '_'
	}, id)
	if safe == id && id != "" {
		return id
	}
	h := fnv.New32a()
	_, _ = h.Write([]byte(id))
	return safe + "_" + strconv.FormatUint(uint64(h.Sum32()), 36)
}
