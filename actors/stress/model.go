package stress

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"clm/llm"
)

// model is the embedded model, in the OpenAI dialect: it does what the last
// prompt of a request says, and holds nothing. It is a transport: an answer
// needs neither a connection nor a goroutine of its own.
type model struct {
	opts    *Options
	tool    string
	violate func(agent, turn uint64, what string)
	n       atomic.Uint64 // requests, to choose those that are checked whole
	open    atomic.Int64  // answers whose body was not closed

	toolBytes int       // that the tools and what follows take in a request, at most
	buffers   sync.Pool // of requests
	answers   sync.Pool // *[]byte
}

func newModel(o *Options, tool string, violate func(agent, turn uint64, what string)) *model {
	m := &model{opts: o, tool: tool, violate: violate, toolBytes: 1000}
	for _, t := range o.Toolset.List() {
		m.toolBytes += 2*(len(t.Name)+len(t.Description)+len(t.Schema)) + 200
	}
	m.buffers.New = func() any { return new(bytes.Buffer) }
	m.answers.New = func() any { return new([]byte) }
	return m
}

// asked is what a request wants.
type asked struct {
	agent, turn  uint64
	tag          string
	calls, words int
	chain        bool
	batches      int // calls of this turn so far
	stream       bool
	tools        bool
}

// RoundTrip implements [http.RoundTripper].
func (m *model) RoundTrip(req *http.Request) (*http.Response, error) {
	ctx := req.Context()
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if req.Method != http.MethodPost {
		return m.respond(req, "application/json", newPaced(ctx, []byte(`{"object":"list","data":[{"id":"stress","object":"model"}]}`), nil, 0)), nil
	}
	buffer := m.buffers.Get().(*bytes.Buffer)
	defer m.buffers.Put(buffer)
	buffer.Reset()
	_, err := buffer.ReadFrom(req.Body)
	_ = req.Body.Close()
	if err != nil {
		return nil, err
	}
	body := buffer.Bytes()
	a, err := m.readAsk(body)
	if err != nil {
		return plainResponse(req, http.StatusBadRequest, `{"error":{"message":"`+err.Error()+`"}}`), nil
	}
	m.check(a, body)
	if !a.stream {
		return m.respond(req, "application/json", newPaced(ctx, m.whole(a, len(body)), nil, 0)), nil
	}
	data, cuts := m.answer(a, len(body))
	p := newPaced(ctx, data, cuts, m.opts.Pace)
	p.reuse = true
	return m.respond(req, "text/event-stream", p), nil
}

func (m *model) respond(req *http.Request, kind string, p *paced) *http.Response {
	m.open.Add(1)
	p.model = m
	return &http.Response{
		Status: "200 OK", StatusCode: http.StatusOK, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: http.Header{"Content-Type": {kind}}, Body: p, ContentLength: -1, Request: req,
	}
}

// readAsk finds out what a request's last prompt wants and how far its turn is.
// It looks at the request's end only: a chain of calls makes requests long, and
// the model must not be what is measured. A mark and a call's id hold nothing
// that JSON would escape.
func (m *model) readAsk(body []byte) (asked, error) {
	a := asked{
		calls: m.opts.Tools.Calls, chain: m.opts.Tools.Chain, words: m.opts.Tokens,
		stream: bytes.Contains(body[max(0, len(body)-200):], []byte(`"stream":true`)),
	}
	calling := false
	end := body[max(0, len(body)-m.toolBytes-4096):]
	if bytes.Contains(end, []byte(askMark)) || bytes.Contains(end, []byte(callMark)) {
		body = end
	}
	ask := bytes.LastIndex(body, []byte(askMark))
	if call := bytes.LastIndex(body, []byte(callMark)); call > ask {
		// call_AGENT.TURN_NTH: calls were made in this turn.
		rest := body[call+len(callMark):]
		a.agent, a.turn, rest = readTag(rest)
		a.batches, _ = readNumber(rest[min(1, len(rest)):])
		calling = true
	} else if ask >= 0 {
		var rest []byte
		a.agent, a.turn, rest = readTag(body[ask+len(askMark):])
		calling = bytes.HasPrefix(rest, []byte(callingMark))
	}
	if a.agent == 0 {
		return a, errors.New("no prompt of the load generator is in the request")
	}
	if !calling {
		a.calls = 0
	}
	a.tag = tagOf(a.agent, a.turn)
	// Tools come after the messages; a request for a summary has none.
	a.tools = bytes.Contains(body[max(0, len(body)-m.toolBytes):], []byte(`,"tools":[`))
	return a, nil
}

// readTag reads AGENT.TURN.
func readTag(b []byte) (agent, turn uint64, rest []byte) {
	x, b := readNumber(b)
	if len(b) == 0 || b[0] != '.' {
		return 0, 0, b
	}
	y, b := readNumber(b[1:])
	return uint64(x), uint64(y), b
}

func readNumber(b []byte) (n int, rest []byte) {
	for len(b) > 0 && b[0] >= '0' && b[0] <= '9' {
		n = n*10 + int(b[0]-'0')
		b = b[1:]
	}
	return n, b
}

// wants is how many calls the answer makes.
func (a asked) wants() int {
	switch {
	case !a.tools: // a summary of the conversation is wanted
		return 0
	case a.chain && a.batches < a.calls:
		return 1
	case !a.chain && a.batches == 0:
		return a.calls
	}
	return 0
}

const (
	chunkHead   = `data: {"id":"s","object":"chat.completion.chunk","model":"stress","choices":[{"index":0,"delta":{`
	chunkTail   = `},"finish_reason":null}]}` + "\n\n"
	finishChunk = `data: {"id":"s","object":"chat.completion.chunk","model":"stress","choices":[{"index":0,"delta":{},"finish_reason":"%s"}]}` + "\n\n"
	usageChunk  = `data: {"id":"s","object":"chat.completion.chunk","model":"stress","choices":[],"usage":{"prompt_tokens":%d,"completion_tokens":%d,"total_tokens":%d}}` + "\n\ndata: [DONE]\n\n"
	word        = " word"
)

// answer is the stream of an answer, and where its words end.
func (m *model) answer(a asked, request int) (data []byte, cuts []int) {
	n := a.wants()
	size := 512 + (len(chunkHead)+len(chunkTail)+20)*(a.words+1)
	if n > 0 {
		size = 512 + (len(chunkHead)+len(chunkTail)+160)*n
	}
	b := *m.answers.Get().(*[]byte)
	if cap(b) < size {
		b = make([]byte, 0, size)
	}
	b = b[:0]
	paced := m.opts.Pace > 0
	cut := func() {
		if paced {
			cuts = append(cuts, len(b))
		}
	}
	finish := "stop"
	if n == 0 {
		b = append(append(append(append(append(b, chunkHead...), `"role":"assistant","content":"`...), replyMark...), a.tag...), `]"`...)
		b = append(b, chunkTail...)
		cut()
		for range a.words {
			b = append(append(append(append(b, chunkHead...), `"content":"`...), word...), '"')
			b = append(b, chunkTail...)
			cut()
		}
	} else {
		finish = "tool_calls"
		for i := range n {
			b = m.call(b, a, i)
			cut()
		}
	}
	b = fmt.Appendf(b, finishChunk, finish)
	in, out := request/4+1, a.words+n*8
	b = fmt.Appendf(b, usageChunk, in, out, in+out)
	cut()
	return b, cuts
}

func (m *model) call(b []byte, a asked, i int) []byte {
	nth := a.batches + i + 1
	b = append(append(b, chunkHead...), `"tool_calls":[{"index":`...)
	b = strconv.AppendInt(b, int64(i), 10)
	b = append(append(append(b, `,"id":"`...), callID(a, nth)...), `","type":"function","function":{"name":"`...)
	b = append(append(b, m.tool...), `","arguments":`...)
	args, _ := json.Marshal(m.opts.args(a.tag, m.tool, nth)) // a string
	b = append(append(b, args...), `}}]`...)
	return append(b, chunkTail...)
}

func callID(a asked, nth int) string { return callMark + a.tag + "_" + strconv.Itoa(nth) }

// whole is the answer for a client that wants no stream.
func (m *model) whole(a asked, request int) []byte {
	type object = map[string]any
	message, finish := object{"role": "assistant"}, "stop"
	if n := a.wants(); n > 0 {
		finish = "tool_calls"
		var calls []object
		for i := range n {
			nth := a.batches + i + 1
			calls = append(calls, object{"id": callID(a, nth), "type": "function", "function": object{"name": m.tool, "arguments": m.opts.args(a.tag, m.tool, nth)}})
		}
		message["tool_calls"] = calls
	} else {
		message["content"] = replyMark + a.tag + "]" + string(bytes.Repeat([]byte(word), a.words))
	}
	b, _ := json.Marshal(object{ // strings and numbers only
		"object": "chat.completion", "model": "stress",
		"choices": []object{{"index": 0, "message": message, "finish_reason": finish}},
		"usage":   object{"prompt_tokens": request/4 + 1, "completion_tokens": a.words},
	})
	return b
}

// check holds a share of the requests to what the engine promises: all that is
// tagged in one belongs to one agent, calls and results are paired.
func (m *model) check(a asked, body []byte) {
	every := uint64(1 / m.opts.Check)
	if n := m.n.Add(1); every > 1 && n%every != 0 {
		return
	}
	if other := foreignTag(body, a.agent); other != "" {
		m.violate(a.agent, a.turn, "a request of this agent holds "+other)
	}
	if why := checkRequest(body); why != "" {
		m.violate(a.agent, a.turn, "a request is not valid: "+why)
	}
}

// foreignTag finds a mark that is not of the agent.
func foreignTag(text []byte, agent uint64) string {
	own := strconv.FormatUint(agent, 10) + "."
	for _, mark := range []string{askMark, replyMark} {
		for rest := text; ; {
			_, after, found := bytes.Cut(rest, []byte(mark))
			if !found {
				break
			}
			if !bytes.HasPrefix(after, []byte(own)) {
				end := bytes.IndexByte(after[:min(len(after), 40)], ']')
				return mark + string(after[:max(end, 0)]) + "]"
			}
			rest = after
		}
	}
	return ""
}

// checkRequest decodes a request and says what is wrong with its messages.
func checkRequest(body []byte) string {
	var r struct {
		Messages []struct {
			Role       string          `json:"role"`
			Content    json.RawMessage `json:"content"`
			ToolCallID string          `json:"tool_call_id"`
			ToolCalls  []struct {
				ID       string `json:"id"`
				Function struct {
					Name      string `json:"name"`
					Arguments string `json:"arguments"`
				} `json:"function"`
			} `json:"tool_calls"`
		} `json:"messages"`
	}
	if err := json.Unmarshal(body, &r); err != nil {
		return err.Error()
	}
	var p pairs
	for _, w := range r.Messages {
		m := llm.Message{Role: llm.Role(w.Role), ToolCallID: w.ToolCallID, Content: string(w.Content)}
		for _, c := range w.ToolCalls {
			m.ToolCalls = append(m.ToolCalls, llm.ToolCall{ID: c.ID, Name: c.Function.Name, Args: c.Function.Arguments})
		}
		if why := p.add(m); why != "" {
			return why
		}
	}
	return p.end()
}

// paced is an answer's body: all at once, or piece by piece with a pause before
// each. It fails when the client's context ends, as a connection would.
type paced struct {
	ctx   context.Context
	data  []byte
	cuts  []int // ends of the pieces; nil: one piece
	pace  time.Duration
	at    int
	ready int  // data[at:ready] may be read
	reuse bool // data goes back to the model when it was read to its end
	model *model
	done  atomic.Bool
}

func newPaced(ctx context.Context, data []byte, cuts []int, pace time.Duration) *paced {
	p := &paced{ctx: ctx, data: data, cuts: cuts, pace: pace}
	if len(cuts) == 0 {
		p.ready = len(data)
	}
	return p
}

// Read implements [io.Reader].
func (p *paced) Read(b []byte) (int, error) {
	if err := p.ctx.Err(); err != nil {
		return 0, err
	}
	if p.at == p.ready {
		if len(p.cuts) == 0 {
			p.giveBack()
			return 0, io.EOF
		}
		if err := pause(p.ctx, p.pace); err != nil {
			return 0, err
		}
		p.ready, p.cuts = p.cuts[0], p.cuts[1:]
	}
	n := copy(b, p.data[p.at:p.ready])
	p.at += n
	return n, nil
}

// giveBack lets another answer use the buffer. Only the reader knows that
// nobody reads it: Close may come from elsewhere at any time.
func (p *paced) giveBack() {
	if p.reuse {
		p.reuse = false
		data := p.data[:0]
		p.data, p.at, p.ready = nil, 0, 0
		p.model.answers.Put(&data)
	}
}

// Close implements [io.Closer].
func (p *paced) Close() error {
	if !p.done.Swap(true) {
		p.model.open.Add(-1)
	}
	return nil
}

// pause waits, or gives the cause of the context's end.
func pause(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		return ctx.Err()
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
