//go:build unix

package store

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// flock takes the lock of a file, which lasts until the file is closed.
func flock(f *os.File) error {
	err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
	for err == unix.EINTR {
		err = unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
	}
	switch {
	case err == unix.EWOULDBLOCK:
		return ErrLocked
	case errors.Is(err, errors.ErrUnsupported), err == unix.ENOLCK:
		return nil // a file system without locks: better a session than none
	}
	return err
}

// syncDir makes a rename last.
func syncDir(path string) error {
	dir, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(dir.Sync(), dir.Close())
}
