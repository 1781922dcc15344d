//go:build unix

package builtin

import "os/exec"

// shell is bash, whose language models write, where there is one.
func shell() (path, flag string) {
	if bash, err := exec.LookPath("bash"); err == nil {
		return bash, "-c"
	}
	return "/bin/sh", "-c"
}
