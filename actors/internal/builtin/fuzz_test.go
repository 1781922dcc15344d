package builtin

import (
	"bufio"
	"bytes"
	"testing"
	"unicode/utf8"
)

// Output arrives in pieces of any size; where the first bad byte is must not
// depend on them.
func FuzzOutput(f *testing.F) {
	for _, s := range []string{"", "plain", "a€b", "\xe2\x82", "x\x00y", "é\xffz", "\xf0\x9f\x99\x82"} {
		f.Add([]byte(s), 1)
	}
	f.Fuzz(func(t *testing.T, data []byte, step int) {
		step = max(step, 1)
		o := newOutput(t.TempDir())
		for i := 0; i < len(data); i += min(step, len(data)-i) {
			_, _ = o.Write(data[i:min(len(data), i+min(step, len(data)-i))])
		}
		want := badByte(data[:len(data)-unfinished(data)])
		if o.bad != int64(want) {
			t.Fatalf("the first bad byte is at %d, not at %d", want, o.bad)
		}
		text := o.finish()
		if o.bad >= 0 && o.path == "" || o.bad < 0 && len(data) <= maxResult && text != string(data) {
			t.Fatalf("got %q", text)
		}
		p := page{r: bufio.NewReader(bytes.NewReader(data)), offset: 1, limit: 10}
		if err := p.read(t.Context()); err != nil {
			t.Fatal(err)
		}
		if p.bad < 0 && !utf8.ValidString(p.text()) {
			t.Fatalf("a page that is not UTF-8: %q", p.text())
		}
	})
}
