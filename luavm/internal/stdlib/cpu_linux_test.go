package stdlib

import (
	"runtime"
	"time"

	"golang.org/x/sys/unix"
)

// stopwatch measures the CPU time of the calling goroutine, which a busy machine
// does not lengthen as it does the time on the wall.
func stopwatch() (elapsed func() time.Duration) {
	runtime.LockOSThread()
	start := threadTime()
	return func() time.Duration {
		defer runtime.UnlockOSThread()
		return threadTime() - start
	}
}

func threadTime() time.Duration {
	var u unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_THREAD, &u); err != nil {
		panic(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
