package actors_test

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"clm/actors"
	"clm/actors/msg"
	"clm/llm"
)

// pair is a model with a fallback, each with a key of its own.
func pair() actors.Model {
	first := actors.Model{
		Connection: llm.Connection{Name: "first", URL: modelURL, Key: "key-of-first"}, ID: "m", ContextSize: 100_000, MaxOutputTokens: 500,
	}
	first.Fallback = []actors.Model{{
		Connection: llm.Connection{Name: "second", URL: modelURL, Key: "key-of-second"}, ID: "other", MaxOutputTokens: 7,
	}}
	return first
}

// asked names the connection and model of each request.
func asked(r *rig) (out []string) {
	for _, q := range r.model.Requests() {
		var body struct {
			Model     string `json:"model"`
			MaxTokens int    `json:"max_tokens"`
		}
		if err := json.Unmarshal(q.Body, &body); err != nil {
			r.Fatal(err)
		}
		out = append(out, fmt.Sprintf("%s %s %d", strings.TrimPrefix(q.Header.Get("Authorization"), "Bearer key-of-"), body.Model, body.MaxTokens))
	}
	return out
}

func notices(events []actors.Event) (out []string) {
	for _, e := range events {
		if n, ok := e.Data.(msg.Notice); ok {
			out = append(out, n.Text)
		}
	}
	return out
}

const (
	first  = "first m 500"
	second = "second other 7"
)

// What comes of a first answer, and who is asked after it.
func TestFailover(t *testing.T) {
	five := []string{first, first, first, first, first}
	for name, tc := range map[string]struct {
		reply string
		asked []string
		kind  string // of the turn's failure
	}{
		"refused key":      {"!status 401\n{\"error\":\"no\"}\n", []string{first, second}, ""},
		"spent quota":      {"!status 429\n{\"error\":{\"message\":\"spent\",\"code\":\"insufficient_quota\"}}\n", []string{first, second}, ""},
		"overloaded":       {"!status 529\n{\"error\":\"busy\"}\n", append(five[:5:5], second), ""},
		"rate limit":       {"!status 429\n!header Retry-After: soon\nslow\n", append(five[:5:5], second), ""},
		"timeout":          {"!status 408\nslow\n", append(five[:5:5], second), ""},
		"bad gateway":      {"!status 502\n<html><title>Bad Gateway</title>\n", append(five[:5:5], second), ""},
		"closed":           {"!close first\n", append(five[:5:5], second), ""},
		"bad request":      {"!status 400\n{\"error\":\"bad\"}\n", []string{first}, "request"},
		"cut":              {"!text half\n!close\n", []string{first}, "network"},
		"ended":            {"!sse\ndata: {\"choices\":[{\"delta\":{\"content\":\"half\"}}]}\n\n", []string{first}, "protocol"},
		"error in stream":  {"!sse\ndata: {\"choices\":[{\"delta\":{\"content\":\"half\"}}]}\n\ndata: {\"error\":\"busy\"}\n\n", []string{first}, "overloaded"},
		"error at start":   {"!sse\ndata: {\"error\":{\"message\":\"busy\",\"code\":503}}\n\n", []string{first}, "overloaded"},
		"window, late":     {"!sse\ndata: {\"choices\":[{\"delta\":{\"content\":\"half\"}}]}\n\nerror: {\"message\":\"exceeds the available context size\"}\n\ndata: [DONE]\n\n", []string{first}, "context"},
		"no tools, late":   {"!sse\ndata: {\"error\":\"m does not support tools\"}\n\n", []string{first}, "no_tools"},
		"nothing in a 200": {"!sse\n", []string{first}, "protocol"},
	} {
		t.Run(name, func(t *testing.T) {
			replies := []string{tc.reply}
			for len(replies) < len(tc.asked)-1 {
				replies = append(replies, tc.reply)
			}
			bubble(t, actors.Options{}, func(r *rig) {
				a, l := r.spawn(actors.AgentOptions{Model: pair(), Tools: r.tools(goTool(says("x")))})
				d, events := r.turn(a, l, "go")
				if got := asked(r); !slices.Equal(got, tc.asked) {
					r.Errorf("asked %q, want %q", got, tc.asked)
				}
				if d.Kind != tc.kind || (tc.kind == "") != (d.Status == "done") {
					r.Errorf("%+v", d)
				}
				told := slices.ContainsFunc(notices(events), func(s string) bool { return strings.HasSuffix(s, "; going on with second") })
				if told != (len(tc.asked) > 1) {
					r.Errorf("notices %q", notices(events))
				}
			}, append(replies, ok)...)
		})
	}
}

// A turn stays with the connection that answered: it does not wait for the
// first before each of its requests, and what the other one thought goes back to
// it. The next turn begins with the first again.
func TestTurnStaysWithAFallback(t *testing.T) {
	const thought = "!sse\ndata: {\"choices\":[{\"delta\":{\"reasoning_content\":\"deep\",\"tool_calls\":[{\"id\":\"c1\",\"function\":{\"name\":\"t\",\"arguments\":\"{}\"}}]},\"finish_reason\":\"tool_calls\"}]}\n\n"
	bubble(t, actors.Options{}, func(r *rig) {
		a, l := r.spawn(actors.AgentOptions{Model: pair(), Tools: r.tools(goTool(says("done")))})
		d, events := r.turn(a, l, "go")
		if d.Text != "ok" || len(notices(events)) != 1 {
			r.Errorf("%+v, notices %q", d, notices(events))
		}
		r.turn(a, l, "go")
		if got := asked(r); !slices.Equal(got, []string{first, second, second, first}) {
			r.Errorf("asked %q", got)
		}
		for i, back := range []bool{false, false, true, false} {
			if got := strings.Contains(string(r.model.Requests()[i].Body), `"reasoning_content":"deep"`); got != back {
				r.Errorf("request %d has the reasoning: %v", i+1, got)
			}
		}
	}, "!status 401\nno\n", thought, ok, ok)
}

// A fallback is asked with tools, whatever the first refuses, and the reverse.
func TestFallbackHasItsOwnTools(t *testing.T) {
	const refusal = "!status 400\n{\"error\":\"m does not support tools\"}\n"
	const key = "!status 401\nno\n"
	bubble(t, actors.Options{}, func(r *rig) {
		a, l := r.spawn(actors.AgentOptions{Model: pair(), Tools: r.tools(goTool(says("x")))})
		d, events := r.turn(a, l, "go")
		if got := asked(r); d.Text != "ok" || len(notices(events)) != 2 || !slices.Equal(got, []string{first, first, second}) {
			r.Errorf("%+v, notices %q, asked %q", d, notices(events), got)
		}
		for i, want := range []bool{true, false, true} {
			if _, got := r.model.Requests()[i].JSON()["tools"]; got != want {
				r.Errorf("request %d has tools: %v", i, got)
			}
		}
	}, refusal, key, ok)
}

// An answer costs what the model costs that gave it.
func TestPriceOfAFallback(t *testing.T) {
	const answer = "!text x\n!usage 1000 100\n!finish stop\n"
	for name, tc := range map[string]struct {
		change func(f *actors.Model)
		price  float64
	}{
		"its own":                         {func(f *actors.Model) { f.Price = actors.Price{Input: 10, Output: 50} }, 0.015},
		"not known":                       {func(*actors.Model) {}, 0},
		"the same model elsewhere":        {func(f *actors.Model) { f.ID = "" }, 0.003},
		"the same model at another price": {func(f *actors.Model) { f.ID, f.Price.Input = "", 2 }, 0.002},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, actors.Options{}, func(r *rig) {
				m := pair()
				m.Price = actors.Price{Input: 1, Output: 20}
				tc.change(&m.Fallback[0])
				b := &actors.Budget{}
				a, l := r.spawn(actors.AgentOptions{Model: m, Budget: b})
				for i, want := range []float64{tc.price, 0.003} { // the second turn begins with the first again
					_, events := r.turn(a, l, "go")
					for _, e := range events {
						if u, ok := e.Data.(msg.UsageReported); ok && math.Abs(u.Price-want) > 1e-9 {
							r.Errorf("turn %d: price %v, want %v", i, u.Price, want)
						}
					}
				}
				if _, _, spent := b.Used(); math.Abs(spent-tc.price-0.003) > 1e-9 {
					r.Errorf("spent %v", spent)
				}
			}, "!status 401\nno\n", answer, answer)
		})
	}
}

// The last of a chain ends the turn, and the next turn begins with the first.
func TestFailoverEnds(t *testing.T) {
	const refused = "!status 401\nno\n"
	bubble(t, actors.Options{}, func(r *rig) {
		a, l := r.spawn(actors.AgentOptions{Model: pair()})
		if d, _ := r.turn(a, l, "go"); d.Status != "failed" || d.Kind != "authorisation" {
			r.Errorf("%+v", d)
		}
		if d, _ := r.turn(a, l, "go"); d.Status != "done" {
			r.Errorf("%+v", d)
		}
		if got := asked(r); !slices.Equal(got, []string{first, second, first}) {
			r.Errorf("asked %q", got)
		}
	}, refused, refused, ok)
}

// A server is left alone for as long as it says, and then asked within the
// connection's rate: a second try is a request like any other.
func TestRetryWaits(t *testing.T) {
	for name, tc := range map[string]struct {
		header   string
		rate     float64
		min, max time.Duration
	}{
		"seconds":        {"3", 0, 3 * time.Second, 4 * time.Second},
		"date":           {"Sat, 01 Jan 2000 00:00:10 GMT", 0, 10 * time.Second, 11 * time.Second}, // a bubble begins at midnight
		"too long":       {"1e9", 0, time.Minute, 61 * time.Second},
		"junk":           {"soon", 0, 0, time.Second},
		"negative":       {"-1", 0, 0, time.Second},
		"within a rate":  {"3", 10, 10 * time.Second, 11 * time.Second}, // 100 tokens: ten seconds until the bucket is full again
		"beyond a rate":  {"30", 10, 30 * time.Second, 31 * time.Second},
		"rate and chaos": {"soon", 10, 10 * time.Second, 11 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, actors.Options{}, func(r *rig) {
				m := mock(1 << 20)
				m.RateTokensPerSec, m.RateBurst = tc.rate, 100
				a, l := r.spawn(actors.AgentOptions{Model: m})
				start := time.Now()
				n := r.begin(a, strings.Repeat("x", 400))
				if s := a.State(); s != msg.StateRateLimited {
					r.Errorf("state %v", s)
				}
				if d, _ := r.end(l, n); d.Status != "done" {
					r.Errorf("%+v", d)
				}
				if took := time.Since(start).Round(time.Microsecond); took < tc.min || took > tc.max {
					r.Errorf("asked again after %v, want %v to %v", took, tc.min, tc.max)
				}
			}, "!status 429\n!header Retry-After: "+tc.header+"\nslow down\n", ok)
		})
	}
}

// Cancelling works while a server is left alone, and nobody else is asked then.
func TestCancelBetweenTries(t *testing.T) {
	bubble(t, actors.Options{}, func(r *rig) {
		a, l := r.spawn(actors.AgentOptions{Model: pair()})
		start := time.Now()
		n := r.begin(a, "go")
		if err := a.Cancel(); err != nil {
			r.Fatal(err)
		}
		if d, _ := r.end(l, n); d.Status != "canceled" || time.Since(start) != 0 {
			r.Errorf("%+v after %v", d, time.Since(start))
		}
		if got := asked(r); !slices.Equal(got, []string{first}) {
			r.Errorf("asked %q", got)
		}
	}, "!status 429\n!header Retry-After: 30\nslow down\n", ok)
}
