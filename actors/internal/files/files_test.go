package files

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// tree is a folder, its own links resolved, with a few things in it.
func tree(t *testing.T) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range []string{"ws/sub", "out", "cfg"} {
		must(t, os.MkdirAll(filepath.Join(dir, d), 0o755))
	}
	for link, target := range map[string]string{
		"ws/notes": filepath.Join(dir, "out/notes"), "ws/up": "../out", "ws/loop": "loop", "ws/dangle": filepath.Join(dir, "out/none/x"),
		"ws/cfg": "../cfg",
	} {
		must(t, os.Symlink(target, filepath.Join(dir, link)))
	}
	must(t, os.WriteFile(filepath.Join(dir, "ws/a"), []byte("A"), 0o640))
	return dir
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func TestResolve(t *testing.T) {
	dir := tree(t)
	for path, want := range map[string]string{
		"a":               "ws/a",
		"./sub/../a":      "ws/a",
		"new/deep/x":      "ws/new/deep/x",
		"notes":           "out/notes",
		"up/x":            "out/x",
		"up/../a":         "a", // as the kernel: the parent of where the link leads
		"dangle":          "out/none/x",
		"a/b":             "ws/a/b",
		dir + "/ws/notes": "out/notes",
	} {
		got, err := Resolve(dir+"/ws", path)
		if err != nil || got != filepath.Join(dir, want) {
			t.Errorf("%s: got %s, %v; want %s", path, got, err, want)
		}
	}
	for _, path := range []string{"", "loop", "a\x00b", strings.Repeat("x", 5000)} {
		if got, err := Resolve(dir+"/ws", path); err == nil {
			t.Errorf("%.10q: got %s", path, got)
		}
	}
}

func TestPolicy(t *testing.T) {
	dir := tree(t)
	p, err := NewPolicy(Roots{
		Dir: dir + "/ws", Data: dir + "/data/p", Home: dir, Read: []string{"~/out/**"}, Write: []string{dir + "/w/*"},
		Private: []string{dir + "/cfg", dir + "/ws/sub/secret"},
	})
	must(t, err)
	for _, c := range []struct {
		path string
		op   Op
		want Class
	}{
		{"a", OpRead, Free},
		{"new/x", OpWrite, Free},
		{"notes", OpRead, Free}, // a link, and its end is readable
		{"notes", OpWrite, Ask},
		{"../cfg/x", OpRead, Never},
		{"cfg/config.lua", OpRead, Never},
		{"cfg", OpRead, Never},
		{"sub/secret", OpWrite, Never},
		{"sub/secrets", OpWrite, Free},
		{dir + "/data/p/x", OpWrite, Free},
		{dir + "/data/q/x", OpWrite, Ask},
		{dir + "/w/x", OpWrite, Free},
		{dir + "/w/x", OpRead, Ask},
		{dir + "/w/x/y", OpWrite, Ask},
		{"/proc/self/environ", OpRead, Never},
		{"/dev/zero", OpRead, Never},
		{"/sys/x", OpWrite, Never},
		{dir + "/wsx", OpRead, Ask},
	} {
		if _, got, err := p.Check(c.path, c.op); got != c.want || err != nil {
			t.Errorf("%s %d: got %v %v, want %v", c.path, c.op, got, err, c.want)
		}
	}
	if _, err := NewPolicy(Roots{Dir: "/", Read: []string{"["}}); err == nil {
		t.Error("a bad pattern is accepted")
	}
}

// A folder that is named frees all below it, however it is named.
func TestPolicyOfFolders(t *testing.T) {
	dir := tree(t)
	must(t, os.MkdirAll(dir+"/many/a/in/deep", 0o755))
	must(t, os.Symlink(dir+"/out", dir+"/link"))
	for _, c := range []struct {
		free, path string
		want       Class
	}{
		{dir + "/out", "/out/x/y", Free},
		{dir + "/out", "/out", Free},
		{dir + "/out", "/outside", Ask},
		{dir + "/out/", "/out/x/y", Free},
		{dir + "/none/yet", "/none/yet/x", Free},
		{dir + "/out/file", "/out/file", Free},
		{dir + "/out/file", "/out/other", Ask},
		{"../out", "/out/x/y", Free},
		{"./../out/", "/out/x", Free},
		{"../out/*", "/out/x", Free},
		{"../out/*", "/out/x/y", Ask},
		{"~/out", "/out/x/y", Free},
		{"~/", "/out/x/y", Free},
		{"~", "/out/x/y", Free},
		{dir + "/link", "/out/x/y", Free},
		{dir + "/link/*.md", "/out/x.md", Free},
		{dir + "/link/*.md", "/out/x.txt", Ask},
		{dir + "/many/*/in/", "/many/a/in/deep/x", Free},
		{dir + "/many/*/in", "/many/a/in/deep/x", Ask},
		{"/", "/out/x", Free},
		{"/", "/cfg/x", Never},
	} {
		p, err := NewPolicy(Roots{Dir: dir + "/ws", Home: dir, Read: []string{c.free}, Private: []string{dir + "/cfg"}})
		must(t, err)
		if _, got, err := p.Check(dir+c.path, OpRead); got != c.want || err != nil {
			t.Errorf("read = %s, %s: got %v %v, want %v", c.free, c.path, got, err, c.want)
		}
		if _, got, _ := p.Check(dir+c.path, OpWrite); got == Free {
			t.Errorf("read = %s, %s: may be written", c.free, c.path)
		}
	}
}

func TestPrivateByAnotherName(t *testing.T) {
	dir := tree(t)
	hard := filepath.Join(dir, "ws/hard")
	must(t, os.Link(filepath.Join(dir, "ws/a"), hard))
	if !Private([]string{filepath.Join(dir, "ws/a")}, hard) {
		t.Error("a second name of a private file is not private")
	}
}

func TestReadOwn(t *testing.T) {
	dir := tree(t)
	must(t, os.Symlink("ws", filepath.Join(dir, "link")))
	if got, err := ReadOwn(filepath.Join(dir, "link/a"), 1); string(got) != "A" || err != nil {
		t.Errorf("over a link: got %q, %v", got, err)
	}
	if _, err := ReadOwn(filepath.Join(dir, "ws/a"), 0); !errors.Is(err, ErrTooLarge) {
		t.Errorf("too large: got %v", err)
	}
	if _, err := ReadOwn(dir, 1); err == nil || !strings.Contains(err.Error(), "is a folder") {
		t.Errorf("a folder: got %v", err)
	}
}

func TestReadWrite(t *testing.T) {
	dir := tree(t)
	path := filepath.Join(dir, "ws/a")
	binary := append(bytes.Repeat([]byte{0, 255, '\r', '\n'}, 1000), 'x')
	must(t, Write(path, string(binary)))
	got, err := Read(path, 1<<20)
	if err != nil || !bytes.Equal(got, binary) {
		t.Errorf("the bytes changed: %d, %v", len(got), err)
	}
	if info, _ := os.Stat(path); info.Mode().Perm() != 0o640 {
		t.Errorf("the mode became %v", info.Mode())
	}
	if _, err := Read(path, 4000); !errors.Is(err, ErrTooLarge) {
		t.Errorf("too large: got %v", err)
	}
	must(t, Write(filepath.Join(dir, "ws/new/deep/file"), ""))
	must(t, os.Chmod(path, 0o400))
	if err := Write(path, ""); err == nil || !strings.Contains(err.Error(), "read-only") {
		t.Errorf("read-only: got %v", err)
	}
	entries, _ := os.ReadDir(dir + "/ws")
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), ".clm-") {
			t.Errorf("%s is left", e.Name())
		}
	}
}

// What was checked is what is opened: a link that appears in the path later is
// an error, wherever it stands.
func TestLinkPutInLater(t *testing.T) {
	dir := tree(t)
	for _, swap := range []string{"ws/sub", "ws/a"} {
		target := filepath.Join(dir, "ws/sub/f")
		if swap == "ws/a" {
			target = filepath.Join(dir, "ws/a")
		}
		real, err := Resolve(dir, target)
		must(t, err)
		must(t, os.RemoveAll(filepath.Join(dir, swap)))
		must(t, os.Symlink(filepath.Join(dir, "out"), filepath.Join(dir, swap)))
		for what, err := range map[string]error{"write": Write(real, "x"), "read": second(Read(real, 9))} {
			if err == nil || !strings.Contains(err.Error(), "link") {
				t.Errorf("%s %s: got %v", what, swap, err)
			}
		}
	}
	if entries, _ := os.ReadDir(dir + "/out"); len(entries) != 0 {
		t.Errorf("something was written through the link: %v", entries)
	}
}

func second(_ []byte, err error) error { return err }

func TestWriteIsOneStep(t *testing.T) {
	path := filepath.Join(tree(t), "ws/a")
	must(t, Write(path, strings.Repeat("0", 100_000)))
	stop := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		for i := byte(0); ; i++ {
			select {
			case <-stop:
				return
			default:
				if err := Write(path, string(bytes.Repeat([]byte{'0' + i%10}, 100_000))); err != nil {
					t.Error(err)
				}
			}
		}
	})
	for range 200 {
		data, err := Read(path, 1<<20)
		if err != nil || len(data) != 100_000 || len(bytes.Trim(data, string(data[:1]))) != 0 {
			t.Fatalf("a reader saw a half-written file: %d bytes, %v", len(data), err)
		}
	}
	close(stop)
	wg.Wait()
}

func TestNoFile(t *testing.T) {
	dir := tree(t)
	for path, want := range map[string]string{"ws/sub": "folder", "/dev/null": "device", "ws/none": "no such file", "ws/a/b": "not a directory"} {
		if !filepath.IsAbs(path) {
			path = filepath.Join(dir, path)
		}
		if _, err := Read(path, 10); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("read %s: got %v, want %s", path, err, want)
		}
		if want == "no such file" {
			continue
		}
		if err := Write(path, ""); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("write %s: got %v, want %s", path, err, want)
		}
	}
	if _, err := Read(filepath.Join(dir, "ws/none"), 1); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("got %v", err)
	}
}
