package openai

import (
	"testing"

	"clm/llm"
	"clm/llm/internal/conformance"
)

func TestZZFiles(t *testing.T) {
	conformance.Files(t, conformance.Dialect{Kind: llm.KindOpenAI, Path: path, New: newClient, Stream: renderStream, Whole: renderWhole}, false)
}
