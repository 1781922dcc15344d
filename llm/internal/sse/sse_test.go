package sse

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/iotest"
)

// read renders a whole stream: one "name|data" line an event, then the error
// unless the stream ended well.
func read(src io.Reader) string {
	var b strings.Builder
	r := NewReader(src)
	for {
		ev, err := r.Next()
		if err == io.EOF {
			return b.String()
		}
		if err != nil {
			return b.String() + "error: " + err.Error() + "\n"
		}
		fmt.Fprintf(&b, "%s|%q\n", ev.Name, ev.Data)
	}
}

var streams = []struct{ name, in, want string }{
	{"empty", "", ""},
	{"plain", "data: a\n\ndata: b\n\n", "|\"a\"\n|\"b\"\n"},
	{"crlf", "data: a\r\n\r\ndata: b\r\n\r\n", "|\"a\"\n|\"b\"\n"},
	{"lone cr", "data: a\r\rdata: b\r\r", "|\"a\"\n|\"b\"\n"},
	{"mixed ends", "data: a\r\n\ndata: b\n\r\ndata: c\r\n\rdata: d\n\n", "|\"a\"\n|\"b\"\n|\"c\"\n|\"d\"\n"},
	{"no space", "data:a\n\ndata:  b\n\n", "|\"a\"\n|\" b\"\n"},
	{"event name", "event: ping\ndata: {}\n\ndata: x\n\n", "ping|\"{}\"\n|\"x\"\n"},
	{"name without data is forgotten", "event: ping\n\ndata: x\n\n", "|\"x\"\n"},
	{"last name wins", "event: a\nevent: b\ndata: x\n\n", "b|\"x\"\n"},
	{"comments", ": hello\n\n:\n\n:data: no\ndata: x\n: mid\ndata: y\n\n", "|\"x\\ny\"\n"},
	{"id and retry", "id: 1\nretry: 1000\n\nid: 2\ndata: x\nretry: soon\n\n", "|\"x\"\n"},
	{"multi-line", "data: a\ndata:\ndata: b\n\n", "|\"a\\n\\nb\"\n"},
	{"first line empty", "data:\ndata: b\n\n", "|\"\\nb\"\n"},
	{"empty data", "data:\n\ndata\n\ndata: x\n\n", "|\"x\"\n"},
	{"unknown field", "dat: x\ndatax: y\nData: z\ndata: ok\n\n", "|\"ok\"\n"},
	{"error field", "data: a\n\nerror: {\"code\":400}\n\ndata: b\n\n", "|\"a\"\nerror|\"{\\\"code\\\":400}\"\n|\"b\"\n"},
	{"error field without a word", "error:\n\nerror\n\ndata: b\n\n", "|\"b\"\n"},
	{"bare object", "data: a\n\n{\"error\": \"x\"}\n\ndata: b\n\n", "|\"a\"\n|\"{\\\"error\\\": \\\"x\\\"}\"\n|\"b\"\n"},
	{"bare object at the end", "data: a\n\n{\"a\":1}", "|\"a\"\n|\"{\\\"a\\\":1}\"\n"},
	{"bare object after data", "data: a\n{\"a\":1}\n\n", "|\"a\\n{\\\"a\\\":1}\"\n"},
	{"byte order mark", "\ufeffdata: a\n\n\ufeffdata: b\n\ndata: \ufeffc\n\n", "|\"a\"\n|\"\\ufeffc\"\n"},
	{"no blank line at the end", "data: a\n\ndata: b\n", "|\"a\"\n|\"b\"\n"},
	{"no line end at the end", "data: a\n\nevent: e\ndata: b", "|\"a\"\ne|\"b\"\n"},
	{"many blank lines", "\n\n\n\r\n\rdata: a\n\n\n\n", "|\"a\"\n"},
	{"not ascii", "data: grüße 日本 🙂\n\ndata: \x00\xff\n\n", "|\"grüße 日本 🙂\"\n|\"\\x00\\xff\"\n"},
	{"colons in data", "data: a: b:c\n\n", "|\"a: b:c\"\n"},
}

func TestReader(t *testing.T) {
	for _, tt := range streams {
		t.Run(tt.name, func(t *testing.T) {
			if got := read(strings.NewReader(tt.in)); got != tt.want {
				t.Errorf("got  %s\nwant %s", got, tt.want)
			}
			if got := read(iotest.OneByteReader(strings.NewReader(tt.in))); got != tt.want {
				t.Errorf("byte by byte: got %s\nwant %s", got, tt.want)
			}
			if got := read(iotest.DataErrReader(strings.NewReader(tt.in))); got != tt.want {
				t.Errorf("bytes with EOF: got %s\nwant %s", got, tt.want)
			}
			for i := range tt.in {
				src := io.MultiReader(strings.NewReader(tt.in[:i]), strings.NewReader(tt.in[i:]))
				if got := read(src); got != tt.want {
					t.Errorf("cut at %d: got %s\nwant %s", i, got, tt.want)
				}
			}
		})
	}
}

func TestReaderKeepsASourcesError(t *testing.T) {
	cause := errors.New("reset by peer")
	src := io.MultiReader(strings.NewReader("data: a\n\ndata: b\n"), iotest.ErrReader(cause))
	if got, want := read(src), "|\"a\"\nerror: reset by peer\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestReaderNeedsProgress(t *testing.T) {
	r := NewReader(readerFunc(func([]byte) (int, error) { return 0, nil }))
	if _, err := r.Next(); !errors.Is(err, io.ErrNoProgress) {
		t.Errorf("err = %v", err)
	}
}

type readerFunc func([]byte) (int, error)

func (f readerFunc) Read(b []byte) (int, error) { return f(b) }

func TestReaderLimits(t *testing.T) {
	line := func(n int) io.Reader { return io.LimitReader(endless(strings.Repeat("z", 64<<10)), int64(n)) }
	long := io.MultiReader(strings.NewReader("data: "), line(MaxSize-100), strings.NewReader("\n\ndata: b\n\n"))
	r := NewReader(long)
	if ev, err := r.Next(); err != nil || len(ev.Data) != MaxSize-100 {
		t.Fatalf("a line just below the limit: %d bytes, %v", len(ev.Data), err)
	}
	if ev, err := r.Next(); err != nil || string(ev.Data) != "b" {
		t.Fatalf("after a long line: %q, %v", ev.Data, err)
	}
	for name, src := range map[string]io.Reader{
		"endless line":  io.MultiReader(strings.NewReader("data: "), endless(strings.Repeat("z", 64<<10))),
		"endless event": &loop{text: "data: " + strings.Repeat("y", 4000) + "\n"},
	} {
		if _, err := NewReader(src).Next(); !errors.Is(err, ErrTooLong) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// endless is this text again and again.
type endless string

func (e endless) Read(b []byte) (int, error) { return copy(b, e), nil }

type loop struct {
	text string
	at   int
}

func (l *loop) Read(b []byte) (int, error) {
	n := copy(b, l.text[l.at:])
	l.at = (l.at + n) % len(l.text)
	return n, nil
}

func TestReaderDoesNotAllocatePerEvent(t *testing.T) {
	src := &loop{text: "event: x\ndata: {\"choices\":[{\"index\":0}]}\n\n"}
	r := NewReader(src)
	got := testing.AllocsPerRun(1000, func() {
		if _, err := r.Next(); err != nil {
			t.Fatal(err)
		}
	})
	if got > 0 {
		t.Errorf("%v allocations an event", got)
	}
}

func FuzzReader(f *testing.F) {
	for _, tt := range streams {
		f.Add([]byte(tt.in), 3)
	}
	f.Fuzz(func(t *testing.T, in []byte, cut int) {
		whole := read(bytes.NewReader(in))
		if got := read(iotest.OneByteReader(bytes.NewReader(in))); got != whole {
			t.Fatalf("byte by byte: %q, whole: %q", got, whole)
		}
		if cut >= 0 && cut <= len(in) {
			if got := read(io.MultiReader(bytes.NewReader(in[:cut]), bytes.NewReader(in[cut:]))); got != whole {
				t.Fatalf("cut at %d: %q, whole: %q", cut, got, whole)
			}
		}
		// The kind of line end does not matter.
		if !bytes.ContainsRune(in, '\r') {
			for _, end := range []string{"\r", "\r\n"} {
				if got := read(bytes.NewReader(bytes.ReplaceAll(in, []byte("\n"), []byte(end)))); got != whole {
					t.Fatalf("with %q: %q, want %q", end, got, whole)
				}
			}
		}
	})
}

func BenchmarkReader(b *testing.B) {
	in := bytes.Repeat([]byte("data: {\"id\":\"c1\",\"choices\":[{\"index\":0,\"delta\":{\"content\":\"word \"}}]}\n\n"), 200)
	b.SetBytes(int64(len(in)))
	b.ReportAllocs()
	for b.Loop() {
		r := NewReader(bytes.NewReader(in))
		for {
			if _, err := r.Next(); err != nil {
				break
			}
		}
	}
}
