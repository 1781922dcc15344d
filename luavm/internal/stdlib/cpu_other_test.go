//go:build !linux

package stdlib

import "time"

func stopwatch() (elapsed func() time.Duration) {
	start := time.Now()
	return func() time.Duration { return time.Since(start) }
}
