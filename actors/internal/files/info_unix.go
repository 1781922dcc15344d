//go:build unix

package files

import (
	"io/fs"
	"time"

	"golang.org/x/sys/unix"
)

// info is the part of fs.FileInfo that fstatat gives and this package reads.
type info struct {
	name string
	st   unix.Stat_t
}

func (i info) Name() string       { return i.name }
func (i info) Size() int64        { return i.st.Size }
func (i info) ModTime() time.Time { return time.Time{} }
func (i info) IsDir() bool        { return i.Mode().IsDir() }
func (i info) Sys() any           { return &i.st }

func (i info) Mode() fs.FileMode {
	mode := fs.FileMode(i.st.Mode & 0o777)
	switch i.st.Mode & unix.S_IFMT {
	case unix.S_IFREG:
	case unix.S_IFDIR:
		mode |= fs.ModeDir
	case unix.S_IFLNK:
		mode |= fs.ModeSymlink
	case unix.S_IFIFO:
		mode |= fs.ModeNamedPipe
	case unix.S_IFSOCK:
		mode |= fs.ModeSocket
	default:
		mode |= fs.ModeDevice
	}
	return mode
}
