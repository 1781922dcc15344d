package store

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"clm/llm"
)

func BenchmarkAppend(b *testing.B) {
	sess, err := New(b.TempDir()).Create(time.Now(), Meta{})
	if err != nil {
		b.Fatal(err)
	}
	defer sess.Close()
	m := llm.Message{Role: llm.RoleUser, Content: strings.Repeat("a line of text\n", 20)}
	for b.Loop() {
		if err := sess.Append(m); err != nil {
			b.Fatal(err)
		}
	}
}

func tenThousand(b *testing.B) Store {
	b.Helper()
	s := New(b.TempDir())
	line := `{"type":"msg","role":"user","content":"hi"}` + "\n" + strings.Repeat(`{"type":"msg","role":"assistant","content":"hello"}`+"\n", 20)
	for i := range 10_000 {
		id := fmt.Sprintf("202607%02d-%06d-%08x", i%28+1, i, i)
		if err := os.WriteFile(s.path(id), []byte(line), 0o600); err != nil {
			b.Fatal(err)
		}
	}
	return s
}

func BenchmarkTenThousand(b *testing.B) {
	s := tenThousand(b)
	b.Run("newest", func(b *testing.B) {
		for b.Loop() {
			_, _ = s.Newest()
		}
	})
	b.Run("list20", func(b *testing.B) {
		for b.Loop() {
			_, _ = s.List(20)
		}
	})
	b.Run("listall", func(b *testing.B) {
		for b.Loop() {
			_, _ = s.List(0)
		}
	})
	b.Run("create", func(b *testing.B) {
		for b.Loop() {
			sess, _ := s.Create(time.Now(), Meta{})
			_ = sess.Close()
		}
	})
}
