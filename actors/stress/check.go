package stress

import (
	"fmt"
	"strings"

	"clm/llm"
)

// Violation is a promise that was not kept.
type Violation struct {
	Agent uint64 `json:"agent,omitempty"` // 0: of no agent
	Turn  uint64 `json:"turn,omitempty"`
	What  string `json:"what"`
}

func (v Violation) String() string {
	if v.Agent == 0 {
		return v.What
	}
	return fmt.Sprintf("agent %d, turn %d: %s", v.Agent, v.Turn, v.What)
}

// ViolationError says that promises were not kept.
type ViolationError struct {
	Count int64
	First []Violation // at most 100
	Seed  uint64
}

func (e *ViolationError) Error() string {
	first := ""
	if len(e.First) > 0 {
		first = fmt.Sprintf(" the first: %v;", e.First[0])
	}
	return fmt.Sprintf("stress: %d violation(s);%s seed %d repeats the run", e.Count, first, e.Seed)
}

// pairs follows a conversation and says when calls and results do not match.
type pairs struct {
	open []string // calls of the last answer without a result
}

func (p *pairs) add(m llm.Message) string {
	if m.Role == llm.RoleTool {
		if len(p.open) == 0 || p.open[0] != m.ToolCallID {
			return fmt.Sprintf("the result %q comes where %d call(s) wait: %.3q", m.ToolCallID, len(p.open), p.open)
		}
		p.open = p.open[1:]
		return ""
	}
	if len(p.open) > 0 {
		return fmt.Sprintf("a message of role %s comes before the result of the call %q", m.Role, p.open[0])
	}
	if m.Content == "" && len(m.ToolCalls) == 0 && len(m.Attachments) == 0 {
		return fmt.Sprintf("a message of role %s is empty", m.Role)
	}
	for _, c := range m.ToolCalls {
		p.open = append(p.open, c.ID)
	}
	return ""
}

func (p *pairs) end() string {
	if len(p.open) > 0 {
		return fmt.Sprintf("the call %q has no result", p.open[0])
	}
	return ""
}

// checkHistory says what is wrong with an agent's whole conversation.
func checkHistory(msgs []llm.Message, agent uint64) string {
	var p pairs
	ids := map[string]bool{}
	for i, m := range msgs {
		if why := p.add(m); why != "" {
			return fmt.Sprintf("message %d: %s", i, why)
		}
		for _, c := range m.ToolCalls {
			if ids[c.ID] {
				return fmt.Sprintf("message %d: the call id %q comes twice", i, c.ID)
			}
			ids[c.ID] = true
		}
		if other := foreignTag([]byte(m.Content), agent); other != "" {
			return fmt.Sprintf("message %d holds %s", i, other)
		}
	}
	return p.end()
}

// checkAnswer says what is wrong with a finished turn's text.
func checkAnswer(text, tag string) string {
	if !strings.HasPrefix(text, replyMark+tag+"]") {
		return fmt.Sprintf("the answer to %s is %q", tag, llm.Clip(text, 80))
	}
	return ""
}
