//go:build unix && !linux

package files

import "golang.org/x/sys/unix"

const folderFlags = unix.O_RDONLY | unix.O_DIRECTORY | unix.O_CLOEXEC
