//go:build unix

package main

import (
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"

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

// What is resumed is named, and what is forgotten too.
func TestResumedSessionIsNamed(t *testing.T) {
	home := t.TempDir()
	p := sitAt(t, home, llmtest.New(says("hello")), "return {}")
	p.says("the first question")
	p.expect("hello")
	p.says("/quit")
	p.leaves(0)
	p = sitAt(t, home, llmtest.New(), "return {}", "-c")
	p.expect("goes on after 2 messages, the last: the first question")
	p.says("/clear")
	p.expect("the conversation is forgotten")
	p.says("/quit")
	p.leaves(0)
}

// What follows ^C has a line of its own: the terminal echoes the key.
func TestCancellationHasItsLine(t *testing.T) {
	p := sit(t, llmtest.New("!sleep 60000\n!finish stop\n"), "return {}")
	p.says("go")
	p.body(1)
	p.types("\x03")
	p.expect("^C\r\nclm: the turn was cancelled")
	p.says("/quit")
	p.leaves(130)
}

// A list of tools fits the terminal.
func TestToolsFitTheTerminal(t *testing.T) {
	p := sit(t, llmtest.New(), "return {}")
	p.says("/tools")
	p.expect("read_file")
	p.expect("gated")
	p.says("/quit")
	p.leaves(0)
	shown := regexp.MustCompile(`\x1b\[[0-9?]*[a-z]`).ReplaceAllString(p.all.String(), "")
	for line := range strings.SplitSeq(shown, "\r\n") {
		if n := utf8.RuneCountInString(line); n > 100 {
			t.Errorf("%d columns of 100: %q", n, line)
		}
	}
}

// Why a compaction failed is told once.
func TestFailedCompactionIsToldOnce(t *testing.T) {
	summary := "!text " + strings.Repeat("word ", 200) + "\n!finish stop\n"
	p := sit(t, llmtest.New(says("one"), says("two"), says("three"), says("four"), summary), "return {}")
	for range 4 {
		p.says("and now")
	}
	p.says("/compact")
	p.expect("compaction failed: the conversation does not get shorter: it has ")
	p.says("/quit")
	p.leaves(0)
	if n := strings.Count(p.all.String(), "does not get shorter"); n != 1 {
		t.Errorf("told %d times: %q", n, p.all.String())
	}
}
