//go:build !unix

package luavm_test

import "time"

var processStart = time.Now()

// cpuTime is the wall time where the process's own is not to be had.
func cpuTime() time.Duration { return time.Since(processStart) }
