package jsonscan

import (
	"math"
	"strconv"
)

// Member is the JSON text of an object's member, nil when there is none.
func Member(b []byte, name string) []byte {
	for n, value := range Members(b) {
		if string(n) == name {
			return value
		}
	}
	return nil
}

// Count reads a number that counts something: 1, 1.0 and "1" are 1. What is
// negative, not a number or beyond any count is 0.
func Count(b []byte) int64 {
	s := String(b)
	if n, err := strconv.ParseInt(s, 10, 64); err == nil {
		return max(n, 0)
	}
	f, err := strconv.ParseFloat(s, 64)
	if err != nil || math.IsNaN(f) || f < 0 || f >= 1<<62 {
		return 0
	}
	return int64(f)
}
