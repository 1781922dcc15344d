package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"clm/config"
	"clm/llm"
)

// exchange is one request to a model and its response, as --record keeps it.
// Headers are left out, as they hold keys.
type exchange struct {
	Method   string          `json:"method"`
	Path     string          `json:"path"`
	Model    string          `json:"model"`
	Request  json.RawMessage `json:"request,omitempty"`
	Status   int             `json:"status"`
	Type     string          `json:"content_type"`
	Retry    string          `json:"retry_after,omitempty"`
	Response string          `json:"response"`
}

// same says whether an exchange answers a request. The prompt does not count:
// it holds what changes between runs.
func (x exchange) same(o exchange) bool {
	return x.Method == o.Method && x.Path == o.Path && x.Model == o.Model
}

// transport is what requests go through: the network, with --record and
// --replay in between. Nil leaves it to the engine.
func (p *Program) transport(cfg *config.Config, t config.Target) (http.RoundTripper, error) {
	hosts := []string{t.URL}
	for _, pr := range cfg.Providers {
		hosts = append(hosts, pr.URL)
	}
	hosts = slices.DeleteFunc(hosts, func(h string) bool { return h == "" })
	switch f := &p.flags; {
	case f.record != "":
		if err := os.MkdirAll(f.record, 0o700); err != nil {
			return nil, fmt.Errorf("--record: %w", err)
		}
		old, err := filepath.Glob(filepath.Join(f.record, "*.json"))
		if err != nil || len(old) > 0 {
			return nil, fmt.Errorf("--record: %s holds traffic already: name an empty folder", f.record)
		}
		return &recorder{next: llm.NewTransport(), dir: f.record, hosts: hosts, hide: cfg.Secrets()}, nil
	case f.replay != "":
		r := &replayer{next: llm.NewTransport(), dir: f.replay, hosts: hosts}
		return r, r.load()
	}
	return nil, nil
}

// toModel says whether a request is for a model: plugins' requests are not.
func toModel(req *http.Request, hosts []string) bool {
	return slices.ContainsFunc(hosts, func(h string) bool { return strings.HasPrefix(req.URL.String(), h) })
}

// asked reads a request for its exchange; the request can still be sent.
func asked(req *http.Request) (exchange, error) {
	x := exchange{Method: req.Method, Path: req.URL.Path}
	if req.Body == nil {
		return x, nil
	}
	b, err := io.ReadAll(req.Body)
	if err != nil {
		return x, err
	}
	_ = req.Body.Close()
	req.Body = io.NopCloser(bytes.NewReader(b))
	var m struct {
		Model string `json:"model"`
	}
	if json.Unmarshal(b, &m) == nil {
		x.Model, x.Request = m.Model, b
	}
	return x, nil
}

// recorder keeps each exchange with a model in a file.
type recorder struct {
	next  http.RoundTripper
	dir   string
	hosts []string
	hide  []string

	mu sync.Mutex
	n  int
}

// RoundTrip implements http.RoundTripper.
func (r *recorder) RoundTrip(req *http.Request) (*http.Response, error) {
	if !toModel(req, r.hosts) {
		return r.next.RoundTrip(req)
	}
	x, err := asked(req)
	if err != nil {
		return nil, err
	}
	resp, err := r.next.RoundTrip(req)
	if err != nil {
		return nil, err
	}
	x.Status, x.Type, x.Retry = resp.StatusCode, resp.Header.Get("Content-Type"), resp.Header.Get("Retry-After")
	resp.Body = &recordedBody{ReadCloser: resp.Body, save: func(b []byte) error { return r.save(x, b) }}
	return resp, nil
}

// CloseIdleConnections closes the connections of the transport below.
func (r *recorder) CloseIdleConnections() { closeIdle(r.next) }

func closeIdle(rt http.RoundTripper) {
	if t, ok := rt.(interface{ CloseIdleConnections() }); ok {
		t.CloseIdleConnections()
	}
}

func (r *recorder) save(x exchange, body []byte) error {
	x.Response = string(body)
	b, err := json.MarshalIndent(x, "", "  ")
	if err != nil {
		return err
	}
	for _, s := range r.hide {
		b = bytes.ReplaceAll(b, []byte(s), []byte("[secret]"))
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.n++
	return os.WriteFile(filepath.Join(r.dir, fmt.Sprintf("%05d.json", r.n)), b, 0o600)
}

// recordedBody keeps what is read of a body and saves it when it is closed,
// the whole or what there was of it.
type recordedBody struct {
	io.ReadCloser
	buf  bytes.Buffer
	save func([]byte) error
}

func (b *recordedBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	b.buf.Write(p[:n])
	return n, err
}

func (b *recordedBody) Close() error {
	err := b.ReadCloser.Close()
	if b.save != nil {
		err = errors.Join(err, b.save(b.buf.Bytes()))
		b.save = nil
	}
	return err
}

// replayer answers requests to models with kept exchanges, each once, in the
// order in which they were kept.
type replayer struct {
	next  http.RoundTripper
	dir   string
	hosts []string

	mu   sync.Mutex
	left []exchange
}

func (r *replayer) load() error {
	paths, err := filepath.Glob(filepath.Join(r.dir, "*.json"))
	if err != nil || len(paths) == 0 {
		return fmt.Errorf("--replay: %s holds no traffic: make it with --record", r.dir)
	}
	slices.Sort(paths)
	for _, path := range paths {
		b, err := os.ReadFile(path)
		if err != nil {
			return fmt.Errorf("--replay: %w", err)
		}
		var x exchange
		if err := json.Unmarshal(b, &x); err != nil || x.Status < 100 || x.Status > 599 {
			return fmt.Errorf("--replay: %s: is not kept traffic", path)
		}
		r.left = append(r.left, x)
	}
	return nil
}

// RoundTrip implements http.RoundTripper.
func (r *replayer) RoundTrip(req *http.Request) (*http.Response, error) {
	if !toModel(req, r.hosts) {
		return r.next.RoundTrip(req)
	}
	want, err := asked(req)
	if err != nil {
		return nil, err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	i := slices.IndexFunc(r.left, func(x exchange) bool { return x.same(want) })
	if i < 0 {
		return nil, fmt.Errorf("%s holds no more answers to %s %s for the model %q", r.dir, want.Method, want.Path, want.Model)
	}
	x := r.left[i]
	r.left = slices.Delete(r.left, i, i+1)
	h := http.Header{"Content-Type": {x.Type}}
	if x.Retry != "" {
		h.Set("Retry-After", x.Retry)
	}
	return &http.Response{
		Status: http.StatusText(x.Status), StatusCode: x.Status, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: h, Body: io.NopCloser(strings.NewReader(x.Response)), ContentLength: int64(len(x.Response)), Request: req,
	}, nil
}

// CloseIdleConnections closes the connections of the transport below.
func (r *replayer) CloseIdleConnections() { closeIdle(r.next) }
