package builtin

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"

	"clm/actors/internal/files"
	"clm/actors/internal/tool"
)

const (
	maxImage   = 8 << 20 // bytes
	maxEntries = 10_000  // of a folder that list_dir looks at
	maxLine    = 8 << 10 // bytes of a line that read_file shows
	roomForEnd = 512     // bytes of a result kept for the note at its end
)

var imageTypes = []string{"image/png", "image/jpeg", "image/gif", "image/webp"}

var (
	readSchema = object(`"path":{"type":"string","description":"file, from the working folder or absolute"},`+
		`"offset":{"type":"integer","minimum":1,"description":"first line, 1 by default"},`+
		`"limit":{"type":"integer","minimum":1,"description":"number of lines, 200 by default"}`, "path")
	listSchema = object(`"path":{"type":"string","description":"folder, from the working folder or absolute; . is the working folder"}`, "path")
)

func (s *Set) readFile() tool.Tool {
	return tool.Tool{
		Name: "read_file",
		Description: "Read lines of a text file, or look at an image (PNG, JPEG, GIF, WebP). " +
			"Gives limit lines from line offset on, and says how to go on when there are more.",
		Schema:   readSchema,
		NoPrompt: true,
		Run: func(ctx context.Context, call tool.Call) (tool.Result, error) {
			args := struct {
				Path          string
				Offset, Limit float64 // a schema's integer may be written 1.0
			}{Offset: 1, Limit: 200}
			if err := decode(call.Args, &args); err != nil {
				return tool.Result{}, err
			}
			if args.Offset < 1 || args.Limit < 1 {
				return tool.Result{}, errors.New("offset and limit begin at 1")
			}
			real, err := s.open(args.Path)
			if err != nil {
				return tool.Result{}, err
			}
			return s.read(ctx, real, int64(min(args.Offset, 1e15)), int64(min(args.Limit, 1e15)))
		},
	}
}

func (s *Set) read(ctx context.Context, real string, offset, limit int64) (tool.Result, error) {
	f, err := files.Open(real)
	if err != nil {
		return tool.Result{}, err
	}
	defer f.Close()
	r := bufio.NewReaderSize(f, 64<<10)
	head, _ := r.Peek(512)
	if media := http.DetectContentType(head); slices.Contains(imageTypes, media) {
		return readImage(f, r, media)
	}
	p := page{r: r, offset: offset, limit: limit}
	if err := p.read(ctx); err != nil {
		return tool.Result{}, err
	}
	if p.bad >= 0 {
		info, err := f.Stat()
		if err != nil {
			return tool.Result{}, err
		}
		return tool.Result{Text: fmt.Sprintf("(binary file, not shown: %d bytes; the first byte that is not text is at offset %d)", info.Size(), p.bad)}, nil
	}
	return tool.Result{Text: s.safe(p.text())}, nil
}

func readImage(f *os.File, r io.Reader, media string) (tool.Result, error) {
	data, err := io.ReadAll(io.LimitReader(r, maxImage+1))
	if err != nil {
		return tool.Result{}, err
	}
	if len(data) > maxImage {
		return tool.Result{}, fmt.Errorf("%s: the image is larger than %d bytes", f.Name(), maxImage)
	}
	name := filepath.Base(f.Name())
	return tool.Result{
		Text:        fmt.Sprintf("(image %s, %s, %d bytes)", name, media, len(data)),
		Attachments: []tool.Attachment{{Name: name, MediaType: media, Data: data}},
	}, nil
}

// page reads the lines of a page, in bounded memory whatever the lines are.
type page struct {
	r             *bufio.Reader
	offset, limit int64

	out  bytes.Buffer
	line int64 // lines read so far
	pos  int64 // bytes read so far
	bad  int64 // offset of the first byte shown that is not text, or -1
	more bool  // there are lines after the last one shown
	last int64 // the last line shown
}

func (p *page) read(ctx context.Context) error {
	p.bad = -1
	for {
		if err := ctx.Err(); err != nil {
			return err
		}
		if p.line >= p.offset-1+p.limit || p.out.Len() >= maxResult-maxLine-roomForEnd {
			_, err := p.r.Peek(1)
			p.more = err == nil
			return nil
		}
		text, size, err := p.next()
		if err == io.EOF && size == 0 {
			return nil
		}
		if err != nil && err != io.EOF {
			return err
		}
		start := p.pos
		p.pos, p.line = p.pos+size, p.line+1
		if p.line < p.offset {
			continue
		}
		p.last = p.line
		if i := badByte(text); i >= 0 {
			p.bad = start + int64(i)
			return nil
		}
		p.out.Write(text)
		if size > int64(len(text)) {
			fmt.Fprintf(&p.out, " [… line %d has %d bytes more]\n", p.line, size-int64(len(text)))
		}
	}
}

// next reads a line: at most maxLine bytes of it, cut between characters, and
// its size.
func (p *page) next() (text []byte, size int64, err error) {
	for {
		part, err := p.r.ReadSlice('\n')
		size += int64(len(part))
		if room := maxLine - len(text); room > 0 {
			text = append(text, part[:min(room, len(part))]...)
		}
		if err != bufio.ErrBufferFull {
			if size > int64(len(text)) {
				text = text[:len(text)-unfinished(text)]
			}
			return text, size, err
		}
	}
}

func (p *page) text() string {
	switch {
	case p.line == 0:
		return "(the file is empty)"
	case p.last == 0:
		return fmt.Sprintf("(the file has %d lines, none at offset %d)", p.line, p.offset)
	case p.more:
		end := ""
		if !bytes.HasSuffix(p.out.Bytes(), []byte("\n")) {
			end = "\n"
		}
		return fmt.Sprintf("%s%s(lines %d to %d; there are more, go on with offset=%d)", p.out.String(), end, p.offset, p.last, p.last+1)
	}
	return p.out.String()
}

// badByte is the index of the first NUL or byte that is not UTF-8, or -1.
func badByte(b []byte) int {
	if utf8.Valid(b) {
		return bytes.IndexByte(b, 0)
	}
	for i := 0; i < len(b); {
		if b[i] < utf8.RuneSelf {
			if b[i] == 0 {
				return i
			}
			i++
			continue
		}
		r, n := utf8.DecodeRune(b[i:])
		if r == utf8.RuneError && n == 1 {
			return i
		}
		i += n
	}
	return -1
}

// unfinished is the number of bytes at the end of b that begin a character
// without ending it.
func unfinished(b []byte) int {
	for n := 1; n < utf8.UTFMax && n <= len(b); n++ {
		if tail := b[len(b)-n:]; utf8.RuneStart(tail[0]) {
			if utf8.FullRune(tail) {
				return 0
			}
			return n
		}
	}
	return 0
}

func (s *Set) listDir() tool.Tool {
	return tool.Tool{
		Name:        "list_dir",
		Description: "List a folder: names in order, folders with a / at the end, files with their size in bytes, links with their target.",
		Schema:      listSchema,
		NoPrompt:    true,
		Run: func(ctx context.Context, call tool.Call) (tool.Result, error) {
			var args struct{ Path string }
			if err := decode(call.Args, &args); err != nil {
				return tool.Result{}, err
			}
			real, err := s.open(args.Path)
			if err != nil {
				return tool.Result{}, err
			}
			text, err := list(real)
			return tool.Result{Text: s.safe(text)}, err
		},
	}
}

func list(real string) (string, error) {
	info, err := os.Lstat(real)
	if err != nil {
		return "", err
	}
	if !info.IsDir() {
		return "", fmt.Errorf("%s is not a folder", real)
	}
	f, err := os.Open(real)
	if err != nil {
		return "", err
	}
	defer f.Close()
	entries, err := f.ReadDir(maxEntries + 1)
	if err != nil && err != io.EOF {
		return "", err
	}
	if len(entries) == 0 {
		return "(the folder is empty)", nil
	}
	more := len(entries) > maxEntries
	entries = entries[:min(len(entries), maxEntries)]
	slices.SortFunc(entries, func(a, b os.DirEntry) int { return strings.Compare(a.Name(), b.Name()) })
	var out strings.Builder
	for i, e := range entries {
		if out.Len() > maxResult-roomForEnd-maxLine {
			fmt.Fprintf(&out, "(and %d more)\n", len(entries)-i)
			break
		}
		out.WriteString(entry(real, e))
		out.WriteByte('\n')
	}
	if more {
		fmt.Fprintf(&out, "(the folder has more than %d entries; those shown are not the first ones)\n", maxEntries)
	}
	return out.String(), nil
}

// entry is one line of a listing. Odd names are quoted.
func entry(dir string, e os.DirEntry) string {
	quote := func(s string) string {
		if q := fmt.Sprintf("%q", s); q != `"`+s+`"` {
			return q
		}
		return s
	}
	name := quote(e.Name())
	switch mode := e.Type(); {
	case mode.IsDir():
		return name + "/"
	case mode&os.ModeSymlink != 0:
		target, err := os.Readlink(filepath.Join(dir, e.Name()))
		if err != nil {
			return name + " -> ?"
		}
		return name + " -> " + quote(target)
	case !mode.IsRegular():
		return name + " (special file)"
	}
	info, err := e.Info()
	if err != nil {
		return name
	}
	return fmt.Sprintf("%s  %d", name, info.Size())
}
