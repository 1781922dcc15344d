package proc

import (
	"bytes"
	"os"
	"os/exec"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"
)

func separate(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Pdeathsig: syscall.SIGKILL}
}

// maxSweeps bounds the search for strays that start others while they are
// being killed.
const maxSweeps = 20

// sweep kills what left the group: the same session, or the command's mark in
// the environment.
func (g *Group) sweep() bool {
	for range maxSweeps {
		strays := g.strays()
		if len(strays) == 0 {
			return true
		}
		for _, pid := range strays {
			_ = unix.Kill(pid, unix.SIGKILL)
		}
		if !poll(killWait, func() bool { return !anyRunning(strays) }) {
			return false
		}
	}
	return false
}

func anyRunning(pids []int) bool {
	for _, pid := range pids {
		if st, ok := readStat(pid); ok && st.running {
			return true
		}
	}
	return false
}

// alive tells whether the group has members. Zombies are none: where nobody
// reaps orphans they stay for good.
func (g *Group) alive() bool {
	return unix.Kill(-g.pid, 0) != unix.ESRCH &&
		len(g.find(func(_ string, st stat) bool { return st.group == g.pid })) > 0
}

func (g *Group) strays() []int {
	return g.find(func(pid string, st stat) bool { return st.session == g.pid || g.marked(pid) })
}

// find lists the running processes, not older than the command, that match.
func (g *Group) find(match func(pid string, st stat) bool) []int {
	dir, err := os.Open("/proc")
	if err != nil {
		return nil
	}
	defer dir.Close()
	names, _ := dir.Readdirnames(-1)
	var out []int
	for _, name := range names {
		pid, err := strconv.Atoi(name)
		if err != nil || pid == os.Getpid() {
			continue
		}
		if st, ok := readStat(pid); ok && st.running && st.born >= g.born && match(name, st) {
			out = append(out, pid)
		}
	}
	return out
}

func (g *Group) marked(pid string) bool {
	env, err := os.ReadFile("/proc/" + pid + "/environ")
	return err == nil && bytes.Contains(env, []byte(g.mark))
}

type stat struct {
	running bool // neither dead nor a zombie
	group   int
	session int
	born    uint64 // clock ticks since the machine started
}

// readStat reads what it needs of proc_pid_stat(5).
func readStat(pid int) (stat, bool) {
	data, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return stat{}, false
	}
	// The name, field 2, may hold anything; the rest comes after its ")".
	fields := bytes.Fields(data[bytes.LastIndexByte(data, ')')+1:])
	if len(fields) < 20 {
		return stat{}, false
	}
	group, _ := strconv.Atoi(string(fields[2]))
	session, _ := strconv.Atoi(string(fields[3]))
	born, _ := strconv.ParseUint(string(fields[19]), 10, 64)
	state := fields[0][0]
	return stat{state != 'Z' && state != 'X', group, session, born}, true
}

// bornAt is 0, the earliest time, when it cannot be read.
func bornAt(pid int) uint64 {
	st, _ := readStat(pid)
	return st.born
}
