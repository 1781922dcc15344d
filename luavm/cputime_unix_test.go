//go:build unix

package luavm_test

import (
	"syscall"
	"time"
)

// cpuTime is the process's own time: other work on the machine does not count.
func cpuTime() time.Duration {
	var r syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &r); err != nil {
		return 0
	}
	return time.Duration(r.Utime.Nano() + r.Stime.Nano())
}
