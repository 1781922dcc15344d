package builtin

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"go.uber.org/goleak"

	"clm/actors/internal/tool"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// bench is a set in a folder of its own.
type bench struct {
	*Set
	t   *testing.T
	dir string
}

func newBench(t *testing.T, o Options) *bench {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	o.Dir, o.SpoolDir = filepath.Join(dir, "ws"), dir
	if err := os.Mkdir(o.Dir, 0o755); err != nil {
		t.Fatal(err)
	}
	b := &bench{New(o), t, o.Dir}
	t.Cleanup(b.Close)
	return b
}

func (b *bench) file(name, content string) {
	b.t.Helper()
	if err := os.WriteFile(filepath.Join(b.dir, name), []byte(content), 0o644); err != nil {
		b.t.Fatal(err)
	}
}

func (b *bench) tool(name string) tool.Tool {
	b.t.Helper()
	for _, t := range b.Tools() {
		if t.Name == name {
			return t
		}
	}
	b.t.Fatalf("no tool %s", name)
	return tool.Tool{}
}

// call runs a tool; args alternate keys and values.
func (b *bench) call(ctx context.Context, name string, args ...any) (tool.Result, error) {
	b.t.Helper()
	res, err := b.tool(name).Run(ctx, tool.Call{ID: "c1", Name: name, Args: object2(args...)})
	if len(res.Text) > maxResult || !utf8.ValidString(res.Text) || strings.ContainsAny(res.Text, "\x00\x1b\r") {
		b.t.Errorf("%s %v: unclean result of %d bytes", name, args, len(res.Text))
	}
	return res, err
}

func object2(args ...any) string {
	m := map[string]any{}
	for i := 0; i < len(args); i += 2 {
		m[args[i].(string)] = args[i+1]
	}
	text, err := json.Marshal(m)
	if err != nil {
		panic(err)
	}
	return string(text)
}

func (b *bench) text(name string, args ...any) string {
	b.t.Helper()
	res, err := b.call(context.Background(), name, args...)
	if err != nil {
		return "error: " + err.Error()
	}
	return res.Text
}

func check(t *testing.T, what, got string, parts ...string) {
	t.Helper()
	for _, p := range parts {
		if !strings.Contains(got, p) {
			t.Errorf("%s: got %.300q, without %q", what, got, p)
		}
	}
}

func TestTools(t *testing.T) {
	b := newBench(t, Options{Notify: func(string) {}})
	free := map[string]bool{"read_file": true, "list_dir": true}
	for _, tl := range b.Tools() {
		var schema struct{ Type string }
		if err := json.Unmarshal(tl.Schema, &schema); err != nil || schema.Type != "object" {
			t.Errorf("%s: schema %s: %v", tl.Name, tl.Schema, err)
		}
		if tl.NoPrompt != free[tl.Name] || tl.Source != "builtin" || tl.Description == "" {
			t.Errorf("%+v", tl)
		}
		for _, args := range []string{"", "{}", "[]", "null", `{"path":1}`, `{"command":""}`, "{"} {
			if _, err := tl.Run(t.Context(), tool.Call{Args: args}); err == nil {
				t.Errorf("%s takes %q", tl.Name, args)
			}
			if tl.Reason != nil {
				tl.Reason(args)
			}
		}
	}
	if got := len(New(Options{Dir: "/"}).Tools()); got != 4 {
		t.Errorf("%d tools without Notify", got)
	}
}

func TestReadFile(t *testing.T) {
	b := newBench(t, Options{Secrets: []string{"sk-SECRET99"}})
	var lines strings.Builder
	for i := range 1000 {
		fmt.Fprintf(&lines, "line %d\n", i+1)
	}
	b.file("lines", lines.String())
	b.file("one", "remember the milk")
	b.file("empty", "")
	b.file("long", "a\n"+strings.Repeat("é", 100_000)+"\nlast\n")
	b.file("wide", strings.Repeat(strings.Repeat("x", 5000)+"\n", 100))
	b.file("binary", "text\x00more")
	b.file("latin", "caf\xe9")
	b.file("colours", "\x1b[31mred\x1b[0m\r\n")
	b.file("key", "key sk-SECRET99")
	for _, c := range []struct {
		args []any
		want []string
	}{
		{[]any{"path", "one"}, []string{"remember the milk"}},
		{[]any{"path", "lines"}, []string{"line 1\n", "line 200\n(lines 1 to 200; there are more, go on with offset=201)"}},
		{[]any{"path", "lines", "offset", 999, "limit", 5}, []string{"line 999\nline 1000\n"}},
		{[]any{"path", "lines", "offset", 1000.0, "limit", 1}, []string{"line 1000\n"}},
		{[]any{"path", "lines", "offset", 1001}, []string{"1000 lines, none at offset 1001"}},
		{[]any{"path", "lines", "offset", 1e300}, []string{"1000 lines, none at offset"}},
		{[]any{"path", "lines", "offset", 0}, []string{"error: offset"}},
		{[]any{"path", "empty"}, []string{"(the file is empty)"}},
		{[]any{"path", "long"}, []string{"a\n", "line 2 has 191809 bytes more", "last\n"}},
		{[]any{"path", "wide"}, []string{"go on with offset="}},
		{[]any{"path", "binary"}, []string{"binary file, not shown: 9 bytes", "at offset 4"}},
		{[]any{"path", "latin"}, []string{"4 bytes", "at offset 3"}},
		{[]any{"path", "colours"}, []string{"red\n"}},
		{[]any{"path", "key"}, []string{"key [redacted]"}},
		{[]any{"path", "none"}, []string{"error: ", "no such file"}},
		{[]any{"path", "."}, []string{"error: ", "a folder"}},
		{[]any{"path", "/proc/self/environ"}, []string{"error: ", "shell_exec"}},
		{[]any{"path", "/dev/zero"}, []string{"error: ", "system files"}},
	} {
		check(t, fmt.Sprint(c.args), b.text("read_file", c.args...), c.want...)
	}
}

func TestReadImage(t *testing.T) {
	b := newBench(t, Options{})
	png := "\x89PNG\r\n\x1a\n" + strings.Repeat("x", 100)
	b.file("a.png", png)
	res, err := b.call(t.Context(), "read_file", "path", "a.png")
	if err != nil || len(res.Attachments) != 1 || !bytes.Equal(res.Attachments[0].Data, []byte(png)) || res.Attachments[0].MediaType != "image/png" {
		t.Errorf("got %+v, %v", res, err)
	}
	b.file("b.png", png+strings.Repeat("x", maxImage))
	check(t, "large image", b.text("read_file", "path", "b.png"), "error: ", "larger than")
}

func TestListDir(t *testing.T) {
	b := newBench(t, Options{})
	check(t, "empty", b.text("list_dir", "path", "."), "(the folder is empty)")
	b.file("b.txt", "12345")
	b.file("a\nb", "")
	if err := os.Mkdir(filepath.Join(b.dir, "sub"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("/etc", filepath.Join(b.dir, "link")); err != nil {
		t.Fatal(err)
	}
	if got, want := b.text("list_dir", "path", "."), "\"a\\nb\"  0\nb.txt  5\nlink -> /etc\nsub/\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	check(t, "file", b.text("list_dir", "path", "b.txt"), "error: ", "not a folder")
	for i := range 400 {
		b.file(fmt.Sprintf("sub/%s%d", strings.Repeat("n", 200), i), "")
	}
	check(t, "many", b.text("list_dir", "path", "sub"), "more)")
}

func TestWriteFile(t *testing.T) {
	b := newBench(t, Options{Private: []string{"/nowhere/clm"}})
	check(t, "new", b.text("write_file", "path", "new/out.txt", "content", "written"), "wrote 7 bytes", "new/out.txt")
	if data, _ := os.ReadFile(filepath.Join(b.dir, "new/out.txt")); string(data) != "written" {
		t.Errorf("the file holds %q", data)
	}
	for _, c := range []struct {
		args []any
		want string
	}{
		{[]any{"path", "x"}, "content is missing"},
		{[]any{"content", "x"}, "path is missing"},
		{[]any{"path", "new", "content", ""}, "a folder"},
		{[]any{"path", "/proc/x", "content", ""}, "system files"},
		{[]any{"path", "/nowhere/clm/config.lua", "content", ""}, "belongs to clm"},
		{[]any{"path", "new/out.txt/x", "content", ""}, "not a directory"},
	} {
		check(t, fmt.Sprint(c.args), b.text("write_file", c.args...), "error: ", c.want)
	}
}

// The question shows where a link leads, and what was shown is what is written.
func TestWriteThroughLink(t *testing.T) {
	b := newBench(t, Options{})
	out := filepath.Join(filepath.Dir(b.dir), "out")
	notes := filepath.Join(b.dir, "notes")
	if err := os.Symlink(out, notes); err != nil {
		t.Fatal(err)
	}
	args := object2("path", "notes", "content", "x")
	w := b.tool("write_file")
	check(t, "reason", w.Reason(args), "leads to "+out)
	if got := b.Path("write_file", args); got != out {
		t.Errorf("Path gives %q", got)
	}
	run := func() error {
		_, err := w.Run(t.Context(), tool.Call{Args: args})
		return err
	}
	if err := run(); err != nil {
		t.Errorf("a write to where a dangling link leads: %v", err)
	}
	w.Reason(args)
	if err := os.Remove(notes); err != nil {
		t.Fatal(err)
	}
	other := filepath.Join(filepath.Dir(b.dir), "other")
	if err := os.Symlink(other, notes); err != nil {
		t.Fatal(err)
	}
	if err := run(); err == nil || !strings.Contains(err.Error(), other) {
		t.Errorf("the link was swapped after the question: got %v", err)
	}
	if _, err := os.Stat(other); err == nil {
		t.Error("the file was written where nobody agreed to")
	}
	if err := run(); err != nil {
		t.Errorf("a new call: %v", err)
	}
}
