package stress_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"clm/actors"
	"clm/llm"
	"clm/llm/llmtest"
)

// chaos is a model server and a web server that do what the seed says. A
// prompt's tag tells whose request it is.
type chaos struct {
	seed   uint64
	active atomic.Int64
	mu     sync.Mutex
	asked  map[string]uint64 // requests by agent
	wrong  []string
}

var chaosTag = regexp.MustCompile(`\[(?:ask|note|steer|reply) (a\d+)\.(\d+)\]`)

var chaosArgs = regexp.MustCompile(`\b(a\d+)\.(\d+)\.\d+`)

func (c *chaos) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	c.active.Add(1)
	defer c.active.Add(-1)
	if r.URL.Host == "web" {
		c.web(w, r)
		return
	}
	if r.Method == http.MethodGet {
		_, _ = io.WriteString(w, `{"data":[{"id":"chaos"}]}`)
		return
	}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return // the client left
	}
	text := string(body)
	tags := chaosTag.FindAllStringSubmatch(text, -1)
	if len(tags) == 0 { // a summary of nothing but calls
		tags = chaosArgs.FindAllStringSubmatch(text, -1)
	}
	if len(tags) == 0 {
		c.complain("a request without a tag: %s", text[max(0, len(text)-1500):])
		return
	}
	last := tags[len(tags)-1]
	for _, t := range tags {
		if t[1] != last[1] {
			c.complain("a request holds tags of %s and %s", t[1], last[1])
		}
	}
	c.mu.Lock()
	c.asked[last[1]]++
	n := c.asked[last[1]]
	c.mu.Unlock()
	number, _ := strconv.ParseUint(last[1][1:], 10, 64)
	rnd := rand.New(rand.NewPCG(c.seed, number<<32|n))
	llmtest.Play(w, r, c.script(rnd, last[1], n, text), "", strings.Contains(text, `"stream":true`))
}

func (c *chaos) complain(format string, args ...any) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.wrong = append(c.wrong, fmt.Sprintf(format, args...))
}

// script is an answer: mostly words or calls, sometimes a fault.
func (c *chaos) script(rnd *rand.Rand, agent string, n uint64, request string) string {
	words := fmt.Sprintf("!text [reply %s.%d] and some words\n", agent, n)
	usage := "!usage 500 20\n"
	switch k := rnd.IntN(100); {
	case k < 4:
		return words + "!close\n"
	case k < 7:
		return "!status 429\n{\"error\":{\"message\":\"slow down\"}}\n"
	case k < 10:
		return "!status 500\n{\"error\":{\"message\":\"broken\"}}\n"
	case k < 12:
		return "data: {\"choices\":\x00\n\nnonsense\n\n"
	case k < 14:
		return words + "!hang\n"
	case k < 18:
		return "!sleep " + strconv.Itoa(rnd.IntN(20_000)) + "\n" + words + usage + "!finish stop\n"
	case k < 20:
		return words + "!finish length\n"
	case k < 55 && strings.Contains(request, `"tools":[`):
		return c.calls(rnd, agent, n)
	}
	return "!pace " + strconv.Itoa(rnd.IntN(30)) + "\n" + words + usage + "!finish stop\n"
}

func (c *chaos) calls(rnd *rand.Rand, agent string, n uint64) string {
	var b strings.Builder
	for i := range 1 + rnd.IntN(4) {
		name := chaosTools[rnd.IntN(len(chaosTools))]
		id := fmt.Sprintf("c%d_%d", n, i)
		if rnd.IntN(20) == 0 {
			id = "same" // as bad servers do
		}
		fmt.Fprintf(&b, "!tool %s@%d %s {\"n\":\"%s.%d.%d\",\"ms\":%d}\n", id, i, name, agent, n, i, rnd.IntN(300))
	}
	b.WriteString("!finish tool_calls\n")
	return b.String()
}

// web is what plugins reach.
func (c *chaos) web(w http.ResponseWriter, r *http.Request) {
	ms, _ := strconv.Atoi(strings.Trim(r.URL.Path, "/"))
	if ms > 290 {
		ms = 3_600_000 // never
	}
	select {
	case <-time.After(time.Duration(ms) * time.Millisecond):
		_, _ = io.WriteString(w, "body")
	case <-r.Context().Done():
	}
}

// chaosTools are what the model calls; not all of them exist at all times.
var chaosTools = []string{"echo", "sleepy", "family", "fetch", "broken", "gated", "go_echo", "go_slow", "go_panic", "extra", "nobody"}

const chaosPlugin = `
local count = 0
local function tool(name, gated, f)
  clm.tool_register(name, { no_prompt = not gated, timeout_ms = 5000, invoke = function(args, ctx)
    count = count + 1
    f(args, ctx)
  end })
end
tool("echo", false, function(a, ctx) ctx:complete("echo " .. a.n) end)
tool("sleepy", false, function(a, ctx) clm.sleep(a.ms * 10) ctx:complete("slept " .. a.n) end)
tool("family", false, function(a, ctx)
  local ts = {}
  for i = 1, 6 do ts[i] = clm.spawn(function() clm.sleep(a.ms * i) if i == 5 and a.ms % 3 == 0 then error("unlucky") end return i end) end
  if a.ms % 2 == 0 then
    local first = clm.wait_any(ts, a.ms)
    for i = 1, 6 do ts[i]:cancel() end
    ctx:complete("first " .. tostring(first) .. " " .. a.n)
  else
    local values, err = clm.try_all(ts)
    ctx:complete(a.n .. " " .. tostring(err or #values))
  end
end)
tool("fetch", false, function(a, ctx)
  local r, err = http.get("http://web/" .. a.ms)
  ctx:complete(a.n .. " " .. (r and r.body or err))
end)
tool("broken", false, function(a, ctx) error({}) end)
tool("gated", true, function(a, ctx) ctx:complete("gated " .. a.n) end)
-- version VERSION
`

func goTools() actors.GoTools {
	noop := func(name string, run func(ctx context.Context, c actors.ToolCall) (actors.ToolOutput, error)) actors.Tool {
		return actors.Tool{Name: name, Description: name, NoPrompt: true, Run: run}
	}
	return actors.GoTools{
		noop("go_echo", func(_ context.Context, c actors.ToolCall) (actors.ToolOutput, error) {
			return actors.ToolOutput{Text: c.Args}, nil
		}),
		noop("go_slow", func(ctx context.Context, c actors.ToolCall) (actors.ToolOutput, error) {
			select {
			case <-time.After(10 * time.Second):
				return actors.ToolOutput{}, errors.New("slow and failed")
			case <-ctx.Done():
				return actors.ToolOutput{}, ctx.Err()
			}
		}),
		noop("go_panic", func(context.Context, actors.ToolCall) (actors.ToolOutput, error) { panic("a tool of no manners") }),
	}
}

// chaosSet is the toolset with a version of the plugin.
func chaosSet(t *testing.T, version int) *actors.Toolset {
	source := strings.Replace(chaosPlugin, "VERSION", strconv.Itoa(version), 1)
	p, errs := actors.LoadPlugins(context.Background(), actors.PluginOptions{Files: []actors.PluginFile{{Name: "chaos", Source: source}}})
	for _, err := range errs {
		t.Fatal(err)
	}
	set, err := actors.NewToolset(p, goTools())
	if err != nil {
		t.Fatal(err)
	}
	return set
}

func countText(all, text string) int { return strings.Count(all, text) }

// validPairs says what is wrong with a conversation's calls and results.
func validPairs(h []llm.Message) string {
	var open []string
	ids := map[string]bool{}
	for i, m := range h {
		switch {
		case m.Role == llm.RoleTool:
			if len(open) == 0 || open[0] != m.ToolCallID {
				return fmt.Sprintf("message %d answers %q, open are %q", i, m.ToolCallID, open)
			}
			open = open[1:]
			continue
		case len(open) > 0:
			return fmt.Sprintf("message %d of role %s comes while %q are open", i, m.Role, open)
		}
		for _, c := range m.ToolCalls {
			if ids[c.ID] {
				return fmt.Sprintf("message %d repeats the id %q", i, c.ID)
			}
			ids[c.ID] = true
			open = append(open, c.ID)
		}
	}
	if len(open) > 0 {
		return fmt.Sprintf("open are %q", open)
	}
	return ""
}
