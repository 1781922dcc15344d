package store

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"go.uber.org/goleak"

	"clm/llm"
)

func TestMain(m *testing.M) {
	if dir := os.Getenv("STORE_TEST_WRITER"); dir != "" {
		writer(dir)
		return
	}
	goleak.VerifyTestMain(m)
}

var noon = time.Date(2026, 7, 6, 12, 0, 0, 0, time.UTC)

func user(text string) llm.Message { return llm.Message{Role: llm.RoleUser, Content: text} }

func calls(ids ...string) llm.Message {
	m := llm.Message{Role: llm.RoleAssistant}
	for _, id := range ids {
		m.ToolCalls = append(m.ToolCalls, llm.ToolCall{ID: id, Name: "f", Args: `{"n":1}`})
	}
	return m
}

func result(id, text string) llm.Message {
	return llm.Message{Role: llm.RoleTool, ToolCallID: id, ToolName: "f", Content: text}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// session makes a session with messages and closes it.
func session(t *testing.T, s Store, at time.Time, msgs ...llm.Message) string {
	t.Helper()
	sess, err := s.Create(at, Meta{Model: "mock/m", Dir: "/w"})
	must(t, err)
	must(t, sess.Append(msgs...))
	must(t, sess.Sync())
	must(t, sess.Close())
	return sess.ID()
}

func same(t *testing.T, got, want []llm.Message) {
	t.Helper()
	if diff := cmp.Diff(want, got, cmpopts.IgnoreUnexported(llm.Message{}), cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("messages differ (-want +got):\n%s", diff)
	}
}

func mode(t *testing.T, path string) fs.FileMode {
	t.Helper()
	info, err := os.Stat(path)
	must(t, err)
	return info.Mode().Perm()
}

func TestRoundTrip(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "state", "clm")
	s := New(dir)
	sess, err := s.Create(noon, Meta{Model: "mock/m", Dir: "/w"})
	must(t, err)
	if entries, _ := os.ReadDir(dir); len(entries) != 0 {
		t.Errorf("%v before the first message", entries)
	}
	msgs := []llm.Message{
		{Role: llm.RoleUser, Content: "look\u2028 <b>", Attachments: []llm.Attachment{{Name: "a.png", MediaType: "image/png", Data: []byte("\x89PNG\x00")}}},
		{Role: llm.RoleAssistant, Content: "I call", ToolCalls: calls("c1").ToolCalls, Reasoning: []llm.Reasoning{{Origin: "o", Raw: json.RawMessage(`{"x":1}`)}}},
		{Role: llm.RoleTool, ToolCallID: "c1", ToolName: "f", Content: "no", Failed: true},
		{Role: llm.RoleAssistant, Content: "done"},
	}
	must(t, sess.Append(msgs[:2]...))
	must(t, sess.Append(msgs[2:]...))
	must(t, sess.Sync())
	loaded, err := s.Load(sess.ID()) // while it is written
	must(t, err)
	same(t, loaded.Messages, msgs)
	must(t, sess.Close())
	for path, want := range map[string]fs.FileMode{".": 0o700, sess.ID() + ".jsonl": 0o600, sess.ID() + ".blobs": 0o700} {
		if got := mode(t, filepath.Join(dir, path)); got != want {
			t.Errorf("%s has mode %v", path, got)
		}
	}
	again, loaded, err := s.Open(sess.ID())
	must(t, err)
	if want := (Meta{ID: sess.ID(), Created: noon, Model: "mock/m", Dir: "/w"}); loaded.Meta != want {
		t.Errorf("got %+v", loaded.Meta)
	}
	must(t, again.Append(user("more")))
	must(t, again.Close())
	if err := again.Append(user("late")); !errors.Is(err, fs.ErrClosed) {
		t.Errorf("after Close: %v", err)
	}
	loaded, err = s.Load(sess.ID())
	must(t, err)
	same(t, loaded.Messages, append(msgs, user("more")))
}

// Files as crashes and other programs leave them.
func TestDamage(t *testing.T) {
	const meta = `{"type":"meta","v":1,"id":"x","created":"2026-01-02T03:04:05Z","extra":1}` + "\n"
	one := `{"type":"msg","role":"user","content":"one"}` + "\n"
	two := `{"type":"msg","role":"user","content":"zwei €"}` + "\n"
	both := []llm.Message{user("one"), user("zwei €")}
	nul := strings.Repeat("\x00", 300)
	for name, c := range map[string]struct {
		file    string
		want    []llm.Message
		cut     int
		skipped int
	}{
		"whole":                {meta + one + two, both, 0, 0},
		"torn":                 {meta + one + `{"type":"msg","ro`, both[:1], 17, 0},
		"torn in a character":  {meta + one + two[:strings.Index(two, "€")+1], both[:1], strings.Index(two, "€") + 1, 0},
		"no newline":           {meta + one + strings.TrimSuffix(two, "\n"), both, 0, 0},
		"bad line":             {meta + one + "{\"type\":\n" + two, both, 0, 1},
		"NULs at the end":      {meta + one + two + nul, both, 300, 0},
		"NULs before a line":   {meta + one + nul + two, both, 0, 0},
		"NULs after a torn":    {meta + one + `{"type":"ms` + nul + two, both, 0, 1},
		"NULs as a line":       {meta + one + nul + "\n" + two, both, 0, 0},
		"empty lines, CRLF":    {meta + "\n\r\n" + strings.ReplaceAll(one+two, "\n", "\r\n"), both, 0, 0},
		"no meta":              {one + two, both, 0, 0},
		"torn meta":            {"{\"type\":\"meta\",\n" + one + two, both, 0, 1},
		"unknown type":         {meta + one + `{"type":"usage","id":5,"model":[]}` + "\n" + two, both, 0, 0},
		"unknown members":      {meta + one + strings.Replace(two, `"role"`, `"id":7,"role"`, 1), both, 0, 0},
		"system message":       {meta + `{"type":"msg","role":"system","content":"s"}` + "\n" + one + two, both, 0, 0},
		"not UTF-8":            {meta + one + "\xff\xfe\n" + two, both, 0, 1},
		"only meta":            {meta, nil, 0, 0},
		"empty":                {"", nil, 0, 0},
		"an array, a number":   {meta + "[1]\n5\n" + one + two, both, 0, 2},
		"meta of another time": {strings.Replace(meta, `"2026-01-02T03:04:05Z"`, "1783339500", 1) + one, both[:1], 0, 0},
	} {
		t.Run(name, func(t *testing.T) {
			s := New(t.TempDir())
			id := NewID(noon)
			must(t, os.WriteFile(s.path(id), []byte(c.file), 0o600))
			loaded, err := s.Load(id)
			must(t, err)
			same(t, loaded.Messages, c.want)
			if data, _ := os.ReadFile(s.path(id)); string(data) != c.file {
				t.Error("Load changed the file")
			}
			sess, loaded, err := s.Open(id)
			must(t, err)
			same(t, loaded.Messages, c.want)
			if loaded.Skipped != c.skipped || loaded.Cut != c.cut {
				t.Errorf("skipped %d, cut %d; want %d, %d", loaded.Skipped, loaded.Cut, c.skipped, c.cut)
			}
			must(t, sess.Append(user("next")))
			must(t, sess.Close())
			loaded, err = s.Load(id)
			must(t, err)
			same(t, loaded.Messages, append(c.want[:len(c.want):len(c.want)], user("next")))
			if loaded.Cut != 0 {
				t.Errorf("%d torn bytes are left", loaded.Cut)
			}
		})
	}
}

func TestLaterVersion(t *testing.T) {
	s := New(t.TempDir())
	id := NewID(noon)
	file := `{"type":"meta","v":2}` + "\n" + `{"type":"msg","ro`
	must(t, os.WriteFile(s.path(id), []byte(file), 0o600))
	if _, err := s.Load(id); !errors.Is(err, ErrVersion) {
		t.Errorf("Load: %v", err)
	}
	if _, _, err := s.Open(id); !errors.Is(err, ErrVersion) {
		t.Errorf("Open: %v", err)
	}
	if data, _ := os.ReadFile(s.path(id)); string(data) != file {
		t.Error("the file was changed")
	}
	list, err := s.List(0)
	if err != nil || len(list) != 1 || list[0].ID != id || !errors.Is(list[0].Err, ErrVersion) {
		t.Errorf("List: %+v, %v", list, err)
	}
}

func TestOpenCallsAreClosed(t *testing.T) {
	lost := func(id string) llm.Message { m := result(id, interrupted); m.Failed = true; return m }
	for name, c := range map[string]struct{ have, want []llm.Message }{
		"at the end":       {[]llm.Message{user("a"), calls("1", "2"), result("1", "x")}, []llm.Message{user("a"), calls("1", "2"), result("1", "x"), lost("2")}},
		"none has one":     {[]llm.Message{calls("1", "2")}, []llm.Message{calls("1", "2"), lost("1"), lost("2")}},
		"in the middle":    {[]llm.Message{calls("1"), user("b")}, []llm.Message{calls("1"), lost("1"), user("b")}},
		"whole":            {[]llm.Message{calls("1"), result("1", "x"), user("b")}, []llm.Message{calls("1"), result("1", "x"), user("b")}},
		"late":             {[]llm.Message{calls("1"), user("b"), result("1", "x")}, []llm.Message{calls("1"), user("b"), result("1", "x")}},
		"same id again":    {[]llm.Message{calls("1"), calls("1"), result("1", "x")}, []llm.Message{calls("1"), lost("1"), calls("1"), result("1", "x")}},
		"same id in one":   {[]llm.Message{calls("1", "1"), result("1", "x")}, []llm.Message{calls("1", "1"), result("1", "x"), lost("1")}},
		"order is another": {[]llm.Message{calls("1", "2"), result("2", "y"), result("1", "x")}, []llm.Message{calls("1", "2"), result("2", "y"), result("1", "x")}},
	} {
		t.Run(name, func(t *testing.T) {
			s := New(t.TempDir())
			id := session(t, s, noon, c.have...)
			for range 2 { // nothing is written, and closing is the same each time
				loaded, err := s.Load(id)
				must(t, err)
				same(t, loaded.Messages, c.want)
				if want := len(c.want) - len(c.have); loaded.Closed != want {
					t.Errorf("closed %d, want %d", loaded.Closed, want)
				}
			}
			for closed := len(c.want) - len(c.have); ; closed = 0 { // who goes on writes it, once
				sess, loaded, err := s.Open(id)
				must(t, err)
				must(t, sess.Close())
				same(t, loaded.Messages, c.want)
				if loaded.Closed != closed {
					t.Errorf("opened: closed %d, want %d", loaded.Closed, closed)
				}
				if closed == 0 {
					break
				}
			}
		})
	}
}

// Older programs stored the system prompt: that is no damage.
func TestSystemPromptOfAnOlderProgram(t *testing.T) {
	s := New(t.TempDir())
	id := session(t, s, noon, user("a"))
	f, err := os.OpenFile(s.path(id), os.O_APPEND|os.O_WRONLY, 0)
	must(t, err)
	_, err = f.WriteString(`{"type":"msg","role":"system","content":"be kind"}` + "\n" + `{"type":"msg","role":"robot","content":"x"}` + "\n")
	must(t, errors.Join(err, f.Close()))
	loaded, err := s.Load(id)
	must(t, err)
	same(t, loaded.Messages, []llm.Message{user("a")})
	if loaded.Skipped != 1 { // the robot's
		t.Errorf("skipped %d", loaded.Skipped)
	}
}

func TestOneWriter(t *testing.T) {
	s := New(t.TempDir())
	id := session(t, s, noon, user("a"))
	sess, _, err := s.Open(id)
	must(t, err)
	if _, _, err := s.Open(id); !errors.Is(err, ErrLocked) {
		t.Errorf("a second writer: %v", err)
	}
	must(t, sess.Rewrite([]llm.Message{user("b")}))
	if _, _, err := s.Open(id); !errors.Is(err, ErrLocked) {
		t.Errorf("a second writer after a rewrite: %v", err)
	}
	if err := s.Remove(id); !errors.Is(err, ErrLocked) {
		t.Errorf("Remove: %v", err)
	}
	must(t, sess.Close())
	must(t, s.Remove(id))
	if _, err := s.Load(id); !errors.Is(err, ErrNotFound) {
		t.Errorf("after Remove: %v", err)
	}
	entries, _ := os.ReadDir(s.dir)
	if len(entries) > 0 {
		t.Errorf("%v is left", entries)
	}
}

func TestRewrite(t *testing.T) {
	s := New(t.TempDir())
	id := session(t, s, noon, user("a"), user("b"))
	before, _ := os.ReadFile(s.path(id))
	sess, _, err := s.Open(id)
	must(t, err)
	must(t, sess.Rewrite([]llm.Message{user("summary")}))
	must(t, sess.Append(user("c")))
	if bak, _ := os.ReadFile(s.path(id) + ".bak"); string(bak) != string(before) {
		t.Errorf(".bak holds %q", bak)
	}
	must(t, sess.Rewrite([]llm.Message{user("summary 2")})) // a second .bak
	must(t, sess.Append(user("d")))
	bad := llm.Message{Role: llm.RoleAssistant, Reasoning: []llm.Reasoning{{Raw: json.RawMessage("{")}}}
	if err := sess.Rewrite([]llm.Message{user("x"), bad}); err == nil {
		t.Error("a message that cannot be encoded was rewritten")
	}
	must(t, sess.Append(user("e")))
	must(t, sess.Close())
	loaded, err := s.Load(id)
	must(t, err)
	same(t, loaded.Messages, []llm.Message{user("summary 2"), user("d"), user("e")})
	if loaded.Meta.Model != "mock/m" || !loaded.Meta.Created.Equal(noon) || mode(t, s.path(id)) != 0o600 {
		t.Errorf("got %+v", loaded.Meta)
	}
	if _, err := os.Stat(s.path(id) + ".tmp"); err == nil {
		t.Error("a temporary file is left")
	}
}

func TestEmptySession(t *testing.T) {
	s := New(t.TempDir())
	sess, err := s.Create(noon, Meta{})
	must(t, err)
	must(t, sess.Sync())
	must(t, sess.Close())
	id := NewID(noon)
	must(t, os.WriteFile(s.path(id), []byte(`{"type":"meta","v":1}`+"\n"), 0o600))
	opened, _, err := s.Open(id)
	must(t, err)
	must(t, opened.Close())
	if entries, _ := os.ReadDir(s.dir); len(entries) != 0 {
		t.Errorf("%v is left of empty sessions", entries)
	}
}

func TestFindAndList(t *testing.T) {
	s := New(t.TempDir())
	if _, err := s.Newest(); !errors.Is(err, ErrNotFound) {
		t.Errorf("Newest of nothing: %v", err)
	}
	if infos, err := New(filepath.Join(s.dir, "none")).List(0); err != nil || len(infos) != 0 {
		t.Errorf("List of nothing: %v, %v", infos, err)
	}
	old := session(t, s, noon, user("first\n  prompt\x1b[2J "+strings.Repeat("x", 500)))
	mid := session(t, s, noon.Add(time.Hour), llm.Message{Role: llm.RoleAssistant, Content: "hi"}, user("second"))
	last := session(t, s, noon.Add(2*time.Hour), user(strings.Repeat("long", maxPeek)))
	for _, junk := range []string{"notes.jsonl", "20260706-120000-xyz.jsonl", mid + ".jsonl.bak", "history"} {
		must(t, os.WriteFile(filepath.Join(s.dir, junk), []byte("{}"), 0o600))
	}
	must(t, os.Mkdir(s.path("20990101-000000-00000000"), 0o700))
	infos, err := s.List(0)
	must(t, err)
	if len(infos) != 3 || infos[0].ID != last || infos[1].Title != "second" || infos[2].ID != old || infos[1].Model != "mock/m" {
		t.Errorf("got %+v", infos)
	}
	if title := infos[2].Title; !strings.HasPrefix(title, "first prompt [2J xxx") || len(title) > titleSize {
		t.Errorf("title %q", title)
	}
	if infos, _ := s.List(2); len(infos) != 2 {
		t.Errorf("List(2) gives %d", len(infos))
	}
	must(t, os.Remove(s.path("20990101-000000-00000000")))
	for prefix, want := range map[string]string{old: old, old[:15]: old, mid[:12]: mid} {
		if got, err := s.Find(prefix); got != want || err != nil {
			t.Errorf("Find(%s): %s, %v", prefix, got, err)
		}
	}
	for prefix, want := range map[string]error{"2026": ErrAmbiguous, "": ErrNotFound, "../x": ErrNotFound, "99": ErrNotFound} {
		if _, err := s.Find(prefix); !errors.Is(err, want) {
			t.Errorf("Find(%q): %v", prefix, err)
		}
	}
	if got, err := s.Newest(); got != last || err != nil {
		t.Errorf("Newest: %s, %v", got, err)
	}
	for _, id := range []string{"../" + old, "x", ""} {
		if _, err := s.Load(id); !errors.Is(err, ErrNotFound) {
			t.Errorf("Load(%q): %v", id, err)
		}
	}
}

// A full disk must not join the next line to a torn one.
func TestWriteFails(t *testing.T) {
	s := New(t.TempDir())
	id := session(t, s, noon, user("a"))
	sess, _, err := s.Open(id)
	must(t, err)
	whole := sess.f
	sess.f, err = os.Open(s.path(id)) // a file that cannot be written
	must(t, err)
	if err := sess.Append(user("lost")); err == nil {
		t.Error("no error")
	}
	sess.f.Close()
	sess.f = whole
	must(t, sess.Append(user("b")))
	must(t, sess.Close())
	loaded, err := s.Load(id)
	must(t, err)
	same(t, loaded.Messages, []llm.Message{user("a"), user("b")})
}

func ExampleStore() {
	dir, _ := os.MkdirTemp("", "")
	defer os.RemoveAll(dir)
	s := New(dir)
	sess, _ := s.Create(time.Now(), Meta{Model: "demo/demo"})
	_ = sess.Append(llm.Message{Role: llm.RoleUser, Content: "hi"}, llm.Message{Role: llm.RoleAssistant, Content: "hello"})
	_ = sess.Sync()
	_ = sess.Close()
	id, _ := s.Newest()
	loaded, _ := s.Load(id)
	for _, m := range loaded.Messages {
		fmt.Println(m.Role, m.Content)
	}
	// Output:
	// user hi
	// assistant hello
}
