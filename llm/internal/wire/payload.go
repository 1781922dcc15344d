package wire

import (
	"bytes"
	"io"
	"net/http"
	"slices"
	"sync/atomic"
)

// Body is a request's body in pieces, which are sent as they are: most of them
// are the encoded messages of a conversation, which its histories keep.
type Body [][]byte

// Len is the size in bytes.
func (b Body) Len() int {
	n := 0
	for _, p := range b {
		n += len(p)
	}
	return n
}

func (b Body) equal(o Body) bool { return slices.EqualFunc(b, o, bytes.Equal) }

// payload is a request's body, which the transport may need again when it
// finds a kept connection dead. It is let go as soon as the answer begins: a
// response refers to its request, and a stream may last for minutes while the
// body holds a whole conversation.
type payload struct {
	body atomic.Pointer[Body]
}

// newPayload makes b the body of r.
func newPayload(r *http.Request, b Body) *payload {
	p := new(payload)
	p.body.Store(&b)
	r.ContentLength = int64(b.Len())
	r.Body, _ = p.open()
	r.GetBody = p.open
	return p
}

func (p *payload) open() (io.ReadCloser, error) {
	body := p.body.Load()
	if body == nil {
		return nil, http.ErrBodyReadAfterClose
	}
	r := new(payloadReader)
	r.body.Store(body)
	return r, nil
}

func (p *payload) drop() { p.body.Store(nil) }

// payloadReader is one reading of a payload. A transport closes it when it has
// sent it, which may be after the answer began, or while it sends it.
type payloadReader struct {
	body atomic.Pointer[Body]
	part int
	at   int // of the part
}

func (r *payloadReader) Read(b []byte) (n int, err error) {
	body := r.body.Load()
	if body == nil {
		return 0, http.ErrBodyReadAfterClose
	}
	for ; r.part < len(*body); r.part, r.at = r.part+1, 0 {
		part := (*body)[r.part]
		k := copy(b[n:], part[r.at:])
		n, r.at = n+k, r.at+k
		if r.at < len(part) {
			return n, nil // b is full
		}
	}
	return n, io.EOF
}

func (r *payloadReader) Close() error {
	r.body.Store(nil)
	return nil
}
