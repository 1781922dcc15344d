package files

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

const (
	maxPath  = 4096 // bytes
	maxLinks = 40   // as Linux
)

// Resolve returns the absolute path that a path, taken from the folder dir,
// leads to. Parts that do not exist are kept as they are, so that a file may
// be made there. dir must be absolute.
func Resolve(dir, path string) (string, error) {
	switch {
	case path == "":
		return "", errors.New("the path is empty")
	case len(path) > maxPath:
		return "", fmt.Errorf("the path is longer than %d bytes", maxPath)
	case strings.ContainsRune(path, 0):
		return "", errors.New("the path holds a NUL byte")
	}
	if !filepath.IsAbs(path) {
		path = dir + string(filepath.Separator) + path
	}
	volume := filepath.VolumeName(path)
	root := volume + string(filepath.Separator)
	real, links := root, 0
	todo := split(path[len(volume):])
	for len(todo) > 0 {
		part := todo[0]
		todo = todo[1:]
		if part == ".." {
			real = filepath.Dir(real)
			continue
		}
		next := filepath.Join(real, part)
		target, err := readlink(next)
		if err != nil {
			return "", &fs.PathError{Op: "open", Path: next, Err: cause(err)}
		}
		if target == "" {
			real = next
			continue
		}
		if links++; links > maxLinks {
			return "", fmt.Errorf("%s: too many links", path)
		}
		if filepath.IsAbs(target) {
			real = filepath.VolumeName(target) + string(filepath.Separator)
			target = target[len(filepath.VolumeName(target)):]
		}
		todo = append(split(target), todo...)
	}
	return real, nil
}

// split cuts a path into its parts, without empty ones and ".".
func split(path string) []string {
	parts := strings.FieldsFunc(path, func(r rune) bool { return r < 0x80 && os.IsPathSeparator(uint8(r)) })
	out := parts[:0]
	for _, p := range parts {
		if p != "." {
			out = append(out, p)
		}
	}
	return out
}

// readlink returns where a link points to, or "" for what is no link.
func readlink(path string) (string, error) {
	info, err := os.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) || isNotDir(err) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	if info.Mode()&fs.ModeSymlink == 0 {
		return "", nil
	}
	return os.Readlink(path)
}

func cause(err error) error {
	var pe *fs.PathError
	if errors.As(err, &pe) {
		return pe.Err
	}
	return err
}

// Within tells whether a resolved path is dir or lies below it.
func Within(dir, path string) bool {
	rest, ok := strings.CutPrefix(path, strings.TrimSuffix(dir, string(filepath.Separator)))
	return ok && dir != "" && (rest == "" || os.IsPathSeparator(rest[0]))
}
