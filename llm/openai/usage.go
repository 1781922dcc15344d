package openai

import (
	"math"
	"strconv"

	"clm/llm"
	"clm/llm/internal/jsonscan"
)

// intOf reads 1, 1.0 and "1"; anything else is 0.
func intOf(b []byte) int64 {
	f := floatOf(b)
	if math.Abs(f) >= 1<<62 {
		return 0
	}
	return int64(f)
}

func floatOf(b []byte) float64 {
	f, err := strconv.ParseFloat(jsonscan.String(b), 64)
	if err != nil || math.IsNaN(f) || math.IsInf(f, 0) {
		return 0
	}
	return f
}

func countOf(b []byte) int64 { return max(intOf(b), 0) }

// takeUsage reads a usage object; servers that repeat it count up.
func (d *decoder) takeUsage(b []byte) {
	var u llm.Usage
	seen := false
	for name, value := range jsonscan.Members(b) {
		seen = true
		switch string(name) {
		case "prompt_tokens":
			u.Input = countOf(value)
		case "completion_tokens":
			u.Output = countOf(value)
		case "prompt_cache_hit_tokens":
			u.CacheRead = max(u.CacheRead, countOf(value))
		case "prompt_tokens_details":
			for name, value := range jsonscan.Members(value) {
				switch string(name) {
				case "cached_tokens":
					u.CacheRead = max(u.CacheRead, countOf(value))
				case "cache_write_tokens", "cache_creation_tokens":
					u.CacheWrite = countOf(value)
				}
			}
		case "completion_tokens_details":
			if n, ok := member(value, "reasoning_tokens"); ok {
				u.Reasoning = countOf(n)
			}
		}
	}
	if seen {
		d.usage = u
	}
}

// takeTimings reads llama.cpp's timings: the speed, and the counts where it
// sends no usage.
func (d *decoder) takeTimings(b []byte) {
	var cached, prompt, predicted int64
	for name, value := range jsonscan.Members(b) {
		switch string(name) {
		case "predicted_per_second":
			d.speed = max(floatOf(value), 0)
		case "cache_n":
			cached = countOf(value)
		case "prompt_n":
			prompt = countOf(value)
		case "predicted_n":
			predicted = countOf(value)
		}
	}
	if d.usage.Total() == 0 {
		d.usage = llm.Usage{Input: cached + prompt, Output: predicted, CacheRead: cached}
	}
}
