package store

import (
	"os"
	"testing"
)

// Whatever a file holds, it opens or is refused, and what it held is still
// there after going on.
func FuzzRead(f *testing.F) {
	for _, s := range []string{
		"", "\n", "{", `{"type":"meta","v":1}` + "\n", `{"type":"meta","v":9}`,
		`{"type":"msg","role":"user","content":"a"}` + "\n" + `{"type":"msg","ro`,
		`{"type":"msg","role":"assistant","tool_calls":[{"id":"1","name":"f","args":"{}"}]}`,
		"\x00\x00" + `{"type":"msg","role":"user","content":"a"}`,
		`{"type":"msg","role":"user","attachments":[{"name":"x","blob":"../../etc/passwd"}]}`,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		s := New(t.TempDir())
		id := NewID(noon)
		must(t, os.WriteFile(s.path(id), data, 0o600))
		_, _ = s.peek(id)
		sess, before, err := s.Open(id)
		if err != nil {
			return
		}
		must(t, sess.Append(user("next")))
		must(t, sess.Close())
		after, err := s.Load(id)
		must(t, err)
		want := append(before.Messages[:len(before.Messages):len(before.Messages)], user("next"))
		want, _ = closeCalls(want)
		same(t, after.Messages, want)
		if after.Cut != 0 {
			t.Fatal("a torn line is left")
		}
	})
}
