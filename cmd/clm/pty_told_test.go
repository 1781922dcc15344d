//go:build unix

package main

import (
	"strings"
	"testing"

	"clm/llm/llmtest"
)

// An answer that a steered one follows has its own line.
func TestSteeredAnswerHasItsLine(t *testing.T) {
	p := sit(t, llmtest.New("!text first\n!sleep 600\n!finish stop\n", says("second")), "return {}")
	p.says("go")
	p.expect("first")
	p.types("and more\n")
	p.expect("steering: and more")
	p.expect("second")
	p.says("/quit")
	p.leaves(0)
	if text := p.all.String(); strings.Contains(text, "firstsecond") {
		t.Errorf("%q", text)
	}
}

// A cancelled question names its tool, and a question what "always" covers.
func TestCancelledQuestionNamesItsTool(t *testing.T) {
	p := sit(t, llmtest.New("!tool call_9 gated {}\n!finish tool_calls\n"), "return {}")
	p.says("go")
	p.expect("an answer for good holds for every call of gated")
	p.expect("always: ")
	p.types("\x03")
	p.expect("denied: gated")
	p.says("/quit")
	p.leaves(130)
}

// The first turn does not wait for an MCP server, and says so.
func TestFirstTurnNamesServersThatAreNotReady(t *testing.T) {
	p := sit(t, llmtest.New(says("hello")), `return { mcp_servers = { { name = "slow", command = { "sleep", "60" } } } }`)
	p.says("go")
	p.expect("not ready yet, their tools come later: slow")
	p.expect("hello")
	p.says("/quit")
	p.leaves(0)
}
