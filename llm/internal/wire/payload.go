package wire

import (
	"io"
	"net/http"
	"sync/atomic"
)

// payload is a request's body, which the transport may need again when it
// finds a kept connection dead. It is let go as soon as the answer begins: a
// response refers to its request, and a stream may last for minutes while the
// body holds a whole conversation.
type payload struct {
	data atomic.Pointer[[]byte]
}

// newPayload makes data the body of r.
func newPayload(r *http.Request, data []byte) *payload {
	p := new(payload)
	p.data.Store(&data)
	r.ContentLength = int64(len(data))
	r.Body, _ = p.open()
	r.GetBody = p.open
	return p
}

func (p *payload) open() (io.ReadCloser, error) {
	data := p.data.Load()
	if data == nil {
		return nil, http.ErrBodyReadAfterClose
	}
	r := new(payloadReader)
	r.data.Store(data)
	return r, nil
}

func (p *payload) drop() { p.data.Store(nil) }

// payloadReader is one reading of a payload. A transport closes it when it has
// sent it, which may be after the answer began, or while it sends it.
type payloadReader struct {
	data atomic.Pointer[[]byte]
	at   int
}

func (r *payloadReader) Read(b []byte) (int, error) {
	data := r.data.Load()
	if data == nil {
		return 0, http.ErrBodyReadAfterClose
	}
	n := copy(b, (*data)[r.at:])
	r.at += n
	if r.at == len(*data) {
		return n, io.EOF
	}
	return n, nil
}

func (r *payloadReader) Close() error {
	r.data.Store(nil)
	return nil
}
