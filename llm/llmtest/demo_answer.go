package llmtest

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"time"
)

const demoHelp = `I am the demo model: no key, no network, and not much of a mind. Try:
- the name of a tool, with arguments if it takes any: hello {"name":"Ada"}
- several such lines in one prompt: they run in parallel
- tools: what I can call
- a sum: (2 + 3) * 4
- count to 20: slowly, so that you can interrupt it
Anything else comes back to you.`

// answer decides what to say to a conversation's last messages.
func (r demoRequest) answer() demoAnswer {
	last := len(r.Messages)
	for last > 0 && r.Messages[last-1].Role != "assistant" {
		last--
	}
	var prompts, results []string
	files := 0
	for _, m := range r.Messages[last:] {
		text, n := m.text()
		files += n
		switch m.Role {
		case "tool":
			results = append(results, fmt.Sprintf("%s says: %s", r.toolOf(last-1, m.ToolCallID), text))
		case "user":
			prompts = append(prompts, text)
		}
	}
	if len(results) > 0 && files == 0 && len(prompts) == 0 {
		return demoAnswer{text: strings.Join(results, "\n")}
	}
	a := r.reply(strings.TrimSpace(strings.Join(prompts, "\n")), files)
	if len(results) > 0 {
		a.text = strings.TrimSpace(strings.Join(results, "\n") + "\n" + a.text)
	}
	return a
}

// toolOf names the tool of a call in message i.
func (r demoRequest) toolOf(i int, id string) string {
	if i >= 0 {
		for _, c := range r.Messages[i].ToolCalls {
			if c.ID == id {
				return c.Function.Name
			}
		}
	}
	return "the tool"
}

// reply answers a prompt.
func (r demoRequest) reply(prompt string, files int) demoAnswer {
	var calls []demoCall
	for line := range strings.SplitSeq(prompt, "\n") {
		call, problem := r.call(strings.TrimSpace(line))
		if problem != "" {
			return demoAnswer{text: problem}
		}
		if call.name != "" {
			calls = append(calls, call)
		}
	}
	if calls != nil {
		return demoAnswer{calls: calls}
	}
	if files > 0 {
		return demoAnswer{text: fmt.Sprintf("I got %d attached file(s), but I cannot see. You said: %s", files, prompt)}
	}
	return r.talk(prompt)
}

// demoName is what may be a tool's name at the start of a line.
var demoName = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^(?:(?:call|run|use)\s+)?([A-Za-z0-9_-]+)\s*(?:with\s+)?(\{.*)?$`)
})

// call reads a line as a call. Both results are empty when it is none.
func (r demoRequest) call(line string) (call demoCall, problem string) {
	m := demoName().FindStringSubmatch(line)
	if m == nil {
		return demoCall{}, ""
	}
	name, args := m[1], m[2]
	switch {
	case !r.hasTool(name) && args != "":
		return demoCall{}, fmt.Sprintf("I have no tool named %s. %s", name, r.toolList())
	case !r.hasTool(name):
		return demoCall{}, ""
	case args == "":
		args = "{}"
	case !json.Valid([]byte(args)):
		return demoCall{}, fmt.Sprintf("I would call %s, but its arguments are not JSON: %s", name, args)
	}
	return demoCall{name, args}, ""
}

func (r demoRequest) hasTool(name string) bool {
	for _, t := range r.Tools {
		if t.Function.Name == name {
			return true
		}
	}
	return false
}

func (r demoRequest) toolList() string {
	if len(r.Tools) == 0 {
		return "No tools were offered to me."
	}
	var b strings.Builder
	b.WriteString("I can call:")
	for _, t := range r.Tools {
		b.WriteString("\n- " + t.Function.Name)
		if first, _, _ := strings.Cut(t.Function.Description, "\n"); first != "" {
			b.WriteString(": " + first)
		}
	}
	return b.String()
}

var demoCount = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(?i)^count to (\d{1,4})\b`) })

// talk is what it says when no tool is named.
func (r demoRequest) talk(prompt string) demoAnswer {
	plain := strings.Trim(strings.ToLower(prompt), " .!?")
	switch plain {
	case "":
		if prompt != "?" {
			return demoAnswer{text: "Say something, or help."}
		}
		return demoAnswer{text: demoHelp}
	case "help", "what can you do", "who are you":
		return demoAnswer{text: demoHelp}
	case "tools":
		return demoAnswer{text: r.toolList()}
	case "hi", "hello", "hey", "good morning", "good evening":
		return demoAnswer{text: "Hello! Say help to see what I can do."}
	case "thanks", "thank you":
		return demoAnswer{text: "You are welcome."}
	case "bye", "goodbye":
		return demoAnswer{text: "Goodbye."}
	}
	if m := demoCount().FindStringSubmatch(plain); m != nil {
		return countTo(atoi(m[1]))
	}
	for _, lead := range []string{"what is ", "what's ", "calculate ", "compute "} {
		plain = strings.TrimPrefix(plain, lead)
	}
	if v, err := calculate(strings.TrimSuffix(plain, "=")); err == nil {
		return demoAnswer{text: strconv.FormatFloat(v, 'g', 12, 64)}
	} else if err != errNoSum {
		return demoAnswer{text: "I cannot work that out: " + err.Error() + "."}
	}
	return demoAnswer{text: "You said: " + prompt}
}

func countTo(n int) demoAnswer {
	var b strings.Builder
	for i := 1; i <= n; i++ {
		b.WriteString(strconv.Itoa(i))
		b.WriteByte(' ')
	}
	return demoAnswer{text: strings.TrimSpace(b.String()), slow: 100 * time.Millisecond}
}
