package jsonscan

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"
)

func TestMembers(t *testing.T) {
	const in = ` { "a" : 1 , "b\u0062":"x\\\"}", "c":[1,{"d":"]"}] ,"e":{"f":{}},"g":null,"h":true,"":-1.5e3}`
	want := map[string]string{
		"a": "1", "bb": `"x\\\"}"`, "c": `[1,{"d":"]"}]`, "e": `{"f":{}}`, "g": "null", "h": "true", "": "-1.5e3",
	}
	n := 0
	for k, v := range Members([]byte(in)) {
		if want[string(k)] != string(v) {
			t.Errorf("%s = %s, want %s", k, v, want[string(k)])
		}
		n++
	}
	if n != len(want) {
		t.Errorf("%d members, want %d", n, len(want))
	}
	for range Members([]byte(`[1]`)) {
		t.Error("an array has members")
	}
}

func TestElements(t *testing.T) {
	for in, want := range map[string]string{
		`[]`: "", `null`: "", ``: "", ` [ 1 , "a,]" , [2] ,{"x":[3]}] `: `1;"a,]";[2];{"x":[3]};`, `{"a":1}`: `{"a":1};`, `"x"`: `"x";`,
	} {
		var got strings.Builder
		for v := range Elements([]byte(in)) {
			got.WriteString(string(v) + ";")
		}
		if got.String() != want {
			t.Errorf("%s: %s, want %s", in, got.String(), want)
		}
	}
}

func TestTextJoinsCutCharacters(t *testing.T) {
	for _, tt := range []struct {
		pieces []string
		deltas string // joined with |
		want   string
	}{
		{[]string{"a", "b"}, "a|b", "ab"},
		{[]string{`\ud83d`, `\ude42!`}, "|🙂!", "🙂!"},
		{[]string{`x\ud83d`, `y`}, "x|\uFFFDy", "x\uFFFDy"},
		{[]string{`\ud83d\ud83d`, `\ude42`}, "\uFFFD|🙂", "\uFFFD🙂"},
		{[]string{`\ude42`}, "\uFFFD", "\uFFFD"},
		{[]string{`\ud83d`}, "", "\uFFFD"},
		{[]string{"\xf0\x9f", "\x99\x82"}, "|🙂", "🙂"},
		{[]string{"a\xe6", "\x97", "\xa5b"}, "a||日b", "a日b"},
		{[]string{"\xf0\x9f"}, "", "\uFFFD\uFFFD"},
		{[]string{"\xf0\x9f", "x"}, "|\uFFFD\uFFFDx", "\uFFFD\uFFFDx"},
		{[]string{"a\xffb"}, "a\uFFFDb", "a\uFFFDb"},
		{[]string{`\"\\\/\b\f\n\r\tA\u00e9`}, "\"\\/\b\f\n\r\tAé", "\"\\/\b\f\n\r\tAé"},
		{[]string{"", "a", ""}, "|a|", "a"},
	} {
		var text Text
		var deltas []string
		for _, p := range tt.pieces {
			deltas = append(deltas, text.Append([]byte(p)))
		}
		if got := strings.Join(deltas, "|"); got != tt.deltas {
			t.Errorf("%q: deltas %q, want %q", tt.pieces, got, tt.deltas)
		}
		if got := text.String(); got != tt.want {
			t.Errorf("%q: %q, want %q", tt.pieces, got, tt.want)
		}
	}
}

func TestValid(t *testing.T) {
	for _, in := range []string{
		"", " ", "{}", "[]", "{", "[", "[1,]", "[,1]", "{,}", `{"a"}`, `{"a":}`, `{"a":1,}`, `{a:1}`, `{"a":1}x`, " null ", "nul", "nulll", "tru", "false",
		"-", "-0", "01", "0.", "1.5", ".5", "1e", "1e+", "1E-7", "+1", `"`, `"\`, `"\"`, `"\x"`, `"\u12"`, `"\u12g4"`, `"\u12F4"`, "\"\n\"", "\"\x7f\xff\"",
		strings.Repeat("[", 10000) + strings.Repeat("]", 10000), strings.Repeat("[", 10001) + strings.Repeat("]", 10001),
		strings.Repeat(`{"a":`, 10001) + "1" + strings.Repeat("}", 10001),
	} {
		if got, want := Valid([]byte(in)), json.Valid([]byte(in)); got != want {
			t.Errorf("Valid(%.40q) = %v", in, got)
		}
	}
}

func BenchmarkValid(b *testing.B) {
	chunk := []byte(`{"id":"chatcmpl-abc123","object":"chat.completion.chunk","created":1700000000,"model":"gpt-4o-mini","choices":[{"index":0,"delta":{"content":"word "},"logprobs":null,"finish_reason":null}]}`)
	b.SetBytes(int64(len(chunk)))
	for b.Loop() {
		Valid(chunk)
	}
}

func FuzzScan(f *testing.F) {
	f.Add(`{"a":["x",{"b":"\ud83d\ude42"}],"c":-1}`, 4)
	f.Add("\"a\\u00e9\xff\"", 2)
	f.Add(`["\\",{"":{}},[[]]]`, 1)
	f.Fuzz(func(t *testing.T, in string, cut int) {
		walk([]byte(in), 0) // must end, whatever it is
		b := []byte(in)
		if Valid(b) != json.Valid(b) {
			t.Fatalf("Valid(%q) = %v", b, Valid(b))
		}
		var v any
		if json.Unmarshal(b, &v) == nil {
			if got := rebuild(bytes.TrimSpace(b)); !sameJSON(t, got, b) {
				t.Fatalf("%s became %s", b, got)
			}
		}
		quoted := AppendString(nil, in)
		var back string
		if err := json.Unmarshal(quoted, &back); err != nil || back != validEach(in) {
			t.Fatalf("%q became %s, %v", in, quoted, err)
		}
		var whole, parts Text
		inner := Inner(quoted)
		whole.Append(inner)
		if cut >= 0 && cut < len(inner) && !bytes.Contains(inner, []byte("\\")) {
			d := parts.Append(inner[:cut]) + parts.Append(inner[cut:])
			if whole.String() != parts.String() || !strings.HasPrefix(parts.String(), d) || !utf8.ValidString(d) {
				t.Fatalf("cut at %d: %q, %q, whole %q", cut, d, parts.String(), whole.String())
			}
		}
	})
}

func walk(b []byte, depth int) {
	if depth > 3 {
		return
	}
	for _, v := range Members(b) {
		walk(v, depth+1)
	}
	if len(b) > 0 && b[0] == '[' {
		for v := range Elements(b) {
			walk(v, depth+1)
		}
	}
	_ = String(b)
}

// rebuild writes a value anew from what the walk yields.
func rebuild(b []byte) []byte {
	switch {
	case b[0] == '{':
		out, sep := []byte{'{'}, ""
		for k, v := range Members(b) {
			out = append(AppendString(append(out, sep...), string(k)), ':')
			out, sep = append(out, rebuild(v)...), ","
		}
		return append(out, '}')
	case b[0] == '[':
		out, sep := []byte{'['}, ""
		for v := range Elements(b) {
			out, sep = append(append(out, sep...), rebuild(v)...), ","
		}
		return append(out, ']')
	case IsString(b):
		return AppendString(nil, String(b))
	}
	return b
}

func sameJSON(t *testing.T, a, b []byte) bool {
	var va, vb any
	if err := json.Unmarshal(a, &va); err != nil {
		t.Fatalf("%s: %v", a, err)
	}
	if err := json.Unmarshal(b, &vb); err != nil {
		t.Fatal(err)
	}
	ja, _ := json.Marshal(va)
	jb, _ := json.Marshal(vb)
	return bytes.Equal(ja, jb)
}

// validEach replaces each bad byte, where strings.ToValidUTF8 replaces a run.
func validEach(s string) string {
	var b strings.Builder
	for _, r := range s {
		b.WriteRune(r)
	}
	return b.String()
}
