package store

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"clm/llm"
)

var (
	// ErrNotFound: no session has this id, or begins with it.
	ErrNotFound = errors.New("no such session")
	// ErrAmbiguous: several sessions begin with what was given.
	ErrAmbiguous = errors.New("more than one session")
	// ErrLocked: another program, or another agent, writes this session.
	ErrLocked = errors.New("the session is in use by another run: end that one first")
	// ErrVersion: a later version of clm wrote this session.
	ErrVersion = errors.New("the session was written by a later version of clm")
)

const (
	version   = 1
	ext       = ".jsonl"
	maxLine   = 64 << 20 // bytes of a line
	maxFile   = 4 << 30  // bytes of a file that is loaded
	maxPeek   = 256 << 10
	titleSize = 200 // bytes
)

var idPattern = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^\d{8}-\d{6}-[0-9a-f]{8}$`) })

// Store is a folder of sessions. Its methods may be called concurrently.
type Store struct{ dir string }

// New is the store in a folder, which is made with the first session.
func New(dir string) Store { return Store{dir} }

// Meta is what the first line of a session says.
type Meta struct {
	ID      string
	Created time.Time
	Model   string // "provider/model"; may be empty
	Dir     string // working folder; may be empty
}

// Info is a session in a list.
type Info struct {
	Meta
	Modified time.Time
	Size     int64  // bytes
	Title    string // the first prompt, one line of at most 200 bytes; may be empty
	Err      error  // why it cannot be opened: [ErrVersion]; nil otherwise
}

// Loaded is a session's content.
type Loaded struct {
	Meta     Meta
	Messages []llm.Message
	Skipped  int // lines that do not parse
	Closed   int // calls without a result, which got one
	Cut      int // bytes of a torn last line that were cut off
}

// NewID makes an id for a session that begins at a time.
func NewID(now time.Time) string {
	var b [4]byte
	_, _ = rand.Read(b[:]) // never fails
	return now.UTC().Format("20060102-150405") + "-" + hex.EncodeToString(b[:])
}

func (s Store) path(id string) string { return filepath.Join(s.dir, id+ext) }

// ids lists the sessions, newest first.
func (s Store) ids() ([]string, error) {
	dir, err := os.Open(s.dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("sessions: %w", err)
	}
	defer dir.Close()
	names, err := dir.Readdirnames(-1)
	if err != nil {
		return nil, fmt.Errorf("sessions: %w", err)
	}
	var ids []string
	for _, name := range names {
		if id, ok := strings.CutSuffix(name, ext); ok && idPattern().MatchString(id) {
			ids = append(ids, id)
		}
	}
	slices.SortFunc(ids, func(a, b string) int { return strings.Compare(b, a) })
	return ids, nil
}

// List describes the newest sessions, at most limit of them or all for 0. It
// reads the head of each, no more. Sessions that cannot be read are left out, but
// for those of a later version, of which there is no more than id and time.
func (s Store) List(limit int) ([]Info, error) {
	ids, err := s.ids()
	if err != nil {
		return nil, err
	}
	var infos []Info
	for _, id := range ids {
		if limit > 0 && len(infos) == limit {
			break
		}
		if info, err := s.peek(id); err == nil {
			infos = append(infos, info)
		}
	}
	return infos, nil
}

// Find gives the id that a unique prefix means.
func (s Store) Find(prefix string) (string, error) {
	ids, err := s.ids()
	if err != nil {
		return "", err
	}
	var found []string
	for _, id := range ids {
		if id == prefix {
			return id, nil
		}
		if strings.HasPrefix(id, prefix) && prefix != "" {
			found = append(found, id)
		}
	}
	switch len(found) {
	case 0:
		return "", fmt.Errorf("%w: %.40q", ErrNotFound, prefix)
	case 1:
		return found[0], nil
	}
	return "", fmt.Errorf("%w begins with %s: %s", ErrAmbiguous, prefix, strings.Join(found[:min(len(found), 5)], ", "))
}

// Newest gives the id of the session that was begun last; of those begun in
// the same second the one written last.
func (s Store) Newest() (string, error) {
	ids, err := s.ids()
	if err != nil {
		return "", err
	}
	if len(ids) == 0 {
		return "", fmt.Errorf("%w: there are none yet", ErrNotFound)
	}
	newest, at := ids[0], time.Time{}
	for _, id := range ids {
		if id[:len("20060102-150405")] != ids[0][:len("20060102-150405")] {
			break
		}
		if info, err := os.Stat(s.path(id)); err == nil && info.ModTime().After(at) {
			newest, at = id, info.ModTime()
		}
	}
	return newest, nil
}

// Remove deletes a session with its attachments, unless it is in use.
func (s Store) Remove(id string) error {
	f, err := s.lock(id)
	if err != nil {
		return err
	}
	defer f.Close()
	return s.remove(id)
}

func (s Store) remove(id string) error {
	path := s.path(id)
	err := os.RemoveAll(filepath.Join(s.dir, id+".blobs"))
	for _, p := range []string{path + ".bak", path + ".tmp", path} {
		if rerr := os.Remove(p); rerr != nil && !errors.Is(rerr, fs.ErrNotExist) {
			err = errors.Join(err, rerr)
		}
	}
	return err
}

// Load reads a session without changing it, also one that is in use.
func (s Store) Load(id string) (Loaded, error) {
	if !idPattern().MatchString(id) {
		return Loaded{}, fmt.Errorf("%w: %.40q", ErrNotFound, id)
	}
	f, err := os.Open(s.path(id))
	if err != nil {
		return Loaded{}, s.missing(id, err)
	}
	defer f.Close()
	r, err := s.read(id, f)
	return r.Loaded, err
}

func (s Store) missing(id string, err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%w: %s", ErrNotFound, id)
	}
	return fmt.Errorf("session %s: %w", id, err)
}

// blob reads an attachment's data; package llm has checked that name is one.
func (s Store) blob(id string) func(name string) ([]byte, error) {
	return func(name string) ([]byte, error) {
		path := filepath.Join(s.dir, id+".blobs", name)
		info, err := os.Lstat(path)
		if err == nil && (!info.Mode().IsRegular() || info.Size() > maxLine) {
			err = fmt.Errorf("%s is no attachment", path)
		}
		if err != nil {
			return nil, err
		}
		return os.ReadFile(path)
	}
}
