package openai

import (
	"encoding/json"
	"strings"

	"clm/llm"
	"clm/llm/internal/jsonscan"
)

// reasoning collects what a model thought, under each name that servers have
// for it. Several may carry the same text at once: people see the first.
type reasoning struct {
	fields  []*field // of plain text, in order of appearance
	details []*detail
	shows   bool   // shown is known
	shown   string // the member whose text is shown
	pending string // to be shown
}

// ofContent is the field of reasoning that came as a part of the content, which
// is no member to send back.
const ofContent = ""

type field struct {
	name string
	text jsonscan.Text
}

func (r *reasoning) add(name string, value []byte) {
	if name == "reasoning_details" {
		for d := range jsonscan.Elements(value) {
			r.detail(d)
		}
		return
	}
	if !jsonscan.IsString(value) || len(value) == 2 {
		return
	}
	r.plain(name, jsonscan.Inner(value))
}

func (r *reasoning) plain(name string, inner []byte) {
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
	r.show(name, f.text.Append(inner))
}

// show queues text, if it is of the member that is shown. Plain text is
// preferred to details, which repeat it.
func (r *reasoning) show(name, text string) {
	if text == "" {
		return
	}
	if !r.shows {
		r.shows, r.shown = true, name
	}
	if r.shown == name {
		r.pending += text
	}
}

// settle returns what is new to be shown.
func (r *reasoning) settle() string {
	s := r.pending
	r.pending = ""
	return s
}

// addParts takes a thinking part of a content list: text, or parts of it.
func (r *reasoning) addParts(value []byte) {
	for part := range jsonscan.Elements(value) {
		if !jsonscan.IsString(part) {
			part, _ = member(part, "text")
		}
		if jsonscan.IsString(part) {
			r.plain(ofContent, jsonscan.Inner(part))
		}
	}
}

// detail is an element of reasoning_details. Streams cut its text into pieces,
// elements of the same type and index, which are joined again; all else is
// kept as it came.
type detail struct {
	members map[string]json.RawMessage // without the texts
	texts   map[string]*jsonscan.Text  // "text" and "summary", where there are
}

func (r *reasoning) detail(b []byte) {
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
	for name, value := range members {
		switch {
		case (name == "text" || name == "summary") && jsonscan.IsString(value):
			if last.texts[name] == nil {
				last.texts[name] = new(jsonscan.Text)
			}
			r.show("reasoning_details", last.texts[name].Append(jsonscan.Inner(value)))
		case last.members[name] == nil || !jsonscan.IsNull(value):
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
	text := ""
	for _, f := range r.fields {
		s := f.text.String()
		if f.name == r.shown {
			text = s
		}
		if f.name == ofContent {
			continue
		}
		if len(raw) > 1 {
			raw = append(raw, ',')
		}
		raw = append(jsonscan.AppendString(raw, f.name), ':')
		raw = jsonscan.AppendString(raw, s)
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
	if text == "" {
		text = r.detailText()
	}
	if raw = append(raw, '}'); len(raw) == 2 {
		raw = nil
	}
	return llm.Reasoning{Origin: origin, Text: text, Raw: raw}, true
}

func (r *reasoning) detailText() string {
	var b strings.Builder
	for _, d := range r.details {
		for _, name := range [...]string{"summary", "text"} {
			if d.texts[name] != nil {
				b.WriteString(d.texts[name].String())
			}
		}
	}
	return b.String()
}
