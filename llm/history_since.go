package llm

// Since returns the messages from the nth on, in the order of
// [History.Messages], without copying those before.
func (h *History) Since(n int) []Message {
	if len(h.calls) == 0 {
		return h.Messages()[min(n, len(h.msgs)):]
	}
	var out []Message
	if n < len(h.msgs) {
		out = append(out, h.msgs[n:]...)
	}
	skip := max(n-len(h.msgs), 0)
	var rest []Message
	for i := range h.calls {
		if h.calls[i].answered {
			rest = append(rest, h.calls[i].result)
		}
	}
	rest = append(rest, h.held...)
	return append(out, rest[min(skip, len(rest)):]...)
}
