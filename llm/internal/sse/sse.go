// Package sse reads server-sent events as model servers really send them.
//
// It follows the WHATWG rules for event streams: lines end with LF, CRLF or a
// lone CR, also when a CR and its LF arrive in different reads; a byte order
// mark at the start and comments are skipped; a blank after the colon is
// optional; several data lines are joined with LF; id, retry and unknown
// fields are read past. It differs in three points, because servers do: an event
// without data is not reported, and a last event without its blank line is;
// and what servers write instead of an event when they fail half-way counts as
// data: an error field (then the event's name is error), or a JSON object
// without any field.
//
// Memory is bounded: a line or an event above [MaxSize] is [ErrTooLong]. One
// Reader reuses its buffers, so that a stream of small events costs no
// allocation an event.
package sse

import (
	"bytes"
	"errors"
	"io"
)

// MaxSize is the longest line, and the most data of one event, in bytes.
const MaxSize = 16 << 20

// ErrTooLong is returned for a line or an event above [MaxSize].
var ErrTooLong = errors.New("event stream: a line or event is larger than 16 MiB")

// startSize is the first size of the read buffer: small, as there is one for
// each open stream.
const startSize = 1 << 10

// Event is one event. Its slices are valid until the next call of
// [Reader.Next].
type Event struct {
	Name []byte // of the event line; empty when there was none
	Data []byte // never empty
}

// Reader reads events. It does not close its source and starts no goroutine.
type Reader struct {
	src io.Reader
	err error // from src; reported after what was buffered

	buf        []byte
	start, end int // the unread part of buf
	scanned    int // buf[start:scanned] holds no line end
	skipLF     bool
	begun      bool // the first line was seen

	name, data []byte
	hasData    bool // a data line was seen, even an empty one
}

// NewReader reads events from src.
func NewReader(src io.Reader) *Reader {
	return &Reader{src: src}
}

// Next returns the next event. At the end it returns io.EOF; an error of the
// source is returned as it is, and drops an unfinished event.
func (r *Reader) Next() (Event, error) {
	r.name, r.data, r.hasData = r.name[:0], r.data[:0], false
	for {
		line, err := r.line()
		if err != nil {
			if err == io.EOF && len(r.data) > 0 {
				return Event{r.name, r.data}, nil
			}
			return Event{}, err
		}
		if len(line) > 0 {
			if err := r.field(line); err != nil {
				return Event{}, err
			}
			continue
		}
		if len(r.data) > 0 {
			return Event{r.name, r.data}, nil
		}
		r.name, r.hasData = r.name[:0], false
	}
}

// field takes one line that is not empty.
func (r *Reader) field(line []byte) error {
	name, value, _ := bytes.Cut(line, []byte(":"))
	value = bytes.TrimPrefix(value, []byte(" "))
	switch string(name) {
	case "error":
		r.name = append(r.name[:0], "error"...)
		return r.add(value)
	case "data":
		return r.add(value)
	case "event":
		r.name = append(r.name[:0], value...)
	default:
		if line[0] == '{' {
			return r.add(line)
		}
	}
	return nil
}

// add adds a line to the event's data.
func (r *Reader) add(line []byte) error {
	if len(r.data)+1+len(line) > MaxSize {
		return ErrTooLong
	}
	if r.hasData {
		r.data = append(r.data, '\n')
	}
	r.data, r.hasData = append(r.data, line...), true
	return nil
}

// line returns the next line without its end. What it returns is valid until
// the next call. An unfinished last line counts when the source ended well.
func (r *Reader) line() ([]byte, error) {
	for {
		if r.skipLF && r.start < r.end {
			r.skipLF = false
			if r.buf[r.start] == '\n' {
				r.start++
				r.scanned = r.start
			}
		}
		if i := lineEnd(r.buf[r.scanned:r.end]); i >= 0 {
			at := r.scanned + i
			line := r.buf[r.start:at]
			r.skipLF = r.buf[at] == '\r'
			r.start = at + 1
			r.scanned = r.start
			return r.first(line), nil
		}
		r.scanned = r.end
		if r.err != nil {
			line := r.buf[r.start:r.end]
			r.start, r.scanned = r.end, r.end
			if r.err == io.EOF && len(line) > 0 {
				return r.first(line), nil
			}
			return nil, r.err
		}
		if r.end-r.start > MaxSize {
			r.err = ErrTooLong
			r.start, r.scanned = r.end, r.end
			continue
		}
		r.fill()
	}
}

// first strips the byte order mark from the stream's first line.
func (r *Reader) first(line []byte) []byte {
	if !r.begun {
		r.begun = true
		return bytes.TrimPrefix(line, []byte("\xef\xbb\xbf"))
	}
	return line
}

// lineEnd returns the index of the first CR or LF, or -1.
func lineEnd(b []byte) int {
	lf := bytes.IndexByte(b, '\n')
	if lf >= 0 {
		b = b[:lf]
	}
	if cr := bytes.IndexByte(b, '\r'); cr >= 0 {
		return cr
	}
	return lf
}

// fill makes room and reads once. Sources that give neither bytes nor an
// error are asked again a bounded number of times.
func (r *Reader) fill() {
	switch {
	case r.start == r.end:
		r.start, r.end, r.scanned = 0, 0, 0
	case r.end == len(r.buf) && r.start > 0:
		n := copy(r.buf, r.buf[r.start:r.end])
		r.scanned -= r.start
		r.start, r.end = 0, n
	}
	if r.end == len(r.buf) {
		r.buf = append(r.buf, make([]byte, max(startSize, len(r.buf)))...)
	}
	for range 100 {
		n, err := r.src.Read(r.buf[r.end:])
		r.end += n
		r.err = err
		if n > 0 || err != nil {
			return
		}
	}
	r.err = io.ErrNoProgress
}
