package logging

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

type secret string

func (secret) LogValue() slog.Value { return slog.StringValue("[secret]") }

// TestLines holds that each record is one clean line in both forms.
func TestLines(t *testing.T) {
	for _, asJSON := range []bool{true, false} {
		var out bytes.Buffer
		l := New(&out, asJSON, LevelTrace)
		l.Hide(`sk-"plant\ed`, "tiny", "abc", "pass word")
		log := l.Logger().With("who", secret("sk-typed"))
		log.Info("forged\n2026 INF record\x1b]52;c;x\x07\u202e\u009b")
		log.Warn("text", "body", `{"key":"sk-\"plant\\ed"}`, "err", errors.New(`Bearer sk-"plant\ed`), "b64", "c2stInBsYW50XGVk", "url", "?k=pass+word&l=pass%20word", "bytes", []byte(`sk-"plant\ed`))
		log.Debug("invalid \xff utf-8", "any", map[string]string{"k": `sk-"plant\ed`})
		log.Log(t.Context(), LevelTrace, strings.Repeat("é", maxLine))
		lines := strings.Split(strings.TrimSuffix(out.String(), "\n"), "\n")
		if len(lines) != 4 {
			t.Fatalf("json %v: %d lines: %q", asJSON, len(lines), lines)
		}
		for _, bad := range []string{"plant", "c2stInBsYW50XGVk", "pass+word", "pass%20word", "pass word", "sk-typed", "\x1b", "\x07", "\u202e", "\u009b", "\xff"} {
			if strings.Contains(out.String(), bad) {
				t.Errorf("json %v: %q shows in %q", asJSON, bad, out.String())
			}
		}
		if len(lines[3]) > maxLine+20 || !strings.HasSuffix(lines[3], "[cut]") {
			t.Errorf("json %v: a line of %d bytes", asJSON, len(lines[3]))
		}
		if asJSON && !json.Valid([]byte(lines[1])) {
			t.Errorf("not JSON: %s", lines[1])
		}
	}
}

func TestOpen(t *testing.T) {
	off, err := Open(Options{})
	if err != nil || off.Logger().Enabled(t.Context(), slog.LevelError) {
		t.Errorf("without a file the log is not off: %v", err)
	}
	off.Hide("x")
	if err := off.Close(); err != nil {
		t.Error(err)
	}
	path := filepath.Join(t.TempDir(), "debug.jsonl")
	for range 2 {
		l, err := Open(Options{Path: path, Level: "info"})
		if err != nil {
			t.Fatal(err)
		}
		l.Logger().Debug("not this")
		l.Logger().Info("this")
		if err := l.Close(); err != nil {
			t.Fatal(err)
		}
	}
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(string(b), "this"); n != 2 || strings.Contains(string(b), "not this") {
		t.Errorf("appended: %q", b)
	}
	if st, _ := os.Stat(path); st.Mode().Perm() != 0o600 {
		t.Errorf("mode %v", st.Mode())
	}
	if _, err := Open(Options{Path: filepath.Join(path, "x")}); err == nil {
		t.Error("a path below a file was opened")
	}
	if _, err := Open(Options{Path: path, Level: "loud"}); err == nil || !strings.Contains(err.Error(), "trace, debug") {
		t.Errorf("level: %v", err)
	}
}

type failing struct{}

func (failing) Write([]byte) (int, error) { return 0, io.ErrShortWrite }

// TestFailingWriter holds that a full disk stops nothing and prints nothing.
func TestFailingWriter(t *testing.T) {
	old := os.Stderr
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	os.Stderr = w
	New(failing{}, true, slog.LevelDebug).Logger().Info("x")
	os.Stderr = old
	_ = w.Close()
	if b, _ := io.ReadAll(r); len(b) > 0 {
		t.Errorf("printed %q", b)
	}
}

// FuzzCleaner holds that no input makes more than one line, or invalid text.
func FuzzCleaner(f *testing.F) {
	f.Add([]byte("a\x1b[2J\nb"), "key-1")
	f.Add([]byte("\xff\xfe key-1"), "key-1")
	f.Fuzz(func(t *testing.T, line []byte, key string) {
		var out bytes.Buffer
		c := &cleaner{w: &out}
		c.hide([]string{key})
		if n, err := c.Write(line); n != len(line) || err != nil {
			t.Fatal(n, err)
		}
		if s := strings.TrimSuffix(out.String(), "\n"); strings.ContainsAny(s, "\n\r\x1b\x00") {
			t.Errorf("%q", s)
		}
	})
}

// BenchmarkOff is the cost of a line that is not logged.
func BenchmarkOff(b *testing.B) {
	off, err := Open(Options{})
	if err != nil {
		b.Fatal(err)
	}
	log := off.Logger()
	for b.Loop() {
		log.Debug("x", "n", 1)
	}
}

func BenchmarkJSON(b *testing.B) {
	l := New(io.Discard, true, slog.LevelDebug)
	l.Hide("sk-some-secret-key", "sk-another-secret-key")
	log := l.Logger()
	for b.Loop() {
		log.Debug("request done", "status", 200, "model", "lab/x")
	}
}
