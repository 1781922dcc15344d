//go:build !unix

package proc

import (
	"os/exec"
	"strconv"
)

func separate(*exec.Cmd) {}

// signal ends the tree of processes at once: there is no polite way.
func (g *Group) signal(bool) bool {
	if !g.alive() {
		return false
	}
	if exec.Command("taskkill", "/T", "/F", "/PID", strconv.Itoa(g.pid)).Run() != nil {
		_ = g.cmd.Process.Kill()
	}
	return true
}

func (g *Group) alive() bool {
	select {
	case <-g.done:
		return false
	default:
		return true
	}
}

func (g *Group) sweep() bool { return true }

func bornAt(int) uint64 { return 0 }
