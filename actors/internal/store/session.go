package store

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"clm/llm"
)

// Session is a session that is written. Its methods must not be called
// concurrently.
type Session struct {
	store    Store
	id       string
	meta     []byte   // the first line, without newline
	f        *os.File // nil until there is a message
	size     int64    // bytes that are whole lines
	fresh    bool     // the folder does not know the file for certain yet
	messages int
	broken   error // why nothing can be written any more
}

// Create begins a session. Nothing is written before its first message; the
// folder is made now, so that one that cannot be written is known early.
func (s Store) Create(now time.Time, meta Meta) (*Session, error) {
	if err := s.makeDir(); err != nil {
		return nil, err
	}
	meta.ID, meta.Created = NewID(now), now.UTC().Truncate(time.Second)
	line, err := encodeMeta(meta)
	if err != nil {
		return nil, err
	}
	return &Session{store: s, id: meta.ID, meta: line}, nil
}

func encodeMeta(m Meta) ([]byte, error) {
	line, err := json.Marshal(metaLine{
		Type: "meta", V: version, ID: m.ID, Created: m.Created.Format(time.RFC3339), Model: m.Model, Dir: m.Dir,
	})
	if err != nil {
		return nil, fmt.Errorf("session %s: %w", m.ID, err)
	}
	return line, nil
}

func (s Store) makeDir() error {
	if err := os.MkdirAll(s.dir, 0o700); err != nil {
		return fmt.Errorf("sessions: %w", err)
	}
	if info, err := os.Stat(s.dir); err == nil && info.Mode().Perm()&0o077 != 0 {
		if err := os.Chmod(s.dir, 0o700); err != nil {
			return fmt.Errorf("sessions: the folder may be read by others: %w", err)
		}
	}
	return nil
}

// Open opens a session to go on with: takes its lock, mends its torn last line,
// loads it, and writes the results that calls without one got.
func (s Store) Open(id string) (*Session, Loaded, error) {
	f, err := s.lock(id)
	if err != nil {
		return nil, Loaded{}, err
	}
	r, err := s.read(id, f)
	if err == nil {
		err = s.mend(id, f, &r)
	}
	if err != nil {
		f.Close()
		return nil, Loaded{}, err
	}
	session := &Session{store: s, id: id, meta: r.meta, f: f, size: r.end, messages: len(r.Messages) - r.Closed}
	if session.meta == nil {
		session.meta, err = encodeMeta(r.Meta)
	}
	if err == nil && r.Closed > 0 {
		err = session.keepClosed(r.Messages, r.Closed)
	}
	if err != nil {
		session.f.Close()
		return nil, Loaded{}, err
	}
	return session, r.Loaded, nil
}

// keepClosed writes the results that closed calls got, so that they are told of
// once. After a crash they come last; else the messages are written anew.
func (s *Session) keepClosed(msgs []llm.Message, closed int) error {
	last := msgs[len(msgs)-closed:]
	inside := slices.ContainsFunc(last, func(m llm.Message) bool { return m.Role != llm.RoleTool || m.Content != interrupted })
	var err error
	if inside {
		err = s.Rewrite(msgs)
	} else if err = s.Append(last...); err == nil {
		err = s.Sync()
	}
	return err
}

// mend makes a file end with a whole line.
func (s Store) mend(id string, f *os.File, r *reading) error {
	os.Remove(s.path(id) + ".tmp") // of a rewrite that did not come to its end
	var err error
	if r.Cut > 0 {
		err = f.Truncate(r.end)
	}
	if r.newline && err == nil {
		_, err = f.WriteString("\n")
		r.end++
	}
	if err == nil && (r.Cut > 0 || r.newline) {
		err = f.Sync()
	}
	if err != nil {
		return fmt.Errorf("session %s: its torn last line cannot be mended: %w", id, err)
	}
	return nil
}

// lock opens a session's file for appending, and takes its lock.
func (s Store) lock(id string) (*os.File, error) {
	if !idPattern().MatchString(id) {
		return nil, fmt.Errorf("%w: %.40q", ErrNotFound, id)
	}
	for {
		f, err := os.OpenFile(s.path(id), os.O_RDWR|os.O_APPEND, 0)
		if err != nil {
			return nil, s.missing(id, err)
		}
		if err := flock(f); err != nil {
			f.Close()
			return nil, fmt.Errorf("session %s: %w", id, err)
		}
		// Between open and lock a rewrite may have put another file here.
		mine, err1 := f.Stat()
		now, err2 := os.Stat(s.path(id))
		if err1 == nil && err2 == nil && os.SameFile(mine, now) {
			return f, nil
		}
		f.Close()
		if err2 != nil {
			return nil, s.missing(id, err2)
		}
	}
}

// ID is the session's id.
func (s *Session) ID() string { return s.id }

// Append writes messages, each with one write. After an error the file holds
// those before the one that failed.
func (s *Session) Append(msgs ...llm.Message) error {
	for _, m := range msgs {
		if err := s.append(m); err != nil {
			return fmt.Errorf("session %s: %w", s.id, err)
		}
	}
	return nil
}

func (s *Session) append(m llm.Message) error {
	if s.broken != nil {
		return s.broken
	}
	line, err := s.encode(m)
	if err != nil {
		return err
	}
	if s.f == nil {
		if err := s.create(); err != nil {
			return err
		}
	}
	if err := s.write(line); err != nil {
		return err
	}
	s.messages++
	return nil
}

// encode makes a message's line and stores its attachments.
func (s *Session) encode(m llm.Message) ([]byte, error) {
	line, err := llm.EncodeMessage(m)
	if err != nil {
		return nil, err
	}
	if len(line) >= maxLine {
		return nil, fmt.Errorf("a message is larger than %d bytes", maxLine)
	}
	for _, a := range m.Attachments {
		if err := s.saveBlob(a); err != nil {
			return nil, err
		}
	}
	return append(line, '\n'), nil
}

func (s *Session) saveBlob(a llm.Attachment) error {
	dir := filepath.Join(s.store.dir, s.id+".blobs")
	path := filepath.Join(dir, llm.BlobName(a))
	if info, err := os.Lstat(path); err == nil && info.Size() == int64(len(a.Data)) {
		return nil
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	f, err := os.CreateTemp(dir, ".new-")
	if err != nil {
		return err
	}
	_, err = f.Write(a.Data)
	err = errors.Join(err, f.Sync(), f.Close())
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		os.Remove(f.Name())
	}
	return err
}

// create makes the file with its first line.
func (s *Session) create() error {
	f, err := os.OpenFile(s.store.path(s.id), os.O_RDWR|os.O_APPEND|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	if err := flock(f); err != nil {
		f.Close()
		return err
	}
	s.f, s.size, s.fresh = f, 0, true
	if err := s.write(append(s.meta, '\n')); err != nil {
		s.f = nil
		return errors.Join(err, f.Close(), os.Remove(s.store.path(s.id)))
	}
	return nil
}

// write writes a line with one write. What a failed write leaves is cut off,
// so that the next line does not join it.
func (s *Session) write(line []byte) error {
	n, err := s.f.Write(line)
	if err == nil {
		s.size += int64(n)
		return nil
	}
	if n > 0 {
		if terr := s.f.Truncate(s.size); terr != nil {
			s.broken = errors.Join(err, terr)
		}
	}
	return err
}

// Sync waits until everything that was appended is on the disk: at the end of
// a turn.
func (s *Session) Sync() error {
	if s.f == nil {
		return nil
	}
	err := s.f.Sync()
	if err == nil && s.fresh {
		err = syncDir(s.store.dir)
	}
	if err != nil {
		return fmt.Errorf("session %s: %w", s.id, err)
	}
	s.fresh = false
	return nil
}

// Rewrite replaces the messages, after a compaction. The file before it is
// kept as ID.jsonl.bak. After an error the session goes on as it was.
func (s *Session) Rewrite(msgs []llm.Message) error {
	if s.f == nil {
		return s.Append(msgs...)
	}
	if err := s.rewrite(msgs); err != nil {
		return fmt.Errorf("session %s: rewrite: %w", s.id, err)
	}
	return nil
}

func (s *Session) rewrite(msgs []llm.Message) error {
	path := s.store.path(s.id)
	temp := path + ".tmp"
	os.Remove(temp)
	f, err := os.OpenFile(temp, os.O_RDWR|os.O_APPEND|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	size, err := s.fill(f, msgs)
	if err == nil {
		err = flock(f) // before the file has its name, so that nobody comes between
	}
	if err == nil {
		err = keep(path, path+".bak")
	}
	if err == nil {
		err = os.Rename(temp, path)
	}
	if err != nil {
		f.Close()
		os.Remove(temp)
		return err
	}
	s.f.Close()
	s.f, s.size, s.messages, s.broken = f, size, len(msgs), nil
	return syncDir(s.store.dir)
}

func (s *Session) fill(f *os.File, msgs []llm.Message) (size int64, err error) {
	w := bufio.NewWriterSize(f, 64<<10)
	put := func(line []byte) {
		n, _ := w.Write(line) // the error stays in w, for Flush
		size += int64(n)
	}
	put(append(s.meta, '\n'))
	for _, m := range msgs {
		line, err := s.encode(m)
		if err != nil {
			return 0, err
		}
		put(line)
	}
	if err := w.Flush(); err != nil {
		return 0, err
	}
	return size, f.Sync()
}

// keep gives a file a second name, in place of what had that name.
func keep(path, second string) error {
	if err := os.Remove(second); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return os.Link(path, second)
}

// Close gives the session free. One without messages is deleted.
func (s *Session) Close() error {
	s.broken = fs.ErrClosed
	if s.f == nil {
		return nil
	}
	var err error
	if s.messages == 0 {
		err = s.store.remove(s.id)
	}
	err = errors.Join(err, s.f.Close())
	s.f = nil
	if err != nil {
		return fmt.Errorf("session %s: %w", s.id, err)
	}
	return nil
}
