package main

import (
	"errors"
	"io"
	"strings"
	"testing"
)

// TestPasteFilter feeds pastes cut at every byte: what the editor gets and
// what is submitted must not depend on it.
func TestPasteFilter(t *testing.T) {
	long := strings.Repeat("x", longPaste+1)
	for in, want := range map[string]string{
		"plain\r":                                "plain\r",
		"a\x1b[200~b\r\nc\x1b[201~d\r":           "ab␊cd\r",
		"\x1b[200~a\tb\x1b]0;t\x07\x1b[201~\r":   "a␉b]0;t\r",
		"\x1b[A\x1b[200~\x1b[201~x":              "\x1b[Ax",
		"\x1b[200~" + long + "\x1b[201~":         "[paste 1: 1001 characters]",
		"\x1b[200~a\x1b[201~\x1b[200~b\x1b[201~": "ab",
		"\x1b[200~\xffa\x1b[201~":                "\ufffda",
	} {
		for size := 1; size <= 12; size++ {
			var p paste
			var got strings.Builder
			for rest := in; rest != ""; {
				n := min(size, len(rest))
				got.Write(p.filter([]byte(rest[:n])))
				rest = rest[n:]
			}
			if got.String() != want && len(in) < 1000 || len(in) >= 1000 && !strings.Contains(got.String(), "[paste 1") {
				t.Errorf("%.60q in pieces of %d: %.60q, want %q", in, size, got.String(), want)
			}
		}
	}
	var p paste
	line := string(p.filter([]byte("say \x1b[200~" + long + "\x1b[201~ and \x1b[200~a\nb\x1b[201~")))
	if got := p.unpaste(line); got != "say "+long+" and a\nb" {
		t.Errorf("unpaste: %.60q", got)
	}
}

// TestLoneEscape holds that the escape key comes with the next, and that a
// paste without an end can be left.
func TestLoneEscape(t *testing.T) {
	var p paste
	if got := string(p.filter([]byte("\x1b"))) + string(p.filter([]byte("f"))); got != "\x1bf" {
		t.Errorf("%q", got)
	}
	if got := p.filter([]byte("\x1b[200~never ended")); len(got) != 0 || !p.active {
		t.Errorf("%q", got)
	}
	if p.filter([]byte{keyInterrupt}); p.active {
		t.Error("^C does not leave a paste that does not end")
	}
}

// FuzzPaste holds that no paste submits or acts, and that nothing is lost.
func FuzzPaste(f *testing.F) {
	f.Add("a\x1b[200~b\nc\x1b[201~", 3)
	f.Add("\x1b[200~\x1b[200~\x1b[201~\r", 1)
	f.Fuzz(func(t *testing.T, s string, size int) {
		if size < 1 || size > 64 {
			size = 7
		}
		var p paste
		var out []byte
		in := "\x1b[200~" + strings.ReplaceAll(s, "\x1b[201~", "") + "\x1b[201~"
		for rest := in; rest != ""; {
			n := min(size, len(rest))
			if n == 1 && rest[0] == keyInterrupt {
				return // leaves the paste
			}
			out = append(out, p.filter([]byte(rest[:n]))...)
			rest = rest[n:]
		}
		if i := strings.IndexAny(string(out), "\r\n\x03\x04\x1b\t"); i >= 0 && !strings.Contains(s, "\x1b[201") {
			t.Errorf("%q lets %q through", in, out)
		}
	})
}

// TestKeyboardLines holds that the editor never takes what follows a line.
func TestKeyboardLines(t *testing.T) {
	var pressed []byte
	k := newKeyboard(strings.NewReader("first\rsecond\nthird"))
	k.onKey = func(b byte) { pressed = append(pressed, b) }
	buf := make([]byte, 100)
	n, err := k.Read(buf)
	if err != nil || string(buf[:n]) != "first\r" {
		t.Errorf("the editor got %q %v", buf[:n], err)
	}
	if line, ok := k.line(); !ok || line != "second" {
		t.Errorf("line %q", line)
	}
	if line, ok := k.line(); ok {
		t.Errorf("an unfinished line was taken: %q", line)
	}
	n, _ = k.Read(buf)
	if string(buf[:n]) != "third" {
		t.Errorf("the editor got %q", buf[:n])
	}
	if _, err := k.Read(buf); !errors.Is(err, io.EOF) {
		t.Errorf("end: %v", err)
	}
	k = newKeyboard(strings.NewReader("half\x03whole"))
	k.onKey = func(b byte) { pressed = append(pressed, b) }
	n, _ = k.Read(buf)
	if got := string(buf[:n]); got != "half\x05\x15whole" || string(pressed) != "\x03" {
		t.Errorf("^C: %q, pressed %q", got, pressed)
	}
}
