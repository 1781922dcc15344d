package openai

import (
	"encoding/json"

	"clm/llm"
	"clm/llm/internal/jsonscan"
	"clm/llm/internal/wire"
)

// reasoning collects what a model thought, under each name that servers have
// for it. Several may carry the same text at once: people see the first.
type reasoning struct {
	fields    []*field // of plain text, in order of appearance
	details   []*detail
	ofDetails wire.Thought  // their texts in a row, if they are shown
	shown     *wire.Thought // of a field or ofDetails; nil: nothing came yet
}

// ofContent is the field of reasoning that came as a part of the content, which
// is no member to send back.
const ofContent = ""

type field struct {
	name string
	text wire.Thought
}

func (r *reasoning) add(said *wire.Said, name string, value []byte) {
	if name == "reasoning_details" {
		for d := range jsonscan.Elements(value) {
			r.detail(said, d)
		}
		return
	}
	r.plain(said, name, value)
}

func (r *reasoning) plain(said *wire.Said, name string, value []byte) {
	if !jsonscan.IsString(value) || len(value) == 2 {
		return
	}
	var f *field
	for _, have := range r.fields {
		if have.name == name {
			f = have
		}
	}
	if f == nil {
		f = &field{name: name}
		r.fields = append(r.fields, f)
	}
	if r.shows(&f.text) {
		said.Thought(&f.text, value)
	} else {
		f.text.Append(jsonscan.Inner(value))
	}
}

// shows tells whether a text is the one that people see: the first that came.
func (r *reasoning) shows(text *wire.Thought) bool {
	if r.shown == nil {
		r.shown = text
	}
	return r.shown == text
}

// addParts takes a thinking part of a content list: text, or parts of it.
func (r *reasoning) addParts(said *wire.Said, value []byte) {
	for part := range jsonscan.Elements(value) {
		if !jsonscan.IsString(part) {
			part, _ = member(part, "text")
		}
		r.plain(said, ofContent, part)
	}
}

// detail is an element of reasoning_details. Streams cut its text into pieces,
// elements of the same type and index, which are joined again; all else is
// kept as it came.
type detail struct {
	members map[string]json.RawMessage // without the texts
	texts   map[string]*jsonscan.Text  // "text" and "summary", where there are
}

func (r *reasoning) detail(said *wire.Said, b []byte) {
	var members map[string]json.RawMessage
	if json.Unmarshal(b, &members) != nil || members == nil {
		return
	}
	var last *detail
	if n := len(r.details); n > 0 && r.details[n-1].continues(members) {
		last = r.details[n-1]
	} else {
		last = &detail{map[string]json.RawMessage{}, map[string]*jsonscan.Text{}}
		r.details = append(r.details, last)
	}
	for _, name := range [...]string{"summary", "text"} {
		value := members[name]
		if !jsonscan.IsString(value) {
			continue
		}
		delete(members, name)
		if last.texts[name] == nil {
			last.texts[name] = new(jsonscan.Text)
		}
		last.texts[name].Append(jsonscan.Inner(value))
		if len(value) > 2 && r.shows(&r.ofDetails) {
			said.Thought(&r.ofDetails, value)
		}
	}
	for name, value := range members {
		if last.members[name] == nil || !jsonscan.IsNull(value) {
			last.members[name] = value
		}
	}
}

// continues tells whether an element is a further piece of d: one that came
// after d was signed is not.
func (d *detail) continues(piece map[string]json.RawMessage) bool {
	kind := textOf(piece["type"])
	return (kind == "reasoning.text" || kind == "reasoning.summary") &&
		kind == textOf(d.members["type"]) && string(piece["index"]) == string(d.members["index"]) &&
		textOf(d.members["signature"]) == ""
}

func (d *detail) raw() map[string]json.RawMessage {
	for name, text := range d.texts {
		d.members[name] = jsonscan.AppendString(nil, text.String())
	}
	return d.members
}

func textOf(b []byte) string {
	if !jsonscan.IsString(b) {
		return ""
	}
	return jsonscan.String(b)
}

// block is all of it as one block, whose Raw is an object of the members as
// the server sends and takes them, nil when there is none.
func (r *reasoning) block(origin string) (llm.Reasoning, bool) {
	if len(r.fields) == 0 && len(r.details) == 0 {
		return llm.Reasoning{}, false
	}
	raw := []byte{'{'}
	for _, f := range r.fields {
		if f.name == ofContent {
			continue
		}
		if len(raw) > 1 {
			raw = append(raw, ',')
		}
		raw = append(jsonscan.AppendString(raw, f.name), ':')
		raw = jsonscan.AppendString(raw, f.text.String())
	}
	if len(r.details) > 0 {
		if len(raw) > 1 {
			raw = append(raw, ',')
		}
		raw = append(raw, `"reasoning_details":`...)
		var list []map[string]json.RawMessage
		for _, d := range r.details {
			list = append(list, d.raw())
		}
		data, err := json.Marshal(list)
		if err != nil {
			data = []byte("[]") // cannot be: all of it was decoded from JSON
		}
		raw = append(raw, data...)
	}
	text := ""
	if r.shown != nil {
		text = r.shown.String()
	}
	if raw = append(raw, '}'); len(raw) == 2 {
		raw = nil
	}
	return llm.Reasoning{Origin: origin, Text: text, Raw: raw}, true
}
