package openai

import (
	"bytes"
	"io"
	"time"

	"clm/llm"
	"clm/llm/internal/jsonscan"
	"clm/llm/internal/sse"
	"clm/llm/internal/wire"
)

// tailWait is how long a server may be silent once the answer is complete but
// for what may follow it: usage, and the mark of the stream's end.
const tailWait = 3 * time.Second

// decoder takes an answer apart, as it comes.
type decoder struct {
	resp   *wire.Response
	said   wire.Said
	origin string // of its reasoning

	reasoning reasoning
	calls     calls

	finish   llm.Finish
	finished bool // a finish reason has come
	done     bool // [DONE] has come
	chunks   int  // that held a choice
	usage    llm.Usage
	model    string
	speed    float64
}

func newDecoder(resp *wire.Response, emit func(llm.Delta), origin string) *decoder {
	return &decoder{resp: resp, said: wire.NewSaid(emit), origin: origin}
}

// State implements [wire.Decoder].
func (d *decoder) State() (whole, ended bool) { return d.finished, d.done }

// Event implements [wire.Decoder].
func (d *decoder) Event(ev sse.Event) error {
	data := bytes.TrimSpace(ev.Data)
	if bytes.EqualFold(data, []byte("[DONE]")) {
		d.done = true
		return nil
	}
	isError := string(ev.Name) == "error"
	if !jsonscan.Valid(data) {
		switch {
		case isError:
			return d.resp.Reported(data)
		case len(ev.Name) > 0 && string(ev.Name) != "message":
			return nil // an event of the server's own
		}
		return d.resp.Failf(llm.ErrProtocol, "a chunk of the answer is not JSON: %.60q", data)
	}
	if isError {
		return d.resp.Reported(data)
	}
	return d.object(data, "delta")
}

// Whole implements [wire.Decoder].
func (d *decoder) Whole(body []byte) error {
	if err := d.object(body, "message"); err != nil {
		return err
	}
	d.finished = d.finished || d.chunks > 0
	return nil
}

// object takes a chunk or a whole answer apart. main is the choice's member to
// read first.
func (d *decoder) object(b []byte, main string) error {
	var choices, failure []byte
	known := false
	for name, value := range jsonscan.Members(b) {
		switch string(name) {
		case "choices":
			choices, known = value, true
		case "usage":
			known = true
			d.takeUsage(value)
		case "model":
			if d.model == "" {
				d.model = jsonscan.String(value)
			}
		case "error":
			failure = value
		case "timings":
			d.takeTimings(value)
		case "x_groq":
			if usage, ok := member(value, "usage"); ok {
				d.takeUsage(usage)
			}
			if why, ok := member(value, "error"); ok && jsonscan.IsNull(failure) {
				failure = why
			}
		}
	}
	if !jsonscan.IsNull(failure) {
		if err, ok := d.resp.Fault(failure); ok {
			return err
		}
	}
	if !known {
		// An error without that name, or an object that is none of our business.
		if err, ok := d.resp.Fault(b); ok {
			return err
		}
	}
	for choice := range jsonscan.Elements(choices) {
		if err := d.choice(choice, main); err != nil {
			return err
		}
	}
	return nil
}

// choice takes the answer's only choice. Another one, of an index of its own,
// was not asked for.
func (d *decoder) choice(b []byte, main string) error {
	var delta, message, finish, failure []byte
	for name, value := range jsonscan.Members(b) {
		switch string(name) {
		case "index":
			if n := intOf(value); n > 0 {
				return nil
			}
		case "delta":
			delta = value
		case "message":
			message = value
		case "finish_reason":
			finish = value
		case "error":
			failure = value
		}
	}
	if !jsonscan.IsNull(failure) {
		if err, ok := d.resp.Fault(failure); ok {
			return err
		}
	}
	first, second := delta, message
	whole := main == "message"
	if whole {
		first, second = message, delta
	}
	if jsonscan.IsNull(first) && d.chunks == 0 {
		first, whole = second, true // a stream of one whole message, or a message called delta
	}
	d.chunks++
	d.message(first, whole)
	if d.calls.over {
		return d.resp.Failf(llm.ErrProtocol, "the answer holds more than %d tool calls", maxCalls)
	}
	return d.takeFinish(finish)
}

// message takes a delta, or a whole message.
func (d *decoder) message(b []byte, whole bool) {
	d.calls.lists++
	for name, value := range jsonscan.Members(b) {
		if string(name) != "role" && len(value) > len(`""`) && !jsonscan.IsNull(value) {
			d.resp.Progress()
		}
		switch string(name) {
		case "content", "refusal":
			d.content(value)
		case "reasoning_content", "reasoning", "thinking", "reasoning_details":
			d.reasoning.add(&d.said, string(name), value)
		case "tool_calls":
			for call := range jsonscan.Elements(value) {
				d.call(call, whole)
			}
		case "function_call":
			if !jsonscan.IsNull(value) {
				d.calls.piece(callPiece{function: value}, &d.said)
			}
		}
	}
}

// content takes a string, null, or parts with a text each.
func (d *decoder) content(b []byte) {
	if jsonscan.IsString(b) {
		d.said.Text(b)
		return
	}
	for part := range jsonscan.Elements(b) {
		if jsonscan.IsString(part) {
			d.content(part)
			continue
		}
		for name, value := range jsonscan.Members(part) {
			switch string(name) {
			case "text", "refusal":
				d.said.Text(value)
			case "thinking":
				d.reasoning.addParts(&d.said, value)
			}
		}
	}
}

func (d *decoder) call(b []byte, whole bool) {
	if b[0] != '{' {
		return
	}
	p := callPiece{whole: whole}
	for name, value := range jsonscan.Members(b) {
		switch string(name) {
		case "index":
			p.index, p.indexed = intOf(value), !jsonscan.IsNull(value)
		case "id":
			p.id = value
		case "function":
			p.function = value
		}
	}
	d.calls.piece(p, &d.said)
}

// takeFinish notes why the model stopped. A server that could not go on says
// so here, if it says anything.
func (d *decoder) takeFinish(b []byte) error {
	if jsonscan.IsNull(b) || len(b) == 2 { // null, ""
		return nil
	}
	reason := jsonscan.String(b)
	switch reason {
	case "error", "abort", "aborted", "cancelled", "canceled", "insufficient_system_resource", "network_error":
		return d.resp.Failf(llm.ErrOverloaded, "the server stopped the answer: finish reason %q", reason)
	case "length", "max_tokens", "max_output_tokens", "model_length":
		d.finish = llm.FinishLength
	case "content_filter", "safety", "recitation", "sensitive":
		if d.finish != llm.FinishLength {
			d.finish = llm.FinishFilter
		}
	default:
		if d.finish == "" {
			d.finish = llm.FinishStop
		}
	}
	d.finished = true
	d.resp.Hurry(tailWait)
	return nil
}

// Response implements [wire.Decoder].
func (d *decoder) Response() (*llm.Response, error) {
	switch {
	case d.chunks == 0 && (d.done || d.finished || !d.resp.Stream):
		return nil, d.resp.Failf(llm.ErrProtocol, "the answer holds no message")
	case !d.finished && d.calls.half(): // [DONE] alone does not tell that the last call is whole
		return nil, d.resp.Failf(llm.ErrProtocol, "the answer ended early, within a tool call: %w", io.ErrUnexpectedEOF)
	case !d.finished && !d.done:
		return nil, d.resp.Failf(llm.ErrProtocol, "the answer ended early, without a finish mark: %w", io.ErrUnexpectedEOF)
	}
	m := llm.Message{Role: llm.RoleAssistant, Content: d.said.Content()}
	if block, ok := d.reasoning.block(d.origin); ok {
		m.Reasoning = []llm.Reasoning{block}
	}
	m.ToolCalls = d.calls.list()
	finish := d.finish
	switch {
	case finish == llm.FinishFilter:
		m.ToolCalls = nil // nobody knows what was taken out of them
	case len(m.ToolCalls) > 0 && finish != llm.FinishLength:
		finish = llm.FinishToolCalls
	case finish == "":
		finish = llm.FinishStop
	}
	return &llm.Response{Message: m, Finish: finish, Usage: d.usage, Model: d.model, TokensPerSecond: d.speed}, nil
}
