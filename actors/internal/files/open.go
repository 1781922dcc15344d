package files

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
)

// ErrTooLarge is wrapped by the error of [Read] for a file beyond its bound.
var ErrTooLarge = errors.New("file too large")

// Open opens a regular file at a resolved path for reading.
func Open(real string) (*os.File, error) {
	f, _, err := opened(openFile(real))
	return f, err
}

// opened takes only a regular file.
func opened(f *os.File, err error) (*os.File, fs.FileInfo, error) {
	if err != nil {
		return nil, nil, err
	}
	info, err := f.Stat()
	if err == nil {
		err = regular(f.Name(), info)
	}
	if err != nil {
		f.Close()
		return nil, nil, err
	}
	return f, info, nil
}

// regular says what a thing is that is no file.
func regular(path string, info fs.FileInfo) error {
	what := "no regular file"
	switch mode := info.Mode(); {
	case mode.IsRegular():
		return nil
	case mode.IsDir():
		what = "a folder"
	case mode&fs.ModeNamedPipe != 0:
		what = "a FIFO"
	case mode&fs.ModeSocket != 0:
		what = "a socket"
	case mode&fs.ModeDevice != 0:
		what = "a device"
	case mode&fs.ModeSymlink != 0:
		return errChanged(path)
	}
	return fmt.Errorf("%s is %s, not a file", path, what)
}

func errChanged(path string) error {
	return fmt.Errorf("%s: a link was put into this path after it was checked; call again", path)
}

// Read reads the whole of a regular file at a resolved path, at most max bytes.
func Read(real string, max int64) ([]byte, error) {
	f, info, err := opened(openFile(real))
	if err != nil {
		return nil, err
	}
	return content(f, info.Size(), max)
}

// ReadOwn is Read for a path that no model and no plugin gave: it may lead over
// links.
func ReadOwn(path string, max int64) ([]byte, error) {
	f, info, err := opened(openOwn(path))
	if err != nil {
		return nil, err
	}
	return content(f, info.Size(), max)
}

// content reads and closes f.
func content(f *os.File, size, max int64) ([]byte, error) {
	defer f.Close()
	if size > max {
		return nil, fmt.Errorf("%s: %w: %d bytes, the limit is %d", f.Name(), ErrTooLarge, size, max)
	}
	// Bounded beside the check above, for a file that grows meanwhile.
	data := make([]byte, 0, size+1)
	for {
		n, err := f.Read(data[len(data):cap(data)])
		data = data[:len(data)+n]
		switch {
		case int64(len(data)) > max:
			return nil, fmt.Errorf("%s: %w: the limit is %d bytes", f.Name(), ErrTooLarge, max)
		case err == io.EOF:
			return data, nil
		case err != nil:
			return nil, err
		}
		if len(data) == cap(data) {
			data = append(data, 0)[:len(data)]
		}
	}
}

// Write replaces the file at a resolved path with data, or makes it and the
// folders above it. The data is on the disk before the name points to it.
func Write(real, data string) error {
	dir, base, err := openParent(real)
	if err != nil {
		return err
	}
	defer dir.close()
	mode := fs.FileMode(0o666)
	old, err := dir.lstat(base)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		old = nil
	case err != nil:
		return err
	case old.Mode()&0o200 == 0 && old.Mode().IsRegular():
		return fmt.Errorf("%s is read-only", real)
	default:
		if err := regular(real, old); err != nil {
			return err
		}
		mode = old.Mode().Perm()
	}
	temp := ".clm-" + rand.Text()[:12]
	f, err := dir.create(temp, mode)
	if err != nil {
		return err
	}
	if err := fill(f, old, data); err != nil {
		dir.remove(temp)
		return fmt.Errorf("%s: %w", real, cause(err))
	}
	if err := dir.rename(temp, base); err != nil {
		dir.remove(temp)
		return fmt.Errorf("%s: %w", real, cause(err))
	}
	return nil
}

// fill writes and closes f, with the mode and, where it may, the owner of the
// file that it replaces.
func fill(f *os.File, old fs.FileInfo, data string) error {
	_, err := f.WriteString(data) // without a copy, unlike a conversion
	if old != nil && err == nil {
		keepOwner(f, old)
		err = f.Chmod(old.Mode().Perm())
	}
	if err == nil {
		err = f.Sync()
	}
	return errors.Join(err, f.Close())
}
