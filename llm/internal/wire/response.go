package wire

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"clm/llm"
)

// Response is an answer of status 2xx whose first byte has come. Its Read
// returns the decoded body, without blanks before the first byte, and fails
// with a [*llm.Error].
type Response struct {
	// Stream tells that the body is an event stream; else it is JSON. It is
	// what the server sent, not what it was asked for.
	Stream bool

	c      *Client
	ctx    context.Context // ends with outer, or for silence
	outer  context.Context // the caller's
	cancel context.CancelCauseFunc
	timer  *time.Timer
	idle   time.Duration // between two reads
	futile time.Duration // between two parts of the answer
	due    time.Time     // when the next part must be there

	where  string
	status int
	header http.Header
	body   io.ReadCloser // as it came
	src    io.Reader     // decoded
	head   []byte        // read by open, not yet by the caller
	store  [64]byte      // for head
	total  int64
	idles  int  // reads in a row that gave neither bytes nor an error
	opened bool // a 200 has come
	eof    bool
}

// open checks status, encoding and first byte.
func (r *Response) open() error {
	if enc := r.header.Get("Content-Encoding"); strings.EqualFold(enc, "gzip") {
		r.src = &lazyGzip{src: r.body}
	} else if enc != "" && !strings.EqualFold(enc, "identity") {
		if r.status/100 == 2 {
			return r.Failf(llm.ErrProtocol, "the answer has the unknown encoding %q", enc)
		}
		r.src = http.NoBody // the status says enough
	}
	if r.status/100 != 2 {
		return r.refused()
	}
	r.opened = true
	if err := r.peek(); err != nil {
		return err
	}
	switch r.head[0] {
	case '{', '[':
	case '<':
		page, _ := io.ReadAll(io.LimitReader(r, maxFault))
		f, _ := ParseFault(page)
		return r.Failf(llm.ErrProtocol, "the answer is a web page, not a model's; check the URL: %s", f.Message)
	default:
		r.Stream = true
	}
	return nil
}

// peek fills head, from the first byte on that is neither a blank, which
// servers send to keep a connection alive, nor of a byte order mark.
func (r *Response) peek() error {
	const mark = "\xef\xbb\xbf"
	n := 0 // bytes in store
	for {
		k, err := r.read(r.store[n:])
		n += k
		r.head = bytes.TrimLeft(r.store[:n], " \t\r\n")
		isMark := len(r.head) > 0 && strings.HasPrefix(mark, string(r.head[:min(len(r.head), len(mark))]))
		if isMark && len(r.head) >= len(mark) {
			r.head = bytes.TrimLeft(r.head[len(mark):], " \t\r\n")
			isMark = false
		}
		switch {
		case len(r.head) > 0 && !isMark:
			return nil
		case err == io.EOF:
			return r.Failf(llm.ErrProtocol, "the answer is empty")
		case err != nil:
			return err
		}
		if len(r.head) == 0 && n > len(mark) {
			n = 0 // blanks alone: they need not be kept
		}
	}
}

// Read reads the body; the server may be silent for the idle timeout.
func (r *Response) Read(b []byte) (int, error) {
	if len(r.head) > 0 {
		n := copy(b, r.head)
		r.head = r.head[n:]
		return n, nil
	}
	return r.read(b)
}

func (r *Response) read(b []byte) (int, error) {
	if r.eof {
		return 0, io.EOF
	}
	r.timer.Reset(min(r.idle, max(0, time.Until(r.due))))
	n, err := r.src.Read(b)
	r.total += int64(n)
	if r.idles++; n > 0 {
		r.idles = 0
	}
	switch {
	case r.idles > maxIdles && err == nil:
		return 0, r.failed(io.ErrNoProgress)
	case r.total > maxAnswer:
		return 0, r.failed(errLarge)
	case err == io.EOF:
		r.eof = true
		return n, err
	case err != nil:
		return n, r.failed(err)
	}
	return n, nil
}

// Progress notes that a part of the answer came. A server that only keeps its
// stream alive is given up on, too.
func (r *Response) Progress() { r.due = time.Now().Add(r.futile) }

// Hurry bounds the silence that is allowed from now on, for what may follow a
// complete answer.
func (r *Response) Hurry(d time.Duration) {
	r.idle, r.futile = min(r.idle, d), min(r.futile, d)
	r.Progress()
}

// ReadAll reads a JSON answer.
func (r *Response) ReadAll() ([]byte, error) {
	b, err := io.ReadAll(io.LimitReader(r, maxJSON+1))
	if err != nil {
		return nil, err
	}
	if len(b) > maxJSON {
		return nil, r.Failf(llm.ErrProtocol, "the answer is larger than %d MiB", maxJSON>>20)
	}
	return b, nil
}

// Close ends the exchange. It reads what little is left, so that the
// connection can be used again, but does not wait for a server that goes on.
func (r *Response) Close() {
	if r.body == nil {
		r.stop()
		return
	}
	if !r.eof && r.ctx.Err() == nil {
		r.timer.Reset(drainTimeout)
		_, _ = io.CopyN(io.Discard, r.body, maxDrain)
	}
	_ = r.body.Close()
	r.stop()
}

func (r *Response) stop() {
	r.timer.Stop()
	r.cancel(context.Canceled)
}

// Failf is a failure of this exchange. A verb %w sets the cause.
func (r *Response) Failf(kind llm.ErrorKind, format string, args ...any) *llm.Error {
	err := fmt.Errorf(format, args...)
	return r.fault(kind, err.Error(), errors.Unwrap(err))
}

// Fault is a failure that the server reported inside a 200, in a body, a
// chunk or an event; raw is the value of its "error" member or the whole
// object. ok is false when raw tells of none, as {"error":null} does.
func (r *Response) Fault(raw json.RawMessage) (err *llm.Error, ok bool) {
	f, ok := ParseFault(raw)
	if !ok {
		return nil, false
	}
	if f.Message == "" {
		f.Message = strings.TrimSpace(f.Type + " " + f.Code)
	}
	message := "the server reports: " + f.Message
	if f.Code != "" && len(f.Code) <= maxCode && !strings.Contains(f.Message, f.Code) {
		message += " (" + f.Code + ")"
	}
	return r.fault(classify(f.status(), f, false), message, nil), true
}

// fault cleans the message before it cuts it: a cut key would be missed.
func (r *Response) fault(kind llm.ErrorKind, message string, cause error) *llm.Error {
	e := &llm.Error{
		Kind: kind, Where: r.where, Started: r.opened,
		Message: llm.OneLine(r.c.scrub.Text(message), maxMessage), Err: cause,
	}
	if cause != nil && r.c.scrub.Text(cause.Error()) != cause.Error() {
		e.Err = nil
	}
	return e
}

// failed explains an error of the transport.
func (r *Response) failed(err error) *llm.Error {
	if cause := r.outer.Err(); cause != nil {
		return r.fault(llm.ErrCanceled, cause.Error(), cause)
	}
	if errors.Is(context.Cause(r.ctx), llm.ErrSilent) {
		err = llm.ErrSilent
	}
	var own *llm.Error
	if errors.As(err, &own) { // of a transport that knows better, as a replay does
		return r.fault(own.Kind, own.Message, err)
	}
	message := describe(err)
	if r.opened {
		message = "the answer broke off: " + message
	}
	return r.fault(llm.ErrNetwork, message, err)
}

// refused explains an answer that is not a 200.
func (r *Response) refused() *llm.Error {
	r.timer.Reset(askTimeout)
	body, _ := io.ReadAll(io.LimitReader(r.src, maxFault))
	if cause := r.outer.Err(); cause != nil {
		return r.fault(llm.ErrCanceled, cause.Error(), cause)
	}
	f, _ := ParseFault(body)
	wait := retryAfter(r.header, time.Now())
	kind := classify(r.status, f, wait > 0 || bytes.Contains(body, []byte(`"retryDelay"`)))
	message := f.Message
	if to := r.header.Get("Location"); to != "" && r.status/100 == 3 {
		message = "the server sends the request elsewhere; set the connection's URL to fit " + to
	}
	if message == "" {
		message = http.StatusText(r.status)
	}
	e := r.fault(kind, message, nil)
	e.Status, e.RetryAfter = r.status, wait
	return e
}

// lazyGzip reads the header of the compressed stream with the first bytes,
// not before.
type lazyGzip struct {
	src io.Reader
	r   *gzip.Reader
}

func (g *lazyGzip) Read(b []byte) (int, error) {
	if g.r == nil {
		r, err := gzip.NewReader(g.src)
		if err != nil {
			return 0, err
		}
		g.r = r
	}
	return g.r.Read(b)
}
