// Package provider makes the client for a connection. It lists every dialect
// that clm speaks.
package provider

import (
	"fmt"
	"net/http"
	"time"

	"clm/llm"
	"clm/llm/anthropic"
	"clm/llm/llmtest"
	"clm/llm/openai"
	"clm/llm/responses"
)

// demoPace is the time between two words of the demo model: it is meant to be
// watched.
const demoPace = 5 * time.Millisecond

// New makes the client for a connection. It makes no request. rt is shared
// among all clients of a process (see [llm.NewTransport]); the demo model needs
// none. The error is an [*llm.Error] when the connection cannot be used.
func New(conn llm.Connection, rt http.RoundTripper) (llm.Client, error) {
	switch conn.Kind {
	case llm.KindOpenAI, llm.KindOllama, "":
		return asClient(openai.New(conn, rt))
	case llm.KindAnthropic:
		return asClient(anthropic.New(conn, rt))
	case llm.KindResponses:
		return asClient(responses.New(conn, rt))
	case llm.KindDemo:
		demo := llm.Connection{Name: conn.Name, Kind: llm.KindDemo, URL: "http://demo/v1"}
		return asClient(openai.New(demo, llmtest.NewTransport(llmtest.Demo{Pace: demoPace})))
	}
	return nil, &llm.Error{Kind: llm.ErrRequest, Message: fmt.Sprintf("the connection has the unknown kind %q; the kinds are openai, ollama, anthropic, openai-responses and demo", conn.Kind)}
}

// asClient keeps a nil pointer out of the interface.
func asClient[C llm.Client](c C, err error) (llm.Client, error) {
	if err != nil {
		return nil, err
	}
	return c, nil
}
