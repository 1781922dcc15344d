package record

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"

	"clm/llm"
	"clm/llm/internal/jsonscan"
)

// key is what requests are matched by.
type key struct{ method, path, model string }

func (k key) String() string {
	s := k.method + " " + k.path
	if k.model != "" {
		s += fmt.Sprintf(" for the model %q", llm.Clip(k.model, 100))
	}
	return s
}

func (r *request) key() (key, error) {
	u, err := url.Parse(r.URL)
	if err != nil || r.Method == "" || u.Path == "" {
		return key{}, errors.New("the request needs a method and a url with a path")
	}
	return key{r.Method, u.Path, modelOf(r.Body)}, nil
}

func modelOf(body []byte) string {
	if !json.Valid(body) {
		return ""
	}
	return jsonscan.String(jsonscan.Member(body, "model"))
}

// replayer is a transport that serves recordings. Nothing of it changes but
// the counters.
type replayer struct {
	dir    string
	queues map[key]*queue
	all    []*exchange
}

// queue is the exchanges of one key, in order.
type queue struct {
	next      atomic.Int64
	exchanges []*exchange
}

// Replay returns a transport that answers requests with the recordings in dir.
// No connection is made, and no time is waited. Each recording is served once.
// A request that does not fit fails with an [*llm.Error] that says what was
// expected instead. The transport may be used concurrently.
func Replay(dir string) (http.RoundTripper, error) {
	names, err := numbered(dir)
	if err != nil {
		return nil, fmt.Errorf("replay: %w", err)
	}
	if len(names) == 0 {
		return nil, fmt.Errorf("replay: %s holds no recordings (0001%s and so on)", dir, ext)
	}
	r := &replayer{dir: dir, queues: map[key]*queue{}}
	for _, name := range names {
		x, err := load(dir, name)
		if err != nil {
			return nil, err
		}
		q := r.queues[x.key]
		if q == nil {
			q = &queue{}
			r.queues[x.key] = q
		}
		q.exchanges = append(q.exchanges, x)
		r.all = append(r.all, x)
	}
	return r, nil
}

// RoundTrip implements [http.RoundTripper].
func (r *replayer) RoundTrip(req *http.Request) (*http.Response, error) {
	var body []byte
	if req.Body != nil {
		var err error
		body, err = io.ReadAll(req.Body)
		_ = req.Body.Close()
		if err != nil {
			return nil, err
		}
	}
	if err := req.Context().Err(); err != nil {
		return nil, err
	}
	k := key{req.Method, req.URL.Path, modelOf(body)}
	q := r.queues[k]
	if q == nil {
		return nil, r.mismatch(k, 0)
	}
	n := q.next.Add(1)
	if n > int64(len(q.exchanges)) {
		return nil, r.mismatch(k, len(q.exchanges))
	}
	return q.exchanges[n-1].response(req)
}

// mismatch tells what was asked, and what the recording goes on with.
func (r *replayer) mismatch(k key, recorded int) error {
	var b strings.Builder
	if recorded == 0 {
		fmt.Fprintf(&b, "replay: %s was not recorded", k)
	} else {
		fmt.Fprintf(&b, "replay: the recordings (%d) of %s are used up", recorded, k)
	}
	rest := 0
	for _, x := range r.all {
		q := r.queues[x.key]
		if i := q.next.Load(); i < int64(len(q.exchanges)) && q.exchanges[i] == x {
			if rest++; rest <= 3 {
				fmt.Fprintf(&b, "; %s has %s", x.file, x.key)
			}
		}
	}
	switch {
	case rest == 0:
		fmt.Fprintf(&b, "; so are all others in %s", r.dir)
	case rest > 3:
		fmt.Fprintf(&b, "; and %d more", rest-3)
	}
	return &llm.Error{Kind: llm.ErrRequest, Message: b.String()}
}

// response serves the recording.
func (x *exchange) response(req *http.Request) (*http.Response, error) {
	if x.status == 0 {
		if x.err == "" {
			return nil, &llm.Error{Kind: llm.ErrRequest, Message: "replay: " + x.file + " holds no response"}
		}
		return nil, errors.New(x.err)
	}
	h := http.Header{}
	for name, value := range x.header {
		h.Set(name, value)
	}
	body := &pieces{left: x.pieces}
	if x.err != "" {
		body.end = fmt.Errorf("%w (as recorded: %s)", io.ErrUnexpectedEOF, x.err)
	}
	return &http.Response{
		Status: fmt.Sprintf("%d %s", x.status, http.StatusText(x.status)), StatusCode: x.status,
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: h, Body: body, ContentLength: -1, Request: req,
	}, nil
}

// pieces is a body that comes as it was recorded, a piece with each Read.
type pieces struct {
	left []piece
	now  bytes.Reader
	end  error // instead of io.EOF
}

// Read implements [io.Reader].
func (p *pieces) Read(b []byte) (int, error) {
	for p.now.Len() == 0 {
		if len(p.left) == 0 {
			if p.end != nil {
				return 0, p.end
			}
			return 0, io.EOF
		}
		p.now.Reset(p.left[0].data)
		p.left = p.left[1:]
	}
	return p.now.Read(b)
}

// Close implements [io.Closer].
func (p *pieces) Close() error { return nil }
