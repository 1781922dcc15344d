package conformance

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"clm/llm"
)

// limits holds what a client does about sizes.
func limits(t *testing.T, d Dialect) {
	args := `{"x":"` + strings.Repeat("z", 2<<20) + `"}`
	large := Answer{Calls: []Call{{ID: "c1", Name: "add", Args: []string{args}}}, Finish: llm.FinishToolCalls}
	for _, body := range []string{d.Stream(large), d.Whole(large)} {
		resp, _, err := d.ask(t, events(body), true)
		if err != nil || len(resp.Message.ToolCalls) != 1 || resp.Message.ToolCalls[0].Args != args {
			t.Errorf("2 MiB of arguments: %v", err)
		}
	}
	endlessLine := serve(200, "text/event-stream", io.MultiReader(strings.NewReader("data: {\"x\":\""), endless(strings.Repeat("z", 64<<10))))
	if _, _, err := d.ask(t, endlessLine, true); err == nil || !strings.Contains(err.Error(), "16 MiB") {
		t.Errorf("an endless line: %v", err)
	}
	endlessJSON := serve(200, "application/json", io.MultiReader(strings.NewReader("{\"x\":\""), endless(strings.Repeat("z", 64<<10))))
	if _, _, err := d.ask(t, endlessJSON, false); err == nil || !strings.Contains(err.Error(), "larger than") {
		t.Errorf("endless JSON: %v", err)
	}
}

// endless is a body of this text again and again.
type endless string

func (e endless) Read(b []byte) (int, error) { return copy(b, e), nil }

// refusalTable is what servers answer instead of a 200.
var refusalTable = []struct {
	status int
	body   string
	header string // "Name: value"
	kind   llm.ErrorKind
	says   string
	after  time.Duration
}{
	{401, `{"error":{"message":"invalid key supplied","type":"auth"}}`, "", llm.ErrAuth, "invalid key supplied", 0},
	{403, `{"error":"forbidden here"}`, "", llm.ErrAuth, "forbidden here", 0},
	{402, `{"error":{"message":"Insufficient Balance"}}`, "", llm.ErrQuota, "Insufficient Balance", 0},
	{429, `{"error":{"message":"slow down","code":"rate_limit_exceeded"}}`, "Retry-After: 2", llm.ErrRateLimit, "slow down", 2 * time.Second},
	{429, `{"error":{"message":"plan","code":"insufficient_quota"}}`, "Retry-After: 2", llm.ErrQuota, "plan", 2 * time.Second},
	{429, `{"error":{"message":"You exceeded your current quota"}}`, "", llm.ErrQuota, "quota", 0},
	{429, `{"error":{"message":"You exceeded your current quota"}}`, "Retry-After: 3", llm.ErrRateLimit, "quota", 3 * time.Second},
	{429, `slow`, "Retry-After: Wed, 21 Oct 2099 07:28:00 GMT", llm.ErrRateLimit, "slow", time.Minute},
	{429, `slow`, "Retry-After: Wed, 21 Oct 2015 07:28:00 GMT", llm.ErrRateLimit, "slow", 0},
	{429, `slow`, "Retry-After: -1", llm.ErrRateLimit, "slow", 0},
	{429, `slow`, "Retry-After: soon", llm.ErrRateLimit, "slow", 0},
	{429, `slow`, "Retry-After: 0.5", llm.ErrRateLimit, "slow", time.Second / 2},
	{429, `slow`, "Retry-After: 1e9", llm.ErrRateLimit, "slow", time.Minute},
	{429, `slow`, "Retry-After: NaN", llm.ErrRateLimit, "slow", 0},
	{429, `slow`, "Retry-After-Ms: 1500", llm.ErrRateLimit, "slow", 1500 * time.Millisecond},
	{500, `{"error":{"message":"gone"}}`, "", llm.ErrOverloaded, "gone", 0},
	{503, ``, "Retry-After: 7", llm.ErrOverloaded, "Service Unavailable", 7 * time.Second},
	{529, `{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}`, "", llm.ErrOverloaded, "Overloaded", 0},
	{502, `<html><head><title>502 Bad Gateway</title></head><body>nginx</body></html>`, "", llm.ErrOverloaded, "502 Bad Gateway", 0},
	{400, `{"error":"m does not support tools"}`, "", llm.ErrNoTools, "does not support tools", 0},
	{500, `{"error":{"code":500,"message":"tools param requires --jinja flag"}}`, "", llm.ErrNoTools, "--jinja", 0},
	{404, `{"error":{"message":"No endpoints found that support tool use"}}`, "", llm.ErrNoTools, "tool use", 0},
	{400, `{"error":{"message":"too long","code":"context_length_exceeded"}}`, "", llm.ErrContext, "too long", 0},
	{400, `{"error":{"message":"the request exceeds the available context size","type":"exceed_context_size_error"}}`, "", llm.ErrContext, "context size", 0},
	{400, `{"type":"error","error":{"type":"invalid_request_error","message":"prompt is too long: 210000 tokens > 200000 maximum"}}`, "", llm.ErrContext, "210000", 0},
	{413, `too large`, "", llm.ErrContext, "too large", 0},
	{400, `{"error":{"message":"bad field"}}`, "", llm.ErrRequest, "bad field", 0},
	{422, `{"detail":[{"loc":["body","messages",0],"msg":"field required","type":"value_error"}]}`, "", llm.ErrRequest, "body.messages.0: field required", 0},
	{404, `{"detail":"Not Found"}`, "", llm.ErrRequest, "Not Found", 0},
	{400, `{"object":"error","message":"vllm says no","type":"BadRequestError","code":400}`, "", llm.ErrRequest, "vllm says no", 0},
	{400, `[{"error":{"message":"in a list","status":"INVALID_ARGUMENT"}}]`, "", llm.ErrRequest, "in a list", 0},
	{400, `{"error":null,"message":"beside null"}`, "", llm.ErrRequest, "beside null", 0},
	{400, `{"error":{"message":"Provider returned error","metadata":{"raw":"{\"error\":{\"message\":\"from behind\"}}"}}}`, "", llm.ErrRequest, "from behind", 0},
	{400, `"just text"`, "", llm.ErrRequest, "just text", 0},
	{400, "plain\n\x1b[31mtext\x00", "", llm.ErrRequest, "plain [31mtext", 0},
	{400, `{}`, "", llm.ErrRequest, "Bad Request", 0},
	{400, `{"error":{"message":"` + strings.Repeat("long ", 1000) + `"}}`, "", llm.ErrRequest, "long long", 0},
	{408, ``, "", llm.ErrRequest, "Timeout", 0},
	{409, ``, "", llm.ErrRequest, "Conflict", 0},
	{302, ``, "Location: https://other/v1", llm.ErrRequest, "https://other/v1", 0},
}

func refusals(t *testing.T, d Dialect) {
	for _, tt := range refusalTable {
		name := fmt.Sprintf("%d %.60s %s", tt.status, tt.body, tt.header)
		k, v, _ := strings.Cut(tt.header, ": ")
		tries := 0
		_, _, err := d.ask(t, serverFunc(func(r *http.Request) (*http.Response, error) {
			tries++
			return serve(tt.status, "", strings.NewReader(tt.body), k, v)(r)
		}), true)
		if err == nil {
			t.Errorf("%s: success", name)
			continue
		}
		if err.Kind != tt.kind || err.Status != tt.status || err.Started || err.RetryAfter != tt.after || !strings.Contains(err.Error(), tt.says) {
			t.Errorf("%s: kind %s, status %d, started %v, after %v: %v", name, err.Kind, err.Status, err.Started, err.RetryAfter, err)
		}
		if tries != 1 {
			t.Errorf("%s: %d tries", name, tries)
		}
	}
}

// errorsInside holds that an error object in a 200 is never a success, nor
// text before it.
func errorsInside(t *testing.T, d Dialect) {
	whole := d.Stream(plain)
	head, _, _ := strings.Cut(whole, "\n\n")
	event := d.Error("upstream at capacity")
	for name, body := range map[string]string{
		"first":         event,
		"after a part":  head + "\n\n" + event,
		"without event": dropLines(event, "event:"),
		"as JSON":       `{"error":{"message":"upstream at capacity","code":502}}`,
		"as text":       `{"error":"upstream at capacity"}`,
		"text in event": "data: {\"error\":\"upstream at capacity\"}\n\n",
		"event alone":   "event: error\ndata: {\"message\":\"upstream at capacity\"}\n\n",
		"not JSON":      "event: error\ndata: upstream at capacity\n\n",
		"in a list":     `[{"error":{"message":"upstream at capacity"}}]`,
		"detail":        `{"detail":"upstream at capacity"}`,
	} {
		resp, _, err := d.ask(t, events(body), true)
		if err == nil {
			t.Errorf("%s: a success: %s", name, outline(resp))
			continue
		}
		if !strings.Contains(err.Error(), "upstream at capacity") || !err.Started || err.Retryable() {
			t.Errorf("%s: started %v: %v", name, err.Started, err)
		}
	}
	for name, body := range map[string]string{
		"web page":      "<!doctype html><title>Log in</title>",
		"half JSON":     "data: {\"choi\n\n",
		"text":          "data: hello\n\n",
		"empty":         "",
		"empty object":  "{}",
		"empty objects": "data: {}\n\ndata: [DONE]\n\n",
		"null":          "data: null\n\n",
	} {
		if resp, _, err := d.ask(t, events(body), true); err == nil {
			t.Errorf("%s: a success: %s", name, outline(resp))
		} else if err.Kind != llm.ErrProtocol {
			t.Errorf("%s: kind %s: %v", name, err.Kind, err)
		}
	}
}

// noSecrets has the key echoed in every place of an answer; ask checks the
// errors.
func noSecrets(t *testing.T, d Dialect) {
	for _, body := range []string{
		key, `"` + key + `"`, `{"error":"bad key ` + key + `"}`, `{"error":{"message":"x","code":"` + key + `"}}`,
		`{"error":{"message":"` + strings.Repeat("y", 390) + key + `"}}`, "<title>" + key + "</title>",
		`{"detail":[{"loc":["` + key + `"],"msg":"` + key + `"}]}`, "Authorization: Bearer " + key,
	} {
		for _, status := range []int{200, 400, 401, 500} {
			for _, form := range []string{"%s", "event: error\ndata: %s\n\n", "data: %s\n\n"} {
				if _, _, err := d.ask(t, serve(status, "", strings.NewReader(fmt.Sprintf(form, body)), "Location", "http://x/"+key), true); err == nil {
					t.Errorf("%d %s is a success", status, body)
				}
			}
		}
	}
	_, _, err := d.ask(t, serverFunc(func(*http.Request) (*http.Response, error) {
		return nil, fmt.Errorf("dial with %s: %w", key, io.ErrClosedPipe)
	}), true)
	if err == nil || err.Kind != llm.ErrNetwork {
		t.Errorf("a transport's error: %v", err)
	}
	c, cerr := d.New(llm.Connection{Kind: d.Kind, URL: "http://user:" + key + "@h/" + key + "/v1?key=" + key, Key: key}, events("<html>"+key))
	if cerr != nil {
		t.Fatal(cerr)
	}
	for _, verb := range []string{"%v", "%+v", "%#v"} {
		if strings.Contains(fmt.Sprintf(verb, c), key) {
			t.Errorf("%s of a client shows the key", verb)
		}
	}
	if _, err := c.Complete(t.Context(), request(true), nil); err == nil || strings.Contains(err.Error(), key) {
		t.Errorf("with the key in the URL: %v", err)
	}
}
