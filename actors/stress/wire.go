package stress

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
)

// wire is the engine's transport in a run: it counts the requests to the model
// under load and makes some of them go wrong.
type wire struct {
	opts *Options
	host string // of the model; its requests alone are counted
	next http.RoundTripper
	// other carries the requests of plugins.
	other http.RoundTripper
	// agent finds an agent that is alive, to note that its turn met a fault.
	agent func(number uint64) *subject

	requests, inFlight atomic.Int64
	untagged           atomic.Uint64 // requests in which no agent's tag was found
	injected           [numFaults]atomic.Int64

	mu     sync.Mutex
	failed []ErrorCount // of requests, by kind; not those that clm cancelled
}

// fail counts a request without an answer, with one that says so, or with one
// that broke off.
func (w *wire) fail(kind, example string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for i := range w.failed {
		if w.failed[i].Kind == kind {
			w.failed[i].Count++
			return
		}
	}
	w.failed = append(w.failed, ErrorCount{kind, 1, example})
}

// failures are all those, and their kinds, the most frequent first.
func (w *wire) failures() (all int64, kinds []ErrorCount) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, f := range w.failed {
		all += f.Count
	}
	kinds = slices.Clone(w.failed)
	slices.SortStableFunc(kinds, func(a, b ErrorCount) int { return cmp.Compare(b.Count, a.Count) })
	return all, kinds
}

// The faults, in the order in which a random number chooses them.
const (
	faultCut = iota
	faultRateLimit
	faultError
	faultSlow
	faultGarbage
	numFaults
	noFault = numFaults
)

var faultNames = [numFaults]string{"cut", "429", "500", "slow", "garbage"}

// embeddedURL is where the embedded model is.
const embeddedURL = "http://stress.invalid/v1"

func hostOf(base string) string {
	if !strings.Contains(base, "://") {
		base = "http://" + base
	}
	if u, err := url.Parse(base); err == nil {
		return u.Host
	}
	return ""
}

// CloseIdleConnections lets the transport below do so at the engine's end.
func (w *wire) CloseIdleConnections() {
	if c, ok := w.other.(interface{ CloseIdleConnections() }); ok {
		c.CloseIdleConnections()
	}
}

// RoundTrip implements [http.RoundTripper].
func (w *wire) RoundTrip(req *http.Request) (*http.Response, error) {
	if req.URL.Host != w.host {
		return w.other.RoundTrip(req)
	}
	if req.Method != http.MethodPost {
		return w.next.RoundTrip(req)
	}
	w.requests.Add(1)
	w.inFlight.Add(1)
	resp, err := w.send(req)
	if err != nil {
		w.inFlight.Add(-1)
		if req.Context().Err() == nil {
			w.fail("no answer", err.Error())
		}
		return nil, err
	}
	body := &countedBody{ReadCloser: resp.Body, wire: w, ctx: req.Context()}
	if resp.StatusCode >= 400 {
		body.failed.Store(true)
		w.fail(fmt.Sprintf("HTTP %d", resp.StatusCode), "")
	}
	resp.Body = body
	return resp, nil
}

func (w *wire) send(req *http.Request) (*http.Response, error) {
	fault := w.choose(req)
	if fault == noFault {
		return w.next.RoundTrip(req)
	}
	w.injected[fault].Add(1)
	switch fault {
	case faultRateLimit:
		closeBody(req)
		return plainResponse(req, http.StatusTooManyRequests, `{"error":{"message":"slow down","type":"rate_limit_error"}}`), nil
	case faultError:
		closeBody(req)
		return plainResponse(req, http.StatusInternalServerError, `{"error":{"message":"an injected fault"}}`), nil
	case faultSlow:
		if err := pause(req.Context(), w.opts.Faults.SlowBy); err != nil {
			closeBody(req)
			return nil, err
		}
		return w.next.RoundTrip(req)
	}
	resp, err := w.next.RoundTrip(req)
	if err != nil || resp.StatusCode != http.StatusOK {
		return resp, err
	}
	if fault == faultGarbage {
		resp.Body = &swapped{Reader: strings.NewReader("data: {\"choices\":[{\"delta\": \x00\xff<html>\n\ndata: not json\n\n"), Closer: resp.Body}
	} else {
		resp.Body = &swapped{Reader: io.MultiReader(io.LimitReader(resp.Body, 250), brokenPipe{}), Closer: resp.Body}
	}
	return resp, nil
}

// choose decides by the seed, the place, its turn, and how many requests that has made.
func (w *wire) choose(req *http.Request) int {
	f := w.opts.Faults
	if f.total() == 0 || req.GetBody == nil {
		return noFault
	}
	body, err := req.GetBody()
	if err != nil {
		return noFault
	}
	b, err := io.ReadAll(body)
	if err != nil {
		return noFault
	}
	var at float64
	s := w.agent(lastTag(b))
	switch {
	case s != nil:
		at = rng(w.opts.Seed^0xfa17, s.place, s.nth<<16|uint64(s.asked.Add(1))&0xffff).Float64()
	case w.opts.Model.ID != "": // the prompt is somebody's, or has left the conversation
		at = rng(w.opts.Seed^0xfa17, 0, w.untagged.Add(1)).Float64()
	default: // nobody is left to note the fault
		return noFault
	}
	for kind, share := range [numFaults]float64{f.Cut, f.RateLimit, f.Error, f.Slow, f.Garbage} {
		if at < share {
			if s != nil && kind != faultSlow {
				s.faulted.Store(true)
			}
			return kind
		}
		at -= share
	}
	return noFault
}

// lastTag is the agent in the tag of the last prompt of a request.
func lastTag(body []byte) (agent uint64) {
	i := bytes.LastIndex(body, []byte(askMark))
	if i < 0 {
		return 0
	}
	for _, c := range body[i+len(askMark):] {
		if c < '0' || c > '9' {
			break
		}
		agent = agent*10 + uint64(c-'0')
	}
	return agent
}

func closeBody(r *http.Request) {
	if r.Body != nil {
		_ = r.Body.Close() // it was not read: nothing can be lost
	}
}

func plainResponse(req *http.Request, status int, body string) *http.Response {
	return &http.Response{
		Status: http.StatusText(status), StatusCode: status, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: http.Header{"Content-Type": {"application/json"}}, Body: io.NopCloser(strings.NewReader(body)),
		ContentLength: int64(len(body)), Request: req,
	}
}

// countedBody notes when a response's body breaks off, and when it is closed.
type countedBody struct {
	io.ReadCloser
	wire         *wire
	ctx          context.Context // of the request
	done, failed atomic.Bool
}

// Read implements [io.Reader].
func (b *countedBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if err != nil && err != io.EOF && b.ctx.Err() == nil && !b.done.Load() && !b.failed.Swap(true) {
		b.wire.fail("broke off", err.Error())
	}
	return n, err
}

// Close implements [io.Closer].
func (b *countedBody) Close() error {
	if !b.done.Swap(true) {
		b.wire.inFlight.Add(-1)
	}
	return b.ReadCloser.Close()
}

// swapped reads from elsewhere.
type swapped struct {
	io.Reader
	io.Closer
}

var errCut = errors.New("the connection broke (an injected fault)")

type brokenPipe struct{}

func (brokenPipe) Read([]byte) (int, error) { return 0, errCut }
