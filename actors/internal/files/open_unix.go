//go:build unix

package files

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

func isNotDir(err error) bool { return errors.Is(err, syscall.ENOTDIR) }

// folder is an open folder, reached without following a link.
type folder struct {
	fd   int
	path string
}

// walk opens the folder at a resolved path, part by part. It makes what is
// missing if it may.
func walk(path string, make bool) (folder, error) {
	fd, err := unix.Open("/", folderFlags, 0)
	d := folder{fd, "/"}
	if err != nil {
		return d, &fs.PathError{Op: "open", Path: "/", Err: err}
	}
	for _, part := range strings.FieldsFunc(path, func(r rune) bool { return r == '/' }) {
		next, err := unix.Openat(d.fd, part, folderFlags|unix.O_NOFOLLOW, 0)
		if err == unix.ENOENT && make {
			if err = unix.Mkdirat(d.fd, part, 0o777); err == nil || err == unix.EEXIST {
				next, err = unix.Openat(d.fd, part, folderFlags|unix.O_NOFOLLOW, 0)
			}
		}
		d.path = filepath.Join(d.path, part)
		unix.Close(d.fd)
		if err != nil {
			return d, d.explain(path, err)
		}
		d.fd = next
	}
	return d, nil
}

// explain tells a link in the way from a file in the way.
func (d folder) explain(path string, err error) error {
	if err == unix.ELOOP || err == unix.EMLINK || err == unix.ENOTDIR {
		if info, lerr := os.Lstat(d.path); lerr == nil && info.Mode()&fs.ModeSymlink != 0 {
			return errChanged(path)
		}
	}
	return &fs.PathError{Op: "open", Path: d.path, Err: err}
}

func openFile(real string) (*os.File, error) {
	d, err := walk(filepath.Dir(real), false)
	if err != nil {
		return nil, err
	}
	defer d.close()
	// O_NONBLOCK so that a FIFO does not wait for its writer.
	fd, err := unix.Openat(d.fd, filepath.Base(real), unix.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	if err != nil {
		d.path = real
		return nil, d.explain(real, err)
	}
	return os.NewFile(uintptr(fd), real), nil
}

func openOwn(path string) (*os.File, error) {
	// O_NONBLOCK so that a FIFO does not wait for its writer.
	return os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
}

func openParent(real string) (folder, string, error) {
	d, err := walk(filepath.Dir(real), true)
	return d, filepath.Base(real), err
}

func (d folder) close() { unix.Close(d.fd) }

func (d folder) lstat(name string) (fs.FileInfo, error) {
	var st unix.Stat_t
	if err := unix.Fstatat(d.fd, name, &st, unix.AT_SYMLINK_NOFOLLOW); err != nil {
		return nil, &fs.PathError{Op: "open", Path: filepath.Join(d.path, name), Err: err}
	}
	return info{name, st}, nil
}

func (d folder) create(name string, mode fs.FileMode) (*os.File, error) {
	fd, err := unix.Openat(d.fd, name, unix.O_WRONLY|unix.O_CREAT|unix.O_EXCL|unix.O_NOFOLLOW|unix.O_CLOEXEC, uint32(mode))
	if err != nil {
		return nil, &fs.PathError{Op: "write in", Path: d.path, Err: err}
	}
	return os.NewFile(uintptr(fd), filepath.Join(d.path, name)), nil
}

func (d folder) rename(from, to string) error { return unix.Renameat(d.fd, from, d.fd, to) }

func (d folder) remove(name string) { unix.Unlinkat(d.fd, name, 0) }

// keepOwner is for root, who edits a file of somebody else.
func keepOwner(f *os.File, old fs.FileInfo) {
	st := old.(info).st
	if int(st.Uid) != os.Geteuid() || int(st.Gid) != os.Getegid() {
		_ = f.Chown(int(st.Uid), int(st.Gid))
	}
}
