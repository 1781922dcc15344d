//go:build unix

package files

import (
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

func TestFIFO(t *testing.T) {
	path := filepath.Join(tree(t), "ws/fifo")
	must(t, syscall.Mkfifo(path, 0o600))
	for _, err := range []error{second(Read(path, 1)), second(ReadOwn(path, 1)), Write(path, "")} {
		if err == nil || !strings.Contains(err.Error(), "FIFO") {
			t.Errorf("got %v", err)
		}
	}
}
