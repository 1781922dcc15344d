package llm

import (
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"
)

func TestClean(t *testing.T) {
	tests := []struct{ in, want string }{
		{"", ""},
		{"plain\ttext\nwith ünïcode 漢字 👩‍👩‍👧", "plain\ttext\nwith ünïcode 漢字 👩‍👩‍👧"},
		{"a\r\nb\rc\r\r\nd", "a\nb\nc\n\nd"},
		{"nul\x00 bel\a del\x7f c1\u0085x", "nul bel del c1x"},
		{"\xff\xfe\xfdx\xc3", "\ufffdx\ufffd"},
		{"a real \ufffd stays", "a real \ufffd stays"},
		{"cut \xe6\xbc", "cut \ufffd"},
		{"\x1b[1;31mred\x1b[0m \x1b[?25lx", "red x"},
		{"\x1b]0;title\x07a \x1b]8;;http://x\x1b\\link\x1b]8;;\x1b\\ \x1bPq#1\x1b\\b", "a link b"},
		{"\x1b]0;no end\nnext", "0;no end\nnext"},
		{"\x1b(B\x1b7\x1b=x\x1bMy", "xy"},
		{"\u009b31mred", "red"},
		{"end \x1b", "end "},
		{"end \x1b[12", "end "},
		{"\x1b\x1b[1mx", "x"},
	}
	for _, tt := range tests {
		if got := Clean(tt.in); got != tt.want {
			t.Errorf("Clean(%q) = %q, want %q", tt.in, got, tt.want)
		}
	}
}

func TestClip(t *testing.T) {
	long := strings.Repeat("ä", 500)
	tests := []struct {
		in   string
		max  int
		want string
	}{
		{"short", 5, "short"},
		{long, 1000, long},
		{strings.Repeat("a", 50) + strings.Repeat("b", 50), 60, strings.Repeat("a", 15) + "\n[… 70 bytes left out …]\n" + strings.Repeat("b", 15)},
		{long, 60, strings.Repeat("ä", 7) + "\n[… 972 bytes left out …]\n" + strings.Repeat("ä", 7)},
		{long, 11, strings.Repeat("ä", 5)},
		{"漢字", 4, "漢"},
		{"漢字", 0, ""},
		{"漢字", -1, ""},
	}
	for _, tt := range tests {
		if got := Clip(tt.in, tt.max); got != tt.want {
			t.Errorf("Clip(%.20q…, %d) = %q, want %q", tt.in, tt.max, got, tt.want)
		}
	}
}

func FuzzClean(f *testing.F) {
	f.Add("a\r\n\x1b[31mb\xff\u009b1m\x1b]0;t\x07\x00", 9)
	f.Add(strings.Repeat("漢\x1b", 40), 77)
	f.Fuzz(func(t *testing.T, s string, limit int) {
		c := Clean(s)
		if !utf8.ValidString(c) || Clean(c) != c || len(c) > 3*len(s) {
			t.Errorf("Clean(%q) = %q", s, c)
		}
		if strings.ContainsFunc(c, func(r rune) bool { return unicode.IsControl(r) && r != '\n' && r != '\t' }) {
			t.Errorf("Clean(%q) = %q: control characters", s, c)
		}
		short := Clip(c, limit)
		if len(short) > max(limit, 0) || !utf8.ValidString(short) {
			t.Errorf("Clip(%q, %d) = %q (%d bytes)", c, limit, short, len(short))
		}
	})
}

func TestWireIsCached(t *testing.T) {
	h := NewHistory([]Message{user("x")})
	n := 0
	encode := func(m Message, dialect string) string {
		return string(m.Wire(dialect, func() []byte { n++; return []byte(dialect + " " + m.Content) }))
	}
	m := h.Messages()[0]
	encode(m, "a")
	encode(h.Request("")[0], "a")
	if n != 1 {
		t.Errorf("encoded %d times for one dialect, want once", n)
	}
	if got := encode(m, "b"); got != "b x" {
		t.Errorf("another dialect got %q", got)
	}
	m.Content = "y"
	if got := encode(m, "b"); got != "b y" {
		t.Errorf("a changed copy got %q", got)
	}
	if got := encode(h.Messages()[0], "b"); got != "b x" {
		t.Errorf("the original got %q", got)
	}
	n = 0
	encode(user("z"), "a")
	encode(user("z"), "a")
	if n != 2 {
		t.Errorf("a message of no history was encoded %d times, want 2", n)
	}
}

func BenchmarkClean(b *testing.B) {
	text := strings.Repeat("a line of a tool's output, as it usually is\n", 1<<10)
	b.SetBytes(int64(len(text)))
	b.ReportAllocs()
	for b.Loop() {
		Clean(text)
	}
}

// BenchmarkChain is a turn of 400 tool calls as the engine drives it: after
// each batch its request is made, with volatile tools and without.
func BenchmarkChain(b *testing.B) {
	for _, volatile := range []bool{false, true} {
		name := map[bool]string{false: "plain", true: "volatile"}[volatile]
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				h := NewHistory([]Message{user("go")})
				for range 400 {
					h.Append(calls("a map_read {\"x\":1}"), result("a", "the map is large"))
					if volatile {
						h.Supersede(func(string) bool { return true })
					}
					if len(h.Request("o/m")) != h.Len() {
						b.Fatal("the request lost messages")
					}
				}
			}
		})
	}
}
