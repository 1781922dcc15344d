package llm

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"
)

// This file holds what [History] does to a message before it keeps it.

// Each of the append functions adds what it keeps to added.

func (h *History) appendUser(added []Message, m Message) []Message {
	m = Message{Role: RoleUser, Content: Clean(m.Content), Attachments: m.Attachments}
	if blank(m.Content) {
		if len(m.Attachments) == 0 {
			return added
		}
		m.Content = ""
	}
	if len(h.calls) > 0 {
		h.bytes += messageBytes(m)
		h.held = append(h.held, m)
		return append(added, m)
	}
	return append(added, h.push(m, true))
}

func (h *History) appendAssistant(added []Message, m Message) []Message {
	kept := Message{Role: RoleAssistant, Content: Clean(m.Content), Reasoning: cleanReasoning(m.Reasoning)}
	if blank(kept.Content) {
		if len(m.ToolCalls) == 0 {
			return added
		}
		kept.Content = ""
	}
	if len(m.ToolCalls) > 0 {
		kept.ToolCalls, h.calls = h.cleanCalls(m.ToolCalls)
	}
	added = append(added, h.push(kept, true))
	h.marked = h.bytes
	return added
}

// cleanCalls repairs the calls of a message and opens them.
func (h *History) cleanCalls(calls []ToolCall) ([]ToolCall, []openCall) {
	kept := make([]ToolCall, len(calls))
	open := make([]openCall, len(calls))
	for i, c := range calls {
		kept[i] = ToolCall{ID: h.uniqueID(c.ID), Name: cleanName(c.Name), Args: strings.TrimSpace(Clean(c.Args))}
		if kept[i].Args == "" {
			kept[i].Args = "{}"
		}
		open[i] = openCall{given: c.ID, id: kept[i].ID, name: kept[i].Name}
	}
	return kept, open
}

// uniqueID takes an id that no call has, the given one if it can be used.
func (h *History) uniqueID(id string) string {
	if h.ids == nil {
		h.ids = make(map[string]struct{})
	}
	id = strings.TrimSpace(Clean(id))
	base, n := id, len(h.ids)+1 // not 2: some servers give every call the same id
	if id == "" || len(id) > maxIDBytes {
		base = "call"
		id = base + "_" + strconv.Itoa(n)
	}
	for ; ; n++ {
		if _, used := h.ids[id]; !used {
			h.ids[id] = struct{}{}
			return id
		}
		id = base + "_" + strconv.Itoa(n)
	}
}

// maxIDBytes is generous: some gateways keep what they need to know later in
// the ids of calls.
const maxIDBytes = 8 << 10

// cleanName maps a tool name that a model invented to one that every provider
// accepts in a conversation: the request must not fail over it for ever.
func cleanName(name string) string {
	name = strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9', r == '_', r == '-':
			return r
		}
		return '_'
	}, name)
	if name == "" {
		return "unnamed"
	}
	return name[:min(len(name), 64)]
}

func (h *History) appendResult(added []Message, m Message) []Message {
	i := h.callFor(m.ToolCallID)
	if i < 0 {
		return added
	}
	c := &h.calls[i]
	c.result = Message{
		Role: RoleTool, Content: Clean(m.Content), ToolCallID: c.id, ToolName: c.name,
		Failed: m.Failed, Attachments: m.Attachments,
	}
	if blank(c.result.Content) {
		c.result.Content = ""
		if len(m.Attachments) == 0 {
			c.result.Content = "(empty result)"
		}
	}
	c.answered = true
	h.bytes += messageBytes(c.result)
	added = append(added, c.result)
	for h.open < len(h.calls) && h.calls[h.open].answered {
		h.open++
	}
	if h.open == len(h.calls) {
		h.settle("")
	}
	return added
}

// callFor finds the open call that a result's id means, -1 for none.
func (h *History) callFor(id string) int {
	given := -1
	for i := h.open; i < len(h.calls); i++ {
		switch c := &h.calls[i]; {
		case c.answered:
		case c.id == id:
			return i
		case given < 0 && c.given == id:
			given = i
		}
	}
	return given
}

// settle moves the results of the open calls, and then what was held back,
// into the conversation. Calls without a result get one with this text; those
// results are returned.
func (h *History) settle(text string) []Message {
	if len(h.calls) == 0 {
		return nil
	}
	calls, held := h.calls, h.held
	h.calls, h.held, h.open = nil, nil, 0
	text = Clean(text)
	if blank(text) {
		text = cancelledText
	}
	var added []Message
	for i := range calls {
		c := &calls[i]
		if !c.answered {
			c.result = Message{Role: RoleTool, Content: text, ToolCallID: c.id, ToolName: c.name, Failed: true}
		}
		m := h.push(c.result, !c.answered)
		if !c.answered {
			added = append(added, m)
		}
	}
	for _, m := range held {
		h.push(m, false)
	}
	return added
}

// push adds a message and returns it as it is kept; count is false when its
// bytes were counted before.
func (h *History) push(m Message, count bool) Message {
	m.wire = new(wireCache)
	if count {
		h.bytes += messageBytes(m)
	}
	h.msgs = append(h.msgs, m)
	return m
}

func blank(s string) bool { return strings.TrimSpace(s) == "" }

// cleanReasoning drops blocks that hold nothing or that would break a request.
func cleanReasoning(blocks []Reasoning) []Reasoning {
	var kept []Reasoning
	for _, r := range blocks {
		r.Text = Clean(r.Text)
		if r.Raw != nil && !json.Valid(r.Raw) {
			r.Raw = nil
		}
		if r.Raw != nil || r.Text != "" {
			kept = append(kept, r)
		}
	}
	return kept
}

// ownReasoning is m without the reasoning of other origins, and whether there
// was any.
func ownReasoning(m Message, origin string) (Message, bool) {
	if !slices.ContainsFunc(m.Reasoning, func(r Reasoning) bool { return r.Origin != origin }) {
		return m, false
	}
	var own []Reasoning
	for _, r := range m.Reasoning {
		if r.Origin == origin {
			own = append(own, r)
		}
	}
	m.Reasoning = own
	m.wire = new(wireCache)
	return m, true
}

// messageBytes is about what a message takes on the wire.
func messageBytes(m Message) int {
	n := 32 + len(m.Content) + len(m.ToolCallID)
	for _, c := range m.ToolCalls {
		n += 64 + len(c.ID) + len(c.Name) + len(c.Args)
	}
	for _, r := range m.Reasoning {
		n += max(len(r.Raw), len(r.Text))
	}
	return n + len(m.Attachments)*imageBytes
}

// imageBytes stands for the 1,500 tokens that a picture of usual size costs,
// whatever its file takes.
const imageBytes = 1500 * bytesPerToken
