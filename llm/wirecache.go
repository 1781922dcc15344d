package llm

import (
	"sync/atomic"
	"unsafe"
)

// wireCache holds a message as a dialect put it on the wire, so that a long
// conversation costs each request only the messages that it added. One entry
// is enough: a conversation changes its dialect rarely, and two agents that
// share messages share a connection too.
//
// The pointer is atomic because messages are shared by value: a history, the
// request that a client encodes on another goroutine, and snapshots all reach
// the same cache. Two clients at once may encode twice; both results are equal.
type wireCache struct {
	entry atomic.Pointer[wireEntry]
}

type wireEntry struct {
	dialect string
	of      Message // what data was made of, without its cache
	data    []byte
}

// Wire returns the message as encode makes it, from the cache when the message
// was encoded for this dialect before. dialect must name everything besides the
// message that encode depends on. The result is shared: it must not be changed.
// Messages that no [History] made have no cache and are encoded each time.
func (m *Message) Wire(dialect string, encode func() []byte) []byte {
	if m.wire == nil {
		return encode()
	}
	if e := m.wire.entry.Load(); e != nil && e.dialect == dialect && sameMessage(&e.of, m) {
		return e.data
	}
	data := encode()
	e := &wireEntry{dialect: dialect, of: *m, data: data}
	e.of.wire = nil
	m.wire.entry.Store(e)
	return data
}

// sameMessage tells whether b is a copy of a to which nothing was done. A copy
// shares its original's cache, so a changed one must not find the other's
// bytes there. Slices are compared by what they refer to: what they hold does
// not change.
func sameMessage(a, b *Message) bool {
	return a.Role == b.Role && a.Content == b.Content &&
		a.ToolCallID == b.ToolCallID && a.ToolName == b.ToolName && a.Failed == b.Failed &&
		sameSlice(a.ToolCalls, b.ToolCalls) && sameSlice(a.Reasoning, b.Reasoning) &&
		sameSlice(a.Attachments, b.Attachments)
}

func sameSlice[T any](a, b []T) bool {
	return len(a) == len(b) && unsafe.SliceData(a) == unsafe.SliceData(b)
}
