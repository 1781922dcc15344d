package wire

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"clm/llm"
	"clm/llm/internal/jsonscan"
	"clm/llm/internal/sse"
)

// Decoder takes one answer apart, in one dialect.
type Decoder interface {
	// Event takes an event of a stream.
	Event(ev sse.Event) error
	// Whole takes an answer that came as one JSON value.
	Whole(body []byte) error
	// State tells whether what came is a whole answer already, and whether
	// nothing that matters can follow.
	State() (whole, ended bool)
	// Response is the answer, or why there is none.
	Response() (*llm.Response, error)
}

// maxLessons is how often one request is put differently. Servers name one
// thing at a time that they do not take.
const maxLessons = 4

// Exchange makes a request of the dialect's own path and reads its answer. encode makes its body, of
// messages as [Client.Shown] gives them. When the server refuses the request,
// learn may find in the error what it does not take and remember it; if encode
// then makes another body, that is sent.
func (c *Client) Exchange(ctx context.Context, req *llm.Request,
	encode func() Body, learn func(*llm.Error), decoder func(*Response) Decoder,
) (*llm.Response, error) {
	body := encode()
	resp, err := c.Post(ctx, c.own, body, req.Stream)
	for range maxLessons {
		var e *llm.Error
		if !errors.As(err, &e) || e.Status == 0 {
			break
		}
		if e.Status == http.StatusBadRequest || e.Status == http.StatusUnprocessableEntity {
			learn(e)
		}
		c.blind.learn(e, req)
		again := encode()
		if again.equal(body) {
			break
		}
		body = again
		resp, err = c.Post(ctx, c.own, body, req.Stream)
	}
	if err != nil {
		return nil, err
	}
	defer resp.Close()
	return resp.decode(decoder(resp))
}

// Decode reads an answer as [Client.Exchange] does once a 200 has come, whose
// body is src. It has no limits of time: it is for tests, which cut one answer at
// every byte.
func (c *Client) Decode(src io.Reader, decoder func(*Response) Decoder) (*llm.Response, error) {
	ctx, cancel := context.WithCancelCause(context.Background())
	resp := &Response{
		c: c, ctx: ctx, outer: ctx, cancel: cancel, timer: time.AfterFunc(time.Hour, func() {}), idle: time.Hour, futile: time.Hour,
		status: http.StatusOK, body: io.NopCloser(src), src: src,
	}
	resp.Progress()
	defer resp.Close()
	if err := resp.open(); err != nil {
		return nil, err
	}
	return resp.decode(decoder(resp))
}

func (r *Response) decode(d Decoder) (*llm.Response, error) {
	var err error
	if r.Stream {
		err = r.events(d)
	} else {
		err = r.whole(d)
	}
	if err != nil {
		return nil, err
	}
	return d.Response()
}

// events feeds a stream to a decoder, up to its end. A connection that breaks
// does no harm to an answer that is there.
func (r *Response) events(d Decoder) error {
	events := sse.NewReader(r)
	for {
		whole, ended := d.State()
		if ended {
			return nil
		}
		ev, err := events.Next()
		switch {
		case err == nil:
			err = d.Event(ev)
		case err == io.EOF, whole && isNetwork(err):
			return nil
		case errors.Is(err, sse.ErrTooLong):
			err = r.Failf(llm.ErrProtocol, "%w", err)
		}
		if err != nil {
			return err
		}
	}
}

func isNetwork(err error) bool {
	var e *llm.Error
	return errors.As(err, &e) && e.Kind == llm.ErrNetwork
}

func (r *Response) whole(d Decoder) error {
	body, err := r.ReadAll()
	if err != nil {
		return err
	}
	if !jsonscan.Valid(body) {
		return r.Failf(llm.ErrProtocol, "the answer is not JSON: %.60q", body)
	}
	return d.Whole(body)
}

// Object is the JSON of an event in the dialects whose events are objects; nil
// for those without meaning, which are not JSON: a ping, and a mark of the end.
func (r *Response) Object(ev sse.Event) ([]byte, error) {
	data := bytes.TrimSpace(ev.Data)
	switch {
	case jsonscan.Valid(data):
		return data, nil
	case string(ev.Name) == "error":
		return nil, r.Reported(data)
	case string(data) == "[DONE]", string(ev.Name) == "ping":
		return nil, nil
	}
	return nil, r.Failf(llm.ErrProtocol, "an event of the answer is not JSON: %.60q", data)
}

// Reported is the failure that an event or body reports which is known to be
// one.
func (r *Response) Reported(data []byte) error {
	if err, ok := r.Fault(data); ok {
		return err
	}
	return r.Failf(llm.ErrOverloaded, "the server reports an error without a word: %.60q", data)
}

// Args is a call's arguments: the first text that says anything, else no
// arguments.
func Args(texts ...string) string {
	for _, text := range texts {
		if text = strings.TrimSpace(text); text != "" && text != "null" {
			return text
		}
	}
	return "{}"
}

// FreeID is a call's id, or one in its place when it is empty or one of the
// calls has it.
func FreeID(id string, calls []llm.ToolCall) string {
	taken := func(id string) bool {
		return slices.ContainsFunc(calls, func(c llm.ToolCall) bool { return c.ID == id })
	}
	for n := len(calls) + 1; id == "" || taken(id); n++ {
		id = "call_" + strconv.Itoa(n)
	}
	return id
}
