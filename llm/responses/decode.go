package responses

import (
	"io"
	"strings"

	"clm/llm"
	"clm/llm/internal/jsonscan"
	"clm/llm/internal/sse"
	"clm/llm/internal/wire"
)

// decoder takes an answer apart, as it comes.
type decoder struct {
	resp   *wire.Response
	said   wire.Said
	origin string // of its reasoning

	items  []*item
	over   bool   // there were more than maxItems
	spoke  *item  // the last that text was shown of
	status string // how the answer ended; empty while it has not
	reason string // why it is incomplete
	usage  llm.Usage
	model  string
}

func newDecoder(resp *wire.Response, emit func(llm.Delta), origin string) *decoder {
	return &decoder{resp: resp, said: wire.NewSaid(emit), origin: origin}
}

// State implements [wire.Decoder].
func (d *decoder) State() (whole, ended bool) { return d.status != "", d.status != "" }

// event is what the members of an event's data may hold.
type event struct {
	kind    string
	index   int64
	indexed bool
	itemID  []byte
	part    int64 // summary_index or content_index

	delta, item, response, text, err []byte
}

// Event implements [wire.Decoder].
func (d *decoder) Event(ev sse.Event) error {
	data, err := d.resp.Object(ev)
	if data == nil {
		return err
	}
	e := parseEvent(data)
	if e.kind == "" {
		e.kind = string(ev.Name)
	}
	if e.kind == "error" || !jsonscan.IsNull(e.err) {
		return d.resp.Reported(data)
	}
	if err := d.take(e); err != nil {
		return err
	}
	return d.bounded()
}

func (d *decoder) bounded() error {
	if d.over {
		return d.resp.Failf(llm.ErrProtocol, "the answer holds more than %d items", maxItems)
	}
	return nil
}

func parseEvent(data []byte) event {
	var e event
	for name, value := range jsonscan.Members(data) {
		switch string(name) {
		case "type":
			e.kind = eventType(value)
		case "output_index":
			e.index, e.indexed = jsonscan.Count(value), !jsonscan.IsNull(value)
		case "item_id":
			if jsonscan.IsString(value) && len(value) > 2 {
				e.itemID = jsonscan.Inner(value)
			}
		case "summary_index", "content_index":
			e.part = jsonscan.Count(value)
		case "delta":
			e.delta = value
		case "item":
			e.item = value
		case "response":
			e.response = value
		case "text", "arguments", "refusal":
			e.text = value
		case "error":
			e.err = value
		}
	}
	return e
}

// eventType avoids an allocation for the events that come by the hundred.
func eventType(value []byte) string {
	switch string(value) {
	case `"response.output_text.delta"`:
		return "response.output_text.delta"
	case `"response.function_call_arguments.delta"`:
		return "response.function_call_arguments.delta"
	case `"response.reasoning_summary_text.delta"`:
		return "response.reasoning_summary_text.delta"
	}
	return jsonscan.String(value)
}

func (d *decoder) take(e event) error {
	if strings.HasPrefix(e.kind, "response.") {
		d.resp.Progress()
	}
	switch e.kind {
	case "response.output_item.added":
		d.begin(d.find(e, ""), e.item)
	case "response.output_item.done":
		d.finish(d.find(e, ""), e.item)
	case "response.output_text.delta", "response.refusal.delta":
		if it := d.find(e, "message"); !it.done {
			d.addText(it, e.delta)
		}
	case "response.reasoning_summary_text.delta", "response.reasoning_text.delta", "response.reasoning_summary.delta":
		if it := d.find(e, "reasoning"); !it.done {
			d.addThought(it, e.part, e.delta)
		}
	case "response.function_call_arguments.delta":
		d.find(e, "function_call").add(e.delta)
	case "response.function_call_arguments.done":
		d.find(e, "function_call").setArgs(e.text)
	case "response.completed", "response.done", "response.incomplete", "response.failed", "response.cancelled":
		return d.end(e)
	}
	return nil
}

// end takes the event that ends an answer; it repeats all of it.
func (d *decoder) end(e event) error {
	fallback := e.kind[len("response."):]
	if fallback == "done" {
		fallback = "completed"
	}
	return d.answer(e.response, fallback)
}

// Whole implements [wire.Decoder].
func (d *decoder) Whole(body []byte) error {
	if inner := jsonscan.Member(body, "response"); !jsonscan.IsNull(inner) && jsonscan.Member(body, "output") == nil {
		body = inner
	}
	status := ""
	if jsonscan.Member(body, "output") != nil {
		status = "completed"
	}
	if err := d.answer(body, status); err != nil {
		return err
	}
	return d.bounded()
}

// answer takes a response object: its status, with a fallback for a server
// that leaves it out, and what of its output had not come before.
func (d *decoder) answer(b []byte, status string) error {
	var failure, output, details []byte
	for name, value := range jsonscan.Members(b) {
		switch string(name) {
		case "status":
			if s := jsonscan.String(value); s != "" {
				status = s
			}
		case "error":
			failure = value
		case "output":
			output = value
		case "incomplete_details":
			details = value
		case "usage":
			d.takeUsage(value)
		case "model":
			d.model = jsonscan.String(value)
		}
	}
	if err, ok := d.resp.Fault(failure); ok {
		return err
	}
	switch status {
	case "completed", "incomplete":
	case "":
		if err, ok := d.resp.Fault(b); ok {
			return err
		}
		return nil // no answer: response says so
	default:
		return d.resp.Failf(llm.ErrOverloaded, "the server stopped the answer: status %q", status)
	}
	index := int64(0)
	for value := range jsonscan.Elements(output) {
		if it := d.find(event{index: index, indexed: true}, ""); !it.done {
			d.finish(it, value)
		}
		index++
	}
	d.status, d.reason = status, jsonscan.String(jsonscan.Member(details, "reason"))
	return nil
}

func (d *decoder) takeUsage(b []byte) {
	for name, value := range jsonscan.Members(b) {
		switch string(name) {
		case "input_tokens":
			d.usage.Input = jsonscan.Count(value)
		case "output_tokens":
			d.usage.Output = jsonscan.Count(value)
		case "input_tokens_details":
			d.usage.CacheRead = jsonscan.Count(jsonscan.Member(value, "cached_tokens"))
		case "output_tokens_details":
			d.usage.Reasoning = jsonscan.Count(jsonscan.Member(value, "reasoning_tokens"))
		}
	}
}

// Response implements [wire.Decoder].
func (d *decoder) Response() (*llm.Response, error) {
	switch {
	case d.status == "" && len(d.items) == 0:
		return nil, d.resp.Failf(llm.ErrProtocol, "the answer holds no message")
	case d.status == "":
		return nil, d.resp.Failf(llm.ErrProtocol, "the answer ended early, without response.completed: %w", io.ErrUnexpectedEOF)
	}
	m := llm.Message{Role: llm.RoleAssistant, Content: d.said.Content()}
	cut := d.status == "incomplete"
	for _, it := range d.items {
		it.addTo(&m, d.origin)
		cut = cut || it.kind == "function_call" && it.status == "incomplete"
	}
	finish := llm.FinishStop
	switch {
	case cut && d.reason == "content_filter":
		finish = llm.FinishFilter
		m.ToolCalls = nil // nobody knows what was taken out of them
	case cut:
		finish = llm.FinishLength
	case len(m.ToolCalls) > 0:
		finish = llm.FinishToolCalls
	}
	return &llm.Response{Message: m, Finish: finish, Usage: d.usage, Model: d.model}, nil
}
