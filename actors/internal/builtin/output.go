package builtin

import (
	"bytes"
	"fmt"
	"os"
	"unicode/utf8"
)

// maxSpool bounds a file with a full output, in bytes.
const maxSpool = 64 << 20

// half is what a cut result keeps of each end, in bytes.
const half = (maxResult - roomForEnd) / 2

// output takes what a command writes, of any size, in bounded memory. Its
// methods must not be called concurrently.
type output struct {
	dir   string
	head  []byte // the first maxResult bytes
	tail  []byte // the last half bytes and up to as many before them, once head is full
	size  int64
	bad   int64  // offset of the first byte that is not text, or -1
	carry []byte // the beginning of a character whose end has not come
	spool *os.File
	kept  int64 // bytes in the spool file
	path  string
	err   error // why there is no spool file
}

func newOutput(dir string) *output { return &output{dir: dir, bad: -1} }

func (o *output) Write(p []byte) (int, error) {
	o.check(p)
	o.size += int64(len(p))
	rest := p
	if room := maxResult - len(o.head); room > 0 {
		n := min(room, len(rest))
		o.head = append(o.head, rest[:n]...)
		rest = rest[n:]
	}
	if len(rest) > 0 {
		o.save(rest)
		o.tail = append(o.tail, rest[max(0, len(rest)-half):]...)
		if len(o.tail) > 2*half {
			o.tail = append(o.tail[:0], o.tail[len(o.tail)-half:]...)
		}
	}
	return len(p), nil
}

// check looks for the first byte that is not text. Characters may be cut
// anywhere by the reads.
func (o *output) check(p []byte) {
	if o.bad >= 0 {
		return
	}
	start := o.size - int64(len(o.carry))
	if len(o.carry) > 0 {
		p = append(bytes.Clone(o.carry), p...)
	}
	cut := len(p) - unfinished(p)
	if i := badByte(p[:cut]); i >= 0 {
		o.bad = start + int64(i)
		return
	}
	o.carry = append(o.carry[:0], p[cut:]...)
}

// save writes to the spool file, which begins with the head.
func (o *output) save(p []byte) {
	if o.spool == nil && o.err == nil {
		o.spool, o.err = os.CreateTemp(o.dir, "clm-output-*.txt")
		if o.err == nil {
			o.path = o.spool.Name()
			o.write(o.head)
		}
	}
	if o.err == nil {
		o.write(p)
	}
}

func (o *output) write(p []byte) {
	n, err := o.spool.Write(p[:min(int64(len(p)), maxSpool-o.kept)])
	o.kept += int64(n)
	o.err = err
}

// finish gives the text for the model and closes the spool file, whose name,
// if there is one, is in o.path.
func (o *output) finish() string {
	// A character cut by the end of a killed command is no sign of binary
	// data.
	binary := o.bad >= 0
	if binary && o.spool == nil {
		o.save(nil)
	}
	if o.spool != nil {
		if err := o.spool.Close(); o.err == nil {
			o.err = err
		}
	}
	switch {
	case binary:
		return fmt.Sprintf("(binary output, not shown: %d bytes; the first byte that is not text is at offset %d; %s)\n", o.size, o.bad, o.where())
	case o.spool == nil && o.err == nil:
		return string(o.head)
	}
	head := o.head[:half-unfinished(o.head[:half])]
	all := append(bytes.Clone(o.head[half:]), o.tail...)
	tail := all[max(0, len(all)-half):]
	for len(tail) > 0 && !utf8.RuneStart(tail[0]) {
		tail = tail[1:]
	}
	return fmt.Sprintf("%s\n[… %d bytes left out; %s …]\n%s", head, o.size-int64(len(head)+len(tail)), o.where(), tail)
}

// where says where the full output is.
func (o *output) where() string {
	switch {
	case o.path == "":
		return fmt.Sprintf("the full output could not be kept: %v", o.err)
	case o.err != nil:
		return fmt.Sprintf("the first %d bytes are in %s, then it could not be written: %v", o.kept, o.path, o.err)
	case o.kept < o.size:
		return fmt.Sprintf("the first %d bytes are in %s", o.kept, o.path)
	}
	return "the full output is in " + o.path
}
