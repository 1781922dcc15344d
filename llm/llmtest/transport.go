package llmtest

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"sync"
)

// Transport calls a handler in memory, without any connection: an idle agent
// costs nothing, a request one goroutine. The handler's context ends when the
// client leaves, and the client's read fails when the handler panics with
// [http.ErrAbortHandler], as over a connection. It works in a synctest bubble.
type Transport struct {
	handler http.Handler
	active  sync.WaitGroup
}

// NewTransport calls handler for every request, whatever its host.
func NewTransport(handler http.Handler) *Transport { return &Transport{handler: handler} }

// Wait returns when no handler runs any more.
func (t *Transport) Wait() { t.active.Wait() }

// RoundTrip implements [http.RoundTripper].
func (t *Transport) RoundTrip(req *http.Request) (*http.Response, error) {
	if err := req.Context().Err(); err != nil {
		closeBody(req)
		return nil, err
	}
	ctx, cancel := context.WithCancel(req.Context())
	r := req.Clone(ctx)
	r.RequestURI = req.URL.RequestURI()
	r.RemoteAddr, r.Proto, r.ProtoMajor, r.ProtoMinor = "memory", "HTTP/1.1", 1, 1
	if r.Host == "" {
		r.Host = req.URL.Host
	}
	if r.Body == nil {
		r.Body = http.NoBody
	}
	pr, pw := io.Pipe()
	w := &memoryWriter{pipe: pw, header: make(http.Header), sent: make(chan struct{})}
	// The client that leaves must not wait for a handler that does not look.
	stop := context.AfterFunc(ctx, func() { _ = pw.CloseWithError(ctx.Err()) })
	t.active.Add(1)
	go func() {
		defer t.active.Done()
		defer closeBody(r)
		err := t.run(w, r)
		if gone := ctx.Err(); gone != nil {
			err = gone // not a well-ended answer, even if the handler thinks so
		}
		w.end(err)
		stop()
	}()
	select {
	case <-w.sent:
	case <-ctx.Done():
		cancel()
		return nil, ctx.Err()
	}
	if w.refused != nil {
		cancel()
		return nil, w.refused
	}
	return &http.Response{
		Status: http.StatusText(w.status), StatusCode: w.status,
		Proto: r.Proto, ProtoMajor: 1, ProtoMinor: 1,
		Header: w.seen, ContentLength: -1, Request: req,
		Body: &memoryBody{PipeReader: pr, leave: cancel},
	}, nil
}

func closeBody(r *http.Request) {
	if r.Body != nil {
		_ = r.Body.Close()
	}
}

// run calls the handler. A panic breaks the answer off, as in a server.
func (t *Transport) run(w http.ResponseWriter, r *http.Request) (err error) {
	defer func() {
		switch v := recover(); v {
		case nil:
		case http.ErrAbortHandler:
			err = io.ErrUnexpectedEOF
		default:
			err = fmt.Errorf("the handler in memory panicked: %v", v)
		}
	}()
	t.handler.ServeHTTP(w, r)
	return nil
}

// memoryWriter is the handler's side. Only the handler's goroutine uses it,
// but for what was set before sent was closed.
type memoryWriter struct {
	pipe   *io.PipeWriter
	header http.Header

	sent    chan struct{} // closed when the client may go on
	status  int
	seen    http.Header // header as it was sent
	refused error       // the connection broke before the header
}

func (w *memoryWriter) Header() http.Header { return w.header }

func (w *memoryWriter) WriteHeader(status int) {
	if w.status != 0 {
		return
	}
	w.status, w.seen = status, w.header.Clone()
	close(w.sent)
}

func (w *memoryWriter) Write(b []byte) (int, error) {
	w.WriteHeader(http.StatusOK)
	return w.pipe.Write(b)
}

// Flush implements [http.Flusher]: nothing is held back but the header.
func (w *memoryWriter) Flush() { w.WriteHeader(http.StatusOK) }

func (w *memoryWriter) end(err error) {
	if err != nil && w.status == 0 {
		w.status, w.refused = -1, io.EOF
		close(w.sent)
	}
	w.WriteHeader(http.StatusOK)
	_ = w.pipe.CloseWithError(err)
}

// memoryBody is the client's side.
type memoryBody struct {
	*io.PipeReader
	leave context.CancelFunc
}

// Close tells the handler that nobody reads on.
func (b *memoryBody) Close() error {
	b.leave()
	return b.PipeReader.Close()
}
