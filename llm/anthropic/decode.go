package anthropic

import (
	"io"
	"time"

	"clm/llm"
	"clm/llm/internal/jsonscan"
	"clm/llm/internal/sse"
	"clm/llm/internal/wire"
)

// tailWait is how long a server may be silent, or ping, between the reason to
// stop and message_stop, which some gateways never send.
const tailWait = 3 * time.Second

// decoder takes an answer apart, as it comes.
type decoder struct {
	resp   *wire.Response
	said   wire.Said
	origin string // of its reasoning

	blocks []*block
	over   bool // there were more than maxBlocks
	begun  bool // the message was
	whole  bool // the reason to stop has come, after which there is no more of the answer
	ended  bool // message_stop has come, or the answer came in one piece
	stop   string
	usage  usage
	model  string
}

func newDecoder(resp *wire.Response, emit func(llm.Delta), origin string) *decoder {
	return &decoder{resp: resp, said: wire.NewSaid(emit), origin: origin}
}

// State implements [wire.Decoder].
func (d *decoder) State() (whole, ended bool) { return d.whole || d.ended, d.ended }

// Event implements [wire.Decoder].
func (d *decoder) Event(ev sse.Event) error {
	data, err := d.resp.Object(ev)
	if data == nil {
		return err
	}
	var kind string
	var e event
	for name, value := range jsonscan.Members(data) {
		switch string(name) {
		case "type":
			kind = eventType(value)
		case "index":
			e.index, e.indexed = jsonscan.Count(value), !jsonscan.IsNull(value)
		case "delta":
			e.delta = value
		case "content_block":
			e.block = value
		case "message":
			e.message = value
		case "usage":
			e.usage = value
		case "error":
			e.err = value
		}
	}
	if kind == "" {
		kind = string(ev.Name)
	}
	if kind == "error" || !jsonscan.IsNull(e.err) {
		return d.resp.Reported(data)
	}
	d.take(kind, e)
	return d.bounded()
}

func (d *decoder) bounded() error {
	if d.over {
		return d.resp.Failf(llm.ErrProtocol, "the answer holds more than %d blocks", maxBlocks)
	}
	return nil
}

// event is what the members of an event's data may hold.
type event struct {
	index   int64
	indexed bool

	delta, block, message, usage, err []byte
}

// eventType avoids an allocation for the events that come by the hundred.
func eventType(value []byte) string {
	if string(value) == `"content_block_delta"` {
		return "content_block_delta"
	}
	return jsonscan.String(value)
}

func (d *decoder) take(kind string, e event) {
	switch kind {
	case "message_start":
		d.message(e.message)
	case "content_block_start":
		d.start(e.index, e.block)
	case "content_block_delta":
		d.delta(d.find(e), e.delta)
	case "content_block_stop":
	case "message_delta":
		d.usage.take(e.usage)
		if reason := jsonscan.Member(e.delta, "stop_reason"); jsonscan.IsString(reason) && len(reason) > 2 {
			d.stop, d.whole = jsonscan.String(reason), true
			d.resp.Hurry(tailWait)
		}
	case "message_stop":
		d.ended = true
		return
	default: // a ping, or what is not known
		return
	}
	d.begun = true
	d.resp.Progress()
}

// message takes a message object: the empty one that begins a stream, or a
// whole answer.
func (d *decoder) message(b []byte) {
	for name, value := range jsonscan.Members(b) {
		switch string(name) {
		case "content":
			if jsonscan.IsString(value) {
				d.said.Text(value)
				continue
			}
			for block := range jsonscan.Elements(value) {
				d.start(int64(len(d.blocks)), block)
			}
		case "usage":
			d.usage.take(value)
		case "model":
			d.model = jsonscan.String(value)
		case "stop_reason":
			if jsonscan.IsString(value) {
				d.stop = jsonscan.String(value)
			}
		}
	}
}

// Whole implements [wire.Decoder].
func (d *decoder) Whole(body []byte) error {
	if jsonscan.Member(body, "content") == nil {
		if err, ok := d.resp.Fault(body); ok {
			return err
		}
		return nil
	}
	if failure := jsonscan.Member(body, "error"); !jsonscan.IsNull(failure) {
		return d.resp.Reported(body)
	}
	d.begun, d.ended = true, true
	d.message(body)
	return d.bounded()
}

// Response implements [wire.Decoder].
func (d *decoder) Response() (*llm.Response, error) {
	switch {
	case !d.begun:
		return nil, d.resp.Failf(llm.ErrProtocol, "the answer holds no message")
	case !d.ended && !d.whole:
		return nil, d.resp.Failf(llm.ErrProtocol, "the answer ended early, without a reason to stop: %w", io.ErrUnexpectedEOF)
	}
	m := llm.Message{Role: llm.RoleAssistant, Content: d.said.Content()}
	for _, b := range d.blocks {
		b.addTo(&m, d.origin)
	}
	finish := llm.FinishStop
	switch d.stop {
	case "max_tokens", "model_context_window_exceeded":
		finish = llm.FinishLength
		d.dropCutThought(&m)
	case "refusal":
		finish = llm.FinishFilter
		m.ToolCalls = nil // nobody knows what was taken out of them
	default:
		if len(m.ToolCalls) > 0 {
			finish = llm.FinishToolCalls
		}
	}
	return &llm.Response{Message: m, Finish: finish, Usage: d.usage.sum(), Model: d.model}, nil
}

// dropCutThought keeps a thinking block that was cut off from going back: it
// has no signature, and would be refused.
func (d *decoder) dropCutThought(m *llm.Message) {
	if n := len(d.blocks); n > 0 && d.blocks[n-1].kind == "thinking" && d.blocks[n-1].signature.Len() == 0 {
		m.Reasoning[len(m.Reasoning)-1].Raw = nil
	}
}

// usage collects the counts. The server sends some at the beginning and all at
// the end, gateways either; an input of 0 says nothing then. The output counts
// up from 1.
type usage struct {
	input, output, cacheRead, cacheWrite int64
}

func (u *usage) take(b []byte) {
	for name, value := range jsonscan.Members(b) {
		var to *int64
		switch string(name) {
		case "input_tokens":
			to = &u.input
		case "output_tokens":
			if !jsonscan.IsNull(value) {
				u.output = jsonscan.Count(value)
			}
			continue
		case "cache_read_input_tokens":
			to = &u.cacheRead
		case "cache_creation_input_tokens":
			to = &u.cacheWrite
		default:
			continue
		}
		if n := jsonscan.Count(value); n > 0 {
			*to = n
		}
	}
}

// sum is the usage as everywhere here: the input with its cached parts.
func (u *usage) sum() llm.Usage {
	return llm.Usage{
		Input: u.input + u.cacheRead + u.cacheWrite, Output: u.output,
		CacheRead: u.cacheRead, CacheWrite: u.cacheWrite,
	}
}
