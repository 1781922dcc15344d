//go:build unix

package proc

import "golang.org/x/sys/unix"

// signal sends SIGTERM, or SIGKILL, to the group. It returns false when there
// is nobody left.
func (g *Group) signal(kill bool) bool {
	sig := unix.SIGTERM
	if kill {
		sig = unix.SIGKILL
	}
	return unix.Kill(-g.pid, sig) != unix.ESRCH
}
