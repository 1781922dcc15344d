package record

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"time"
)

// maxBody bounds what is kept of a response.
const maxBody = 64 << 20

// recorder is a transport that keeps what goes through it.
type recorder struct {
	dir    string
	rt     http.RoundTripper
	last   atomic.Int64 // the number of the newest file
	failed atomic.Pointer[error]
}

// Record returns a transport that keeps each exchange of rt in a new file of
// dir, which is made when there is none. Files that are there stay; their
// numbers are continued. When a file cannot be written the next request fails.
// The transport may be used concurrently. A response is written when its body
// is closed.
func Record(dir string, rt http.RoundTripper) (http.RoundTripper, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("record: %w", err)
	}
	names, err := numbered(dir)
	if err != nil {
		return nil, fmt.Errorf("record: %w", err)
	}
	r := &recorder{dir: dir, rt: rt}
	for _, name := range names {
		n, _ := number(name)
		r.last.Store(max(n, r.last.Load()))
	}
	return r, nil
}

// RoundTrip implements [http.RoundTripper].
func (r *recorder) RoundTrip(req *http.Request) (*http.Response, error) {
	if err := r.failed.Load(); err != nil {
		return nil, fmt.Errorf("record: an earlier exchange could not be written: %w", *err)
	}
	var body []byte
	if req.Body != nil {
		var err error
		body, err = io.ReadAll(req.Body)
		_ = req.Body.Close()
		if err != nil {
			return nil, err
		}
		req = req.Clone(req.Context())
		req.Body = io.NopCloser(bytes.NewReader(body))
	}
	t := &taker{owner: r, begun: time.Now(), clean: secretsOf(req)}
	if err := t.open(req, body); err != nil {
		return nil, fmt.Errorf("record: %w", err)
	}
	resp, err := r.rt.RoundTrip(req)
	if err != nil {
		t.finish(err)
		return nil, err
	}
	t.body = resp.Body
	t.head = line{Status: resp.StatusCode, Header: t.clean.response(resp.Header), MS: t.ms()}
	t.encoding = resp.Header.Get("Content-Encoding")
	kept := *resp
	kept.Body = t
	return &kept, nil
}

// create makes the next file. Another process may be at work in the folder.
func (r *recorder) create() (*os.File, error) {
	for range 1000 {
		name := filepath.Join(r.dir, fileName(r.last.Add(1)))
		f, err := os.OpenFile(name, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
		if !errors.Is(err, os.ErrExist) {
			return f, err
		}
	}
	return nil, fmt.Errorf("no free number in %s", r.dir)
}

// taker is a response's body that takes notes. It belongs to the goroutine
// that reads it.
type taker struct {
	owner *recorder
	begun time.Time
	clean secrets
	file  *os.File

	head     line
	encoding string
	body     io.ReadCloser
	pieces   []piece
	size     int
	done     bool
}

func (t *taker) ms() int64 { return time.Since(t.begun).Milliseconds() }

// open writes the request at once: what comes of it may never be known.
func (t *taker) open(req *http.Request, body []byte) error {
	l := request{V: version, Method: req.Method, URL: t.clean.url(req.URL), Header: t.clean.request(req.Header)}
	text := t.clean.text(string(body))
	if json.Valid([]byte(text)) {
		l.Body = json.RawMessage(text)
	} else {
		l.Text = text
	}
	var b bytes.Buffer
	if err := appendJSON(&b, l); err != nil {
		return err
	}
	f, err := t.owner.create()
	if err != nil {
		return err
	}
	t.file = f
	if _, err := f.Write(b.Bytes()); err != nil {
		_ = f.Close()
		return err
	}
	return nil
}

// Read implements [io.Reader].
func (t *taker) Read(b []byte) (int, error) {
	n, err := t.body.Read(b)
	if n > 0 && !t.done {
		if t.size += n; t.size > maxBody {
			t.finish(fmt.Errorf("not recorded further than %d MiB", maxBody>>20))
			return n, err
		}
		t.pieces = append(t.pieces, piece{t.ms(), bytes.Clone(b[:n])})
	}
	if err != nil {
		t.finish(err)
	}
	return n, err
}

// Close implements [io.Closer].
func (t *taker) Close() error {
	err := t.body.Close()
	t.finish(nil)
	return err
}

// finish writes the response, once. cause is why the body ended: io.EOF, an
// error, or nil when the reader had enough.
func (t *taker) finish(cause error) {
	if t.done {
		return
	}
	t.done = true
	err := t.write(cause)
	t.pieces = nil
	if cerr := t.file.Close(); err == nil {
		err = cerr
	}
	if err != nil {
		t.owner.failed.Store(&err)
	}
}

func (t *taker) write(cause error) error {
	var lines []line
	if t.head.Status != 0 {
		lines = append(lines, t.head)
	}
	last := line{MS: t.ms(), End: errors.Is(cause, io.EOF)}
	if cause != nil && !last.End {
		last.Error = t.clean.text(cause.Error())
	}
	pieces, err := t.decoded()
	if err != nil && last.Error == "" {
		last.End, last.Error = false, "the compressed body is damaged: "+err.Error()
	}
	for _, p := range t.clean.pieces(pieces) {
		lines = append(lines, p.line())
	}
	var b bytes.Buffer
	for _, l := range append(lines, last) {
		if err := appendJSON(&b, l); err != nil {
			return err
		}
	}
	_, err = t.file.Write(b.Bytes())
	return err
}

// decoded is the body without compression, in which no secret could be found.
// What cannot be decoded is not kept.
func (t *taker) decoded() ([]piece, error) {
	if t.encoding == "" || strings.EqualFold(t.encoding, "identity") || len(t.pieces) == 0 {
		return t.pieces, nil
	}
	if !strings.EqualFold(t.encoding, "gzip") {
		return nil, fmt.Errorf("unknown encoding %q", t.encoding)
	}
	var all bytes.Buffer
	for _, p := range t.pieces {
		all.Write(p.data)
	}
	zr, err := gzip.NewReader(&all)
	if err != nil {
		return nil, err
	}
	data, err := io.ReadAll(io.LimitReader(zr, maxBody))
	return []piece{{t.pieces[len(t.pieces)-1].ms, data}}, err
}
