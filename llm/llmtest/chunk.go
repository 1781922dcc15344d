package llmtest

import "encoding/json"

// delta is one step of an answer in the OpenAI dialect.
type delta struct {
	member, text string // content or reasoning_content; text alone is a call's arguments

	call     bool
	begin    bool // of a call
	index    int
	id, name string

	usage   bool
	in, out int

	err, finish string
}

type object = map[string]any

// event is a delta as an event of a stream.
func (d delta) event() []byte {
	b, err := json.Marshal(d.chunk())
	if err != nil {
		panic(err) // strings and numbers only
	}
	return append(append([]byte("data: "), b...), "\n\n"...)
}

func (d delta) chunk() object {
	if d.err != "" {
		return object{"error": object{"message": d.err, "type": "server_error", "code": 500}}
	}
	c := object{"id": "chatcmpl-1", "object": "chat.completion.chunk", "model": "mock"}
	if d.usage {
		c["choices"] = []any{}
		c["usage"] = usage(d.in, d.out)
		return c
	}
	body := object{}
	var finish any
	switch {
	case d.finish != "":
		finish = d.finish
	case d.begin:
		body["tool_calls"] = []any{object{
			"index": d.index, "id": d.id, "type": "function",
			"function": object{"name": d.name, "arguments": ""},
		}}
	case d.call:
		body["tool_calls"] = []any{object{"index": d.index, "function": object{"arguments": d.text}}}
	default:
		body[d.member] = d.text
	}
	c["choices"] = []any{object{"index": 0, "delta": body, "finish_reason": finish}}
	return c
}

func usage(in, out int) object {
	return object{"prompt_tokens": in, "completion_tokens": out, "total_tokens": in + out}
}

// wholeAnswer is an answer in one piece.
type wholeAnswer struct {
	texts   map[string]string
	calls   []delta // text: the arguments so far
	usage   object
	err     string
	finish  any
	hasCall map[int]int // index to place in calls
}

func (a *wholeAnswer) add(d delta) {
	switch {
	case d.err != "":
		a.err = d.err
	case d.usage:
		a.usage = usage(d.in, d.out)
	case d.finish != "":
		a.finish = d.finish
	case d.begin:
		if a.hasCall == nil {
			a.hasCall = make(map[int]int)
		}
		a.hasCall[d.index] = len(a.calls)
		a.calls = append(a.calls, d)
	case d.call:
		a.calls[a.hasCall[d.index]].text += d.text
	default:
		if a.texts == nil {
			a.texts = make(map[string]string)
		}
		a.texts[d.member] += d.text
	}
}

func (a *wholeAnswer) json() []byte {
	answer := object{"id": "chatcmpl-1", "object": "chat.completion", "model": "mock"}
	message := object{"role": "assistant", "content": nil}
	for member, text := range a.texts {
		message[member] = text
	}
	var calls []any
	for _, c := range a.calls {
		calls = append(calls, object{"id": c.id, "type": "function", "function": object{"name": c.name, "arguments": c.text}})
	}
	if calls != nil {
		message["tool_calls"] = calls
	}
	answer["choices"] = []any{object{"index": 0, "message": message, "finish_reason": a.finish}}
	if a.usage != nil {
		answer["usage"] = a.usage
	}
	if a.err != "" {
		answer = object{"error": object{"message": a.err, "type": "server_error", "code": 500}}
	}
	b, err := json.Marshal(answer)
	if err != nil {
		panic(err) // strings and numbers only
	}
	return b
}
