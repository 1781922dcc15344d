package wire

import (
	"net/http"
	"strings"

	"clm/llm"
)

// Each list holds lower-case pieces of what servers say, in their type, code
// or message.
var (
	quotaCodes = [...]string{
		"insufficient_quota", "billing_hard_limit", "billing_not_active", "insufficient_balance",
		"insufficient_credits", "credit_balance", "billing_error", "payment_required", "usage_limit_reached",
	}
	quotaWords = [...]string{
		"quota_exceeded", "exceeded your current quota", "credit balance is too low", "insufficient balance",
		"insufficient credits", "out of credits", "requires more credits", "billing hard limit",
	}
	noToolWords = [...]string{
		"does not support tool", "does not support function", "not support tool", "tool use is not supported",
		"support tool use", "tools are not supported", "tools is not supported", "function calling is not supported",
		"tool calling is not supported", "does not support tools", "tools param requires", "requires --enable-auto-tool-choice",
		"functioncall is not supported", "function calling is not enabled",
	}
	contextWords = [...]string{
		"context_length", "context length", "context window", "context size", "maximum context", "exceed_context_size",
		"prompt is too long", "prompt too long", "input is too long", "too many tokens", "reduce the length of",
		"request_too_large", "greater than the context", "context the overflows", "input length and `max_tokens` exceed",
		"exceeds the maximum number of tokens", "token count exceeds", "string_above_max_length",
	}
)

func has(s string, words []string) bool {
	for _, w := range words {
		if strings.Contains(s, w) {
			return true
		}
	}
	return false
}

// classify says what kind of failure a status and a server's words are. The
// status is 0 for an error inside a 200. waits tells that the server named a
// time after which it may be asked again.
func classify(status int, f Fault, waits bool) llm.ErrorKind {
	codes := strings.ToLower(f.Type + " " + f.Code)
	words := strings.ToLower(f.Message)
	switch {
	case status == http.StatusUnauthorized, status == http.StatusForbidden && !has(codes, quotaCodes[:]):
		return llm.ErrAuth
	case status == http.StatusPaymentRequired, has(codes, quotaCodes[:]), !waits && has(codes+" "+words, quotaWords[:]):
		return llm.ErrQuota
	case has(words, noToolWords[:]):
		return llm.ErrNoTools
	case status == http.StatusTooManyRequests:
		return llm.ErrRateLimit
	case status == http.StatusRequestEntityTooLarge, has(codes+" "+words, contextWords[:]):
		return llm.ErrContext
	case status >= 500:
		return llm.ErrOverloaded
	case status != 0:
		return llm.ErrRequest
	}
	return kindOfCode(codes)
}

// kindOfCode classifies an error that has no status. What is not known is the
// server's failure: it had accepted the request.
func kindOfCode(codes string) llm.ErrorKind {
	switch {
	case strings.Contains(codes, "authentication"), strings.Contains(codes, "permission"):
		return llm.ErrAuth
	case strings.Contains(codes, "rate_limit"):
		return llm.ErrRateLimit
	case strings.Contains(codes, "invalid_request"), strings.Contains(codes, "not_found"), strings.Contains(codes, "invalid_prompt"):
		return llm.ErrRequest
	}
	return llm.ErrOverloaded
}
