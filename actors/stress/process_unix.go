//go:build unix

package stress

import (
	"runtime"

	"golang.org/x/sys/unix"
)

// processCPU is the processor time that the process has used, in seconds.
func processCPU() float64 {
	var u unix.Rusage
	if unix.Getrusage(unix.RUSAGE_SELF, &u) != nil {
		return 0
	}
	return float64(unix.TimevalToNsec(u.Utime)+unix.TimevalToNsec(u.Stime)) / 1e9
}

// maxRSS is the most memory that the process ever had, in bytes.
func maxRSS() int64 {
	var u unix.Rusage
	if unix.Getrusage(unix.RUSAGE_SELF, &u) != nil {
		return 0
	}
	if runtime.GOOS == "darwin" {
		return int64(u.Maxrss) // bytes there
	}
	return int64(u.Maxrss) * 1024
}
