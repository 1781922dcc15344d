package llmtest

import (
	"encoding/json"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// Demo is a model that answers by itself, in the OpenAI dialect, word by word:
// it explains itself, does sums, counts, and echoes what it does not
// understand. It calls a tool when a line of the prompt is the tool's name,
// with or without arguments in JSON (`hello {"name":"Ada"}`); several such
// lines are parallel calls. It reports their results. The zero value is ready,
// holds nothing, and may be shared by any number of agents.
type Demo struct {
	// Pace is the time before each word; 0 sends them at once. After the first
	// hundred, the rest of a long answer comes at once.
	Pace time.Duration
}

// demoPaced is how many words of an answer are paced: nobody waits minutes to
// have the long result of a tool repeated.
const demoPaced = 100

// demoModels is the answer to GET …/models.
const demoModels = `{"object":"list","data":[{"id":"demo","object":"model","context_length":32768}]}`

// ServeHTTP implements [http.Handler].
func (d Demo) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method == http.MethodGet {
		if !strings.HasSuffix(r.URL.Path, "/models") {
			http.NotFound(w, r)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, demoModels)
		return
	}
	body, err := io.ReadAll(io.LimitReader(r.Body, maxRequest))
	if err != nil {
		return // the client left while it was sending
	}
	var req demoRequest
	if err := json.Unmarshal(body, &req); err != nil {
		w.WriteHeader(http.StatusBadRequest)
		_, _ = io.WriteString(w, demoFault(err))
		return
	}
	p := &player{w: w, r: r, status: http.StatusOK, stream: req.Stream, pace: d.Pace}
	d.play(p, req.answer(), len(body))
}

// demoFault is the body that refuses a request that is not JSON.
func demoFault(err error) string {
	b, _ := json.Marshal(object{"error": object{"message": "the request is not JSON: " + err.Error()}})
	return string(b)
}

// play sends an answer; it stops when the client leaves.
func (d Demo) play(p *player, a demoAnswer, requestBytes int) {
	out, words := 0, 0
	for word := range strings.SplitAfterSeq(a.text, " ") {
		if word == "" {
			continue
		}
		switch words++; {
		case a.slow > 0:
			p.pace = a.slow
		case words > demoPaced:
			p.pace = 0
		}
		if !p.chunk(delta{member: "content", text: word}) {
			return
		}
		out += len(word)
	}
	finish := "stop"
	for i, c := range a.calls {
		if !p.tool("call_"+strconv.Itoa(i+1), i, c.name, c.args) {
			return
		}
		out += len(c.args)
		finish = "tool_calls"
	}
	p.pace = 0
	if !p.chunk(delta{finish: finish}) || !p.chunk(delta{usage: true, in: (requestBytes + 3) / 4, out: (out + 3) / 4}) {
		return
	}
	if p.whole != nil {
		p.out.Write(p.whole.json())
	} else {
		p.out.WriteString("data: [DONE]\n\n")
	}
	p.flush()
}

// demoRequest is what the demo model reads of a request.
type demoRequest struct {
	Messages []demoMessage `json:"messages"`
	Tools    []struct {
		Function struct {
			Name        string `json:"name"`
			Description string `json:"description"`
		} `json:"function"`
	} `json:"tools"`
	Stream bool `json:"stream"`
}

type demoMessage struct {
	Role       string          `json:"role"`
	Content    json.RawMessage `json:"content"`
	ToolCallID string          `json:"tool_call_id"`
	ToolCalls  []struct {
		ID       string `json:"id"`
		Function struct {
			Name string `json:"name"`
		} `json:"function"`
	} `json:"tool_calls"`
}

// text is a message's text and the number of its other parts.
func (m demoMessage) text() (text string, files int) {
	if json.Unmarshal(m.Content, &text) == nil {
		return text, 0
	}
	var parts []struct {
		Type string `json:"type"`
		Text string `json:"text"`
	}
	if json.Unmarshal(m.Content, &parts) != nil {
		return "", 0
	}
	var texts []string
	for _, p := range parts {
		if p.Type == "text" {
			texts = append(texts, p.Text)
		} else {
			files++
		}
	}
	return strings.Join(texts, "\n"), files
}

type demoAnswer struct {
	text  string
	slow  time.Duration
	calls []demoCall
}

type demoCall struct{ name, args string }
