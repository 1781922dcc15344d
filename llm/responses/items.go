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

	text     jsonscan.Text // of a message, a call's arguments, or reasoning as it is shown
	args     string        // as the server repeated them
	part     int64         // of reasoning: the last part that text came of
	callID   string
	name     string
	raw      []byte // as it came at its end, for the kinds that are kept whole
	announce bool   // people know about the call
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
	if it.kind == "function_call" && it.name != "" && !it.announce {
		it.announce = true
		d.emit(llm.Delta{Kind: llm.DeltaToolCall, Text: it.name})
	}
}

// finish takes the whole item. What had not come in pieces is shown now.
func (d *decoder) finish(it *item, data []byte) {
	if it.done && it.text.Len() > 0 && jsonscan.String(jsonscan.Member(data, "type")) != it.kind {
		return // what was shown of an item does not become another one
	}
	d.begin(it, data)
	it.done = true
	switch it.kind {
	case "message":
		if it.text.Len() == 0 {
			for part := range jsonscan.Elements(jsonscan.Member(data, "content")) {
				d.addText(it, textOf(part))
			}
		}
	case "function_call":
		it.setArgs(jsonscan.Member(data, "arguments"))
	case "reasoning":
		it.keep(data)
		if it.text.Len() == 0 {
			d.thoughts(it, jsonscan.Member(data, "summary"))
		}
		if it.text.Len() == 0 {
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

const paragraph = "\n\n"

// addText adds to a message. Each message after the first is a paragraph.
func (d *decoder) addText(it *item, value []byte) {
	if !jsonscan.IsString(value) || len(value) == 2 {
		return
	}
	if d.spoke != it {
		if d.spoke != nil {
			it.text.AppendRaw([]byte(paragraph))
			d.emit(llm.Delta{Kind: llm.DeltaText, Text: paragraph})
		}
		d.spoke = it
	}
	if s := it.text.Append(jsonscan.Inner(value)); s != "" {
		d.emit(llm.Delta{Kind: llm.DeltaText, Text: s})
	}
}

// addThought adds to an item of reasoning, whose parts are paragraphs.
func (d *decoder) addThought(it *item, part int64, value []byte) {
	if !jsonscan.IsString(value) || len(value) == 2 {
		return
	}
	if part != it.part && it.text.Len() > 0 {
		it.text.AppendRaw([]byte(paragraph))
		d.emit(llm.Delta{Kind: llm.DeltaReasoning, Text: paragraph})
	}
	it.part = part
	if s := it.text.Append(jsonscan.Inner(value)); s != "" {
		d.emit(llm.Delta{Kind: llm.DeltaReasoning, Text: s})
	}
}

// add adds to a call's arguments.
func (it *item) add(value []byte) {
	if jsonscan.IsString(value) {
		it.text.Append(jsonscan.Inner(value))
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

// addTo adds the finished item to the message, or to its text.
func (it *item) addTo(m *llm.Message, content *strings.Builder, origin string) {
	switch it.kind {
	case "message":
		content.WriteString(it.text.String())
	case "function_call":
		m.ToolCalls = append(m.ToolCalls, it.call(m.ToolCalls))
	default:
		if text := it.text.String(); text != "" || it.raw != nil {
			m.Reasoning = append(m.Reasoning, llm.Reasoning{Origin: origin, Text: text, Raw: it.raw})
		}
	}
}

// call is the item as a call, with an id that none of the message's calls has.
func (it *item) call(others []llm.ToolCall) llm.ToolCall {
	args := strings.TrimSpace(it.args)
	if args == "" {
		args = strings.TrimSpace(it.text.String())
	}
	if args == "" || args == "null" {
		args = "{}"
	}
	return llm.ToolCall{ID: wire.FreeID(it.callID, others), Name: it.name, Args: args}
}
