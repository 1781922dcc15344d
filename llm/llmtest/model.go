package llmtest

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// maxRequest bounds the body of a request, in bytes.
const maxRequest = 64 << 20

// DefaultReply is played when a model has no reply left.
const DefaultReply = "!text done\n!finish stop\n"

// Model is a model server that plays scripts. Set its fields before the first
// request. It is an [http.Handler] and safe for concurrent use.
type Model struct {
	// Replies are played one a request, in order; then [DefaultReply].
	Replies []string
	// Reply, if set, chooses the script instead.
	Reply func(r *Request) string
	// Models and Props are the answers to GET …/models and …/props; "" gives
	// a list with the model "mock", and a 404.
	Models, Props string
	// Dir is the folder of the files that scripts name.
	Dir string
	// Forget keeps only the counts of requests, for long runs.
	Forget bool

	mu       sync.Mutex
	count    int
	requests []*Request
	gets     []string
	active   int
	parallel int
}

// New makes a model that plays replies.
func New(replies ...string) *Model { return &Model{Replies: replies} }

// Request is a request that a model got.
type Request struct {
	N      int // 1 for the first
	Path   string
	Header http.Header
	Body   []byte
	At     time.Time

	gone, ended atomic.Bool
}

// Gone tells that the client left before the reply's end.
func (r *Request) Gone() bool { return r.gone.Load() }

// Ended tells that nothing of the request is going on any more.
func (r *Request) Ended() bool { return r.ended.Load() }

// Stream tells whether the request asks for a stream. It looks for the member
// without decoding the body, which may be long; inside a string of valid JSON
// the quotes would be escaped.
func (r *Request) Stream() bool {
	return bytes.Contains(r.Body, []byte(`"stream":true`)) || bytes.Contains(r.Body, []byte(`"stream": true`))
}

// JSON is the decoded body, nil when it is no object.
func (r *Request) JSON() map[string]any {
	var v map[string]any
	if json.Unmarshal(r.Body, &v) != nil {
		return nil
	}
	return v
}

// ServeHTTP implements [http.Handler].
func (m *Model) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method == http.MethodGet {
		m.get(w, r)
		return
	}
	body, err := io.ReadAll(io.LimitReader(r.Body, maxRequest))
	if err != nil {
		return // the client left while it was sending
	}
	req := &Request{Path: r.URL.Path, Header: r.Header.Clone(), Body: body, At: time.Now()}
	script := m.begin(req)
	defer m.end(req, r)
	if m.Reply != nil {
		script = m.Reply(req)
	}
	Play(w, r, script, m.Dir, req.Stream() || !composes(req.Path))
}

// composes tells whether a script's chunks become one answer when the
// request did not ask for a stream: those of the OpenAI dialect.
func composes(path string) bool { return strings.HasSuffix(path, "/chat/completions") }

func (m *Model) begin(req *Request) (script string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.count++
	req.N = m.count
	if !m.Forget {
		m.requests = append(m.requests, req)
	}
	m.active++
	m.parallel = max(m.parallel, m.active)
	if req.N <= len(m.Replies) {
		return m.Replies[req.N-1]
	}
	return DefaultReply
}

func (m *Model) end(req *Request, r *http.Request) {
	req.gone.Store(r.Context().Err() != nil)
	req.ended.Store(true)
	m.mu.Lock()
	defer m.mu.Unlock()
	m.active--
}

func (m *Model) get(w http.ResponseWriter, r *http.Request) {
	m.mu.Lock()
	if !m.Forget {
		m.gets = append(m.gets, r.URL.Path)
	}
	m.mu.Unlock()
	body := ""
	switch {
	case strings.HasSuffix(r.URL.Path, "/models"):
		body = m.Models
		if body == "" {
			body = `{"object":"list","data":[{"id":"mock","object":"model"}]}`
		}
	case strings.HasSuffix(r.URL.Path, "/props"):
		body = m.Props
	}
	if body == "" {
		http.NotFound(w, r)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = io.WriteString(w, body)
}

// Requests is what was asked so far, without GETs.
func (m *Model) Requests() []*Request {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.requests)
}

// Count is the number of requests so far, without GETs.
func (m *Model) Count() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.count
}

// Gets is the paths that were read with GET.
func (m *Model) Gets() []string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.gets)
}

// Active is the number of requests that are being answered.
func (m *Model) Active() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.active
}

// Parallel is the most requests that were being answered at once.
func (m *Model) Parallel() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.parallel
}
