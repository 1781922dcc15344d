//go:build !unix

package files

import (
	"io/fs"
	"os"
	"path/filepath"
)

func isNotDir(error) bool { return false }

// folder is a folder's resolved path. Without openat the path is resolved
// again before each use, which leaves a gap that Unix does not have.
type folder struct{ path string }

func check(real string) error {
	again, err := Resolve(filepath.Dir(real), real)
	if err == nil && again != real {
		err = errChanged(real)
	}
	return err
}

func openFile(real string) (*os.File, error) {
	if err := check(real); err != nil {
		return nil, err
	}
	return os.Open(real)
}

func openOwn(path string) (*os.File, error) { return os.Open(path) }

func openParent(real string) (folder, string, error) {
	d := folder{filepath.Dir(real)}
	if err := check(real); err != nil {
		return d, "", err
	}
	return d, filepath.Base(real), os.MkdirAll(d.path, 0o777)
}

func (d folder) close() {}

func (d folder) lstat(name string) (fs.FileInfo, error) { return os.Lstat(filepath.Join(d.path, name)) }

func (d folder) create(name string, mode fs.FileMode) (*os.File, error) {
	return os.OpenFile(filepath.Join(d.path, name), os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
}

func (d folder) rename(from, to string) error {
	return os.Rename(filepath.Join(d.path, from), filepath.Join(d.path, to))
}

func (d folder) remove(name string) { os.Remove(filepath.Join(d.path, name)) }

func keepOwner(*os.File, fs.FileInfo) {}
