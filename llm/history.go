package llm

import "slices"

// History is a conversation, held so that it can go to a model at any time.
//
// The rules are kept while messages are appended, not when a request is made:
//
//   - every call has exactly one result, directly after the message that made
//     it, in the order of the calls; what comes in between (a user's message)
//     moves behind them, a second result or one without a call is dropped;
//   - call ids are unique in the conversation; an empty or repeated one is
//     replaced, in the call and in its result;
//   - no message is empty: blank user messages and assistant messages with
//     neither text nor calls are dropped, an empty result gets a text;
//   - all text is [Clean].
//
// What a request was given once stays as it was, byte for byte, for all later
// requests, but for results that [History.Supersede] replaced and for a
// conversation that was compacted.
//
// A History belongs to one goroutine. The slices and messages that it gives
// out are never changed and may go to others.
type History struct {
	msgs  []Message // settled, in wire order
	calls []openCall
	open  int       // calls[:open] all have results
	held  []Message // arrived while calls were open

	ids    map[string]struct{} // ids of all calls
	shared bool                // msgs or own was given out

	origin string    // what own was made for
	own    []Message // msgs without foreign reasoning; nil while they are the same
	seen   int       // msgs[:seen] were looked at for origin

	bytes     int
	marked    int // bytes up to the last assistant message
	usage     Usage
	usedBytes int // bytes that usage counted
}

// openCall is a call of the last assistant message. While one of them has no
// result, the results that came wait here.
type openCall struct {
	given    string // the id as the model gave it
	id, name string
	answered bool
	result   Message
}

// NewHistory makes a conversation of messages, for example those of a stored
// session. Calls at the end that have no result stay open, see
// [History.CloseOpen].
func NewHistory(msgs []Message) *History {
	h := &History{msgs: make([]Message, 0, len(msgs))}
	h.Append(msgs...)
	return h
}

// Append adds messages, repaired as [History] says. A result is matched with
// its call by the id that the call has in the history or by the one that it
// came with. It returns what was kept, in the order of arrival: a log of these
// makes the same history again.
func (h *History) Append(msgs ...Message) []Message {
	added := make([]Message, 0, len(msgs))
	for _, m := range msgs {
		switch m.Role {
		case RoleUser:
			added = h.appendUser(added, m)
		case RoleAssistant:
			added = append(added, h.settle(cancelledText)...)
			added = h.appendAssistant(added, m)
		case RoleTool:
			added = h.appendResult(added, m)
		}
	}
	return added
}

// Len is the number of messages.
func (h *History) Len() int {
	n := len(h.msgs) + len(h.held)
	for i := range h.calls {
		if h.calls[i].answered {
			n++
		}
	}
	return n
}

// Messages returns the conversation as it is now.
func (h *History) Messages() []Message {
	h.shared = true
	if len(h.calls) == 0 {
		return slices.Clip(h.msgs)
	}
	out := make([]Message, 0, h.Len())
	out = append(out, h.msgs...)
	for i := range h.calls {
		if h.calls[i].answered {
			out = append(out, h.calls[i].result)
		}
	}
	return append(out, h.held...)
}

// Clear forgets all messages.
func (h *History) Clear() {
	// What the last usage counted stays known: it tells how much the system
	// prompt and the tools weigh, and must not be taken for the size of what
	// comes next.
	*h = History{usage: h.usage, usedBytes: h.usedBytes}
}

// Request returns the messages that go to the model of an origin ("dialect/model",
// see [Reasoning]): the conversation without the reasoning blocks of others.
// Calls that are still open are closed as cancelled, for good: what a model was
// told is not changed later.
func (h *History) Request(origin string) []Message {
	h.settle(cancelledText)
	if h.origin != origin {
		h.origin, h.own, h.seen = origin, nil, 0
	}
	for ; h.seen < len(h.msgs); h.seen++ {
		m := h.msgs[h.seen]
		kept, foreign := ownReasoning(m, origin)
		if foreign && h.own == nil {
			h.own = slices.Clone(h.msgs[:h.seen])
		}
		if h.own != nil {
			h.own = append(h.own, kept)
		}
	}
	h.shared = true
	if h.own != nil {
		return slices.Clip(h.own)
	}
	return slices.Clip(h.msgs)
}

const cancelledText = "cancelled"

// CloseOpen gives each call that has no result one with this text, marked as
// failed, and returns what it added, in the order of the calls.
func (h *History) CloseOpen(text string) []Message { return h.settle(text) }

// Supersede is called when a batch of tool calls has its results. For each
// tool in the last batch that volatile matches, its results in earlier batches
// become "[superseded by newer NAME]".
func (h *History) Supersede(volatile func(toolName string) bool) {
	first := len(h.msgs)
	for first > 0 && h.msgs[first-1].Role == RoleUser {
		first--
	}
	last := first
	for first > 0 && h.msgs[first-1].Role == RoleTool {
		first--
	}
	done := map[string]bool{}
	for i := first; i < last; i++ {
		if name := h.msgs[i].ToolName; !done[name] && volatile(name) {
			done[name] = true
			h.supersede(name, first)
		}
	}
}

// supersede replaces the results of a tool before a place.
func (h *History) supersede(tool string, before int) {
	stub := "[superseded by newer " + tool + "]"
	for i := range before {
		if m := &h.msgs[i]; m.Role == RoleTool && m.ToolName == tool && m.Content != stub {
			h.replace(i, Message{Role: RoleTool, Content: stub, ToolCallID: m.ToolCallID, ToolName: tool, wire: new(wireCache)})
		}
	}
}

// replace puts a message in the place of another, in copies where the old
// slices were given out.
func (h *History) replace(i int, m Message) {
	if h.shared {
		h.msgs = roomyClone(h.msgs)
		if h.own != nil {
			h.own = roomyClone(h.own)
		}
		h.shared = false
	}
	h.bytes += messageBytes(m) - messageBytes(h.msgs[i])
	h.msgs[i] = m
	if i < len(h.own) {
		h.own[i] = m
	}
}

// roomyClone copies with room for the next batch, which would copy all once
// more.
func roomyClone(msgs []Message) []Message {
	return append(make([]Message, 0, len(msgs)+16), msgs...)
}

// Bytes is about what the conversation takes on the wire. An image counts as
// much as the tokens that models charge for one.
func (h *History) Bytes() int { return h.bytes }

// Observe takes in what the server reported of the request whose answer was
// appended last: it counts everything up to that answer, the system prompt and
// the tools too. A report of nothing is none.
func (h *History) Observe(u Usage) {
	if u.Total() > 0 {
		h.usage, h.usedBytes = u, h.marked
	}
}

// EstimateTokens tells how many tokens the next request will take: what the
// server reported last, and 4 bytes a token for what was added since. Where it
// reported nothing, all is estimated; fixed is the size of what goes with each
// request, the system prompt and the tools, in bytes.
func (h *History) EstimateTokens(fixed int) int64 {
	guess := int64((h.bytes + fixed) / bytesPerToken)
	if h.usage.Total() == 0 {
		return guess
	}
	since := int64((h.bytes - h.usedBytes) / bytesPerToken)
	if since < 0 { // the conversation was shortened
		return max(guess, h.usage.Total()+since)
	}
	return h.usage.Total() + since
}

const bytesPerToken = 4
