package responses

import (
	"bytes"
	"encoding/json"
	"strings"

	"clm/llm"
	"clm/llm/internal/jsonscan"
	"clm/llm/internal/wire"
)

// item is an output item of an answer.
type item struct {
	index  int64
	id     string // of the item, not of the call
	kind   string
	status string
	done   bool

	spoke   bool // text came of it
	thought wire.Thought
	part    int64 // of reasoning: the last part that text came of
	callID  string
	name    string
	shown   bool          // people know about the call
	pieces  jsonscan.Text // of a call's arguments
	args    string        // as the server repeated them
	raw     []byte        // as it came at its end, for the kinds that are kept whole
}

// maxItems bounds the output items of one answer.
const maxItems = 2000

// find returns the item that an event is about, opening one of this kind where
// its beginning was lost. An event that does not say which is about the last.
func (d *decoder) find(e event, kind string) *item {
	for i := len(d.items) - 1; i >= 0; i-- {
		it := d.items[i]
		switch {
		case e.indexed:
			if it.index == e.index {
				return it
			}
		case len(e.itemID) > 0:
			if it.id == string(e.itemID) {
				return it
			}
		case kind != "" && (it.kind == kind || it.kind == ""):
			return it
		}
	}
	it := &item{index: e.index, id: string(e.itemID), kind: kind}
	if !e.indexed {
		it.index = int64(len(d.items))
	}
	if len(d.items) == maxItems {
		d.over = true
		return it // goes nowhere
	}
	d.items = append(d.items, it)
	return it
}

// begin takes the item that an output_item.added has.
func (d *decoder) begin(it *item, data []byte) {
	for name, value := range jsonscan.Members(data) {
		switch string(name) {
		case "type":
			it.kind = jsonscan.String(value)
		case "id":
			it.id = jsonscan.String(value)
		case "call_id":
			it.callID = strings.TrimSpace(jsonscan.String(value))
		case "name":
			it.name = strings.TrimSpace(jsonscan.String(value))
		case "status":
			it.status = jsonscan.String(value)
		}
	}
	if it.kind == "function_call" && it.name != "" && !it.shown {
		it.shown = true
		d.said.Call(it.name)
	}
}

// finish takes the whole item. What had not come in pieces is shown now.
func (d *decoder) finish(it *item, data []byte) {
	d.begin(it, data)
	it.done = true
	switch it.kind {
	case "message":
		if !it.spoke {
			for part := range jsonscan.Elements(jsonscan.Member(data, "content")) {
				d.addText(it, textOf(part))
			}
		}
	case "function_call":
		it.setArgs(jsonscan.Member(data, "arguments"))
	case "reasoning":
		it.keep(data)
		if it.thought.Len() == 0 {
			d.thoughts(it, jsonscan.Member(data, "summary"))
		}
		if it.thought.Len() == 0 {
			d.thoughts(it, jsonscan.Member(data, "content"))
		}
	default:
		it.keep(data)
	}
}

// textOf is the text or refusal of a content part, which may be the text alone.
func textOf(part []byte) []byte {
	if jsonscan.IsString(part) {
		return part
	}
	if text := jsonscan.Member(part, "text"); text != nil {
		return text
	}
	return jsonscan.Member(part, "refusal")
}

func (d *decoder) thoughts(it *item, parts []byte) {
	n := int64(0)
	for part := range jsonscan.Elements(parts) {
		d.addThought(it, n, textOf(part))
		n++
	}
}

// addText adds to a message. Each message after the first is a paragraph.
func (d *decoder) addText(it *item, value []byte) {
	if !jsonscan.IsString(value) || len(value) == 2 {
		return
	}
	if d.spoke != nil && d.spoke != it {
		d.said.Paragraph()
	}
	d.spoke, it.spoke = it, true
	d.said.Text(value)
}

// addThought adds to an item of reasoning, whose parts are paragraphs.
func (d *decoder) addThought(it *item, part int64, value []byte) {
	if !jsonscan.IsString(value) || len(value) == 2 {
		return
	}
	if part != it.part && it.thought.Len() > 0 {
		d.said.ThoughtParagraph(&it.thought)
	}
	it.part = part
	d.said.Thought(&it.thought, value)
}

// add adds to a call's arguments.
func (it *item) add(value []byte) {
	if jsonscan.IsString(value) {
		it.pieces.Append(jsonscan.Inner(value))
	}
}

// setArgs takes the arguments where the server has them whole: as a string, or
// as the object that it stands for.
func (it *item) setArgs(value []byte) {
	switch {
	case jsonscan.IsString(value):
		if s := jsonscan.String(value); s != "" {
			it.args = s
		}
	case !jsonscan.IsNull(value):
		it.args = string(value)
	}
}

// keep holds a copy of an item, in one line.
func (it *item) keep(data []byte) {
	var compact bytes.Buffer
	if len(data) > 0 && data[0] == '{' && json.Compact(&compact, data) == nil {
		it.raw = compact.Bytes()
	}
}

// addTo adds the finished item to the message, but for its text, which is
// there.
func (it *item) addTo(m *llm.Message, origin string) {
	if text := it.thought.String(); text != "" || it.raw != nil {
		m.Reasoning = append(m.Reasoning, llm.Reasoning{Origin: origin, Text: text, Raw: it.raw})
	}
	if it.kind == "function_call" {
		m.ToolCalls = append(m.ToolCalls, it.call(m.ToolCalls))
	}
}

// call is the item as a call, with an id that none of the message's calls has.
func (it *item) call(others []llm.ToolCall) llm.ToolCall {
	return llm.ToolCall{ID: wire.FreeID(it.callID, others), Name: it.name, Args: wire.Args(it.args, it.pieces.String())}
}
