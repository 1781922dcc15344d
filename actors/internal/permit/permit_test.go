package permit

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"
)

func shell(command string) Query {
	args, _ := json.Marshal(map[string]string{"command": command})
	return Query{Tool: "shell_exec", Args: string(args)}
}

func rules(t *testing.T, o Options) *Rules {
	t.Helper()
	if o.Dir == "" {
		o.Dir = "/ws"
	}
	o.Home = "/home/ada"
	r, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestDecide(t *testing.T) {
	file := func(access Access, path string) Query { return Query{Tool: "notes", Access: access, Path: path} }
	write := func(written, real string) Query {
		return Query{Tool: "write_file", Args: `{"path":"` + written + `"}`, Path: real}
	}
	for _, c := range []struct {
		name        string
		allow, deny string
		q           Query
		want        Verdict
	}{
		{"nothing said", "", "", Query{Tool: "x"}, Ask},
		{"no prompt", "", "", Query{Tool: "x", NoPrompt: true}, Allow},
		{"no prompt, denied", "", "x", Query{Tool: "x", NoPrompt: true}, Deny},
		{"by name", "mcp__*", "", Query{Tool: "mcp__a__b"}, Allow},
		{"deny wins", "*", "mcp__*", Query{Tool: "mcp__a__b"}, Deny},
		{"command", "shell_exec:git log *", "", shell("git  log   -1"), Allow},
		{"background command", "shell_exec:make *", "", Query{Tool: "bg_exec", Args: `{"command":"make all"}`}, Allow},
		{"other command", "shell_exec:git log *", "", shell("git push"), Ask},
		{"semicolon", "shell_exec:git *", "", shell("git log; rm -rf x"), Ask},
		{"ampersand", "shell_exec:git *", "", shell("git log && rm x"), Ask},
		{"background", "shell_exec:git *", "", shell("git log & rm x"), Ask},
		{"pipe", "shell_exec:git *", "", shell("git log | sh"), Ask},
		{"backquote", "shell_exec:git *", "", shell("git log `rm x`"), Ask},
		{"substitution", "shell_exec:git *", "", shell("git log $(rm x)"), Ask},
		{"parameter", "shell_exec:git *", "", shell("git log ${x@P}"), Ask},
		{"output", "shell_exec:git *", "", shell("git log > /etc/passwd"), Ask},
		{"input", "shell_exec:git *", "", shell("git apply < x"), Ask},
		{"newline", "shell_exec:git *", "", shell("git log\nrm x"), Ask},
		{"return", "shell_exec:git *", "", shell("git log\rrm x"), Ask},
		{"quoted", "shell_exec:git *", "", shell("git log 'a;b'"), Ask},
		{"nul", "shell_exec:git *", "", shell("git log \x00rm"), Ask},
		{"assignment", "shell_exec:*touch*", "", shell("FOO=1 touch 1"), Ask},
		{"sudo", "shell_exec:*touch*", "", shell("sudo touch 1"), Ask},
		{"sudo by path", "shell_exec:*touch*", "", shell("/usr/bin/sudo touch 1"), Ask},
		{"quoted sudo", "shell_exec:*touch*", "", shell(`su\do touch 1`), Ask},
		{"sudo said", "shell_exec:sudo apt *", "", shell("sudo apt update"), Allow},
		{"assignment said", "shell_exec:FOO=1 make *", "", shell("FOO=1 make x"), Allow},
		{"input given", "shell_exec:sort *", "", Query{Tool: "shell_exec", Args: `{"command":"sort -u","stdin":"x"}`}, Ask},
		{"bad arguments", "shell_exec:*", "", Query{Tool: "shell_exec", Args: `{"command":1}`}, Ask},
		{"all commands by name", "shell_exec", "", shell("a; b"), Allow},
		{"denied part", "shell_exec", "shell_exec:rm *", shell("ls && rm -rf x"), Deny},
		{"denied in substitution", "shell_exec", "shell_exec:rm *", shell("echo $(rm -rf x)"), Deny},
		{"denied behind sudo", "shell_exec", "shell_exec:rm *", shell("sudo -u bob rm x"), Deny},
		{"denied behind assignment", "shell_exec", "shell_exec:rm *", shell("A=1 B=2 rm x"), Deny},
		{"denied by path", "shell_exec", "shell_exec:rm *", shell("/bin/rm x"), Deny},
		{"denied in quotes", "shell_exec", "shell_exec:rm *", shell(`r\m x`), Deny},
		{"not denied as an argument", "shell_exec", "shell_exec:rm *", shell("echo rm x"), Allow},
		{"folder", "file:/srv/x", "", file(Write, "/srv/x/a/b"), Allow},
		{"folder itself", "file:/srv/x", "", file(Write, "/srv/x"), Allow},
		{"beside the folder", "file:/srv/x", "", file(Write, "/srv/xy"), Ask},
		{"folder with a slash", "file:/srv/x/", "", file(Write, "/srv/x/a/b"), Allow},
		{"folders by pattern", "file:/srv/*/", "", file(Write, "/srv/x/a/b"), Allow},
		{"relative folder", "file:../out", "", file(Write, "/out/a/b"), Allow},
		{"home", "file:~", "", file(Write, "/home/ada/a/b"), Allow},
		{"everything", "file:/", "", file(Write, "/home/ada/a/b"), Allow},
		{"denied folder", "file:/", "file:/srv/x", file(Read, "/srv/x/a/b"), Deny},
		{"denied folder with a slash", "file:/", "file:/srv/x/", file(Read, "/srv/x/a/b"), Deny},
		{"denied folder itself", "file:/", "file:/srv/x/", file(Read, "/srv/x"), Deny},
		{"denied below a pattern", "file:/", "file:/srv/*.d", file(Read, "/srv/x.d/a/b"), Deny},
		{"denied relative folder", "file:/", "file:../out", file(Read, "/out/a"), Deny},
		{"denied anywhere", "file:/", "file:**/.ssh", file(Read, "/home/ada/.ssh/id"), Deny},
		{"everything denied", "file:/", "file:/", file(Read, "/srv/x"), Deny},
		{"beside the denied folder", "file:/", "file:/srv/x", file(Read, "/srv/xy"), Allow},
		{"file", "file:/tmp/**", "", file(Write, "/tmp/a/b"), Allow},
		{"file, one level", "file:/tmp/*", "", file(Write, "/tmp/a/b"), Ask},
		{"file denied at every level", "file:/**", "file:/etc/*", file(Read, "/etc/ssh/key"), Deny},
		{"file below home", "file:~/n/*", "", file(Read, "/home/ada/n/x"), Allow},
		{"file below the folder", "file:out/*", "", file(Read, "/ws/out/x"), Allow},
		{"a tool rule allows no file", "notes", "", file(Read, "/x"), Ask},
		{"write by path", "file:/ws/**", "", write("a", "/ws/a"), Allow},
		{"link out", "file:/ws/**", "", write("a", "/etc/a"), Ask},
		{"link out, denied as written", "file:/**", "file:/ws/a", write("a", "/etc/a"), Deny},
		{"unresolved path", "file:/ws/**", "", write("a", ""), Ask},
	} {
		o := Options{}
		if c.allow != "" {
			o.Allow = []string{c.allow}
		}
		if c.deny != "" {
			o.Deny = []string{c.deny}
		}
		got, why := rules(t, o).Decide(c.q)
		if got != c.want {
			t.Errorf("%s: got %v (%s), want %v", c.name, got, why, c.want)
		}
		if (why == "") != (got == Ask) {
			t.Errorf("%s: reason %q for %v", c.name, why, got)
		}
	}
}

func TestAllowAll(t *testing.T) {
	r := rules(t, Options{AllowAll: true, Deny: []string{"shell_exec:rm *"}})
	for q, want := range map[Query]Verdict{
		shell("a | b"): Allow, shell("rm x"): Deny, {Tool: "t", Access: Write, Path: "/x"}: Allow,
	} {
		if got, _ := r.Decide(q); got != want {
			t.Errorf("%+v: got %v", q, got)
		}
	}
}

func TestRemember(t *testing.T) {
	r := rules(t, Options{})
	r2 := r.Remember(shell(" touch   1 "), true).Remember(shell("cd x && make"), true).Remember(Query{Tool: "x"}, false).
		Remember(Query{Tool: "p", Access: Write, Path: "/a"}, true)
	for q, want := range map[Query]Verdict{
		shell("touch 1"):           Allow,
		shell("touch 1; rm 1"):     Ask,
		shell("touch 1 > /x"):      Ask,
		shell("sudo touch 1"):      Ask,
		shell("FOO=1 touch 1"):     Ask,
		shell("rm 1"):              Ask,
		shell("cd x && make"):      Allow,
		shell("cd x && make && x"): Ask,
		{Tool: "shell_exec", Args: `{"command":"touch 1","stdin":"x"}`}: Ask,
		{Tool: "x", Args: `{"a":1}`}:                                    Deny,
		{Tool: "p", Access: Write, Path: "/a"}:                          Allow,
		{Tool: "p", Access: Read, Path: "/a"}:                           Ask,
		{Tool: "p", Access: Write, Path: "/b"}:                          Ask,
		{Tool: "p"}:                                                     Ask,
	} {
		if got, _ := r2.Decide(q); got != want {
			t.Errorf("%+v: got %v, want %v", q, got, want)
		}
		if got, _ := r.Decide(q); got != Ask {
			t.Errorf("%+v: the rules before the answer changed", q)
		}
	}
	denied := rules(t, Options{Deny: []string{"shell_exec:touch *"}}).Remember(shell("touch 1"), true)
	if got, _ := denied.Decide(shell("touch 1")); got != Deny {
		t.Error("an answer won over a deny rule")
	}
}

func TestBadRules(t *testing.T) {
	for _, s := range []string{"", "[", "shell_exec:", "shell:x", "file:", "file:["} {
		if _, err := New(Options{Deny: []string{s}}); err == nil || !strings.Contains(err.Error(), "permissions.deny") {
			t.Errorf("%q: got %v", s, err)
		}
	}
}

func TestQuestion(t *testing.T) {
	got := Question(Query{
		Tool: "write_file", Path: "/etc/pass\u202ewd",
		Args: `{"path":"a\u001b[2Jb","content":"x\ny\u0000","n":[1, 2]}`,
	}, "writes \x1b]0;x\a")
	want := `run write_file: writes \x1b]0;x\x07
  real path: /etc/pass\u202ewd
  path: a\x1b[2Jb
  content: x\ny\x00
  n: [1,2]
an answer for good holds for every call of write_file`
	if got != want {
		t.Errorf("got:\n%s\nwant:\n%s", got, want)
	}
	for want, q := range map[string]Query{
		"holds for this exact command with this input alone": {Tool: "bg_exec", Args: `{"command":"make"}`},
		"holds for each write of this file":                  {Tool: "t", Access: Write, Path: "/a"},
	} {
		if got := Question(q, ""); !strings.HasSuffix(got, want) {
			t.Errorf("got %s, want %s", got, want)
		}
	}
	long := Question(shell("echo "+strings.Repeat("é", 5000)+" ; rm -rf /"), "")
	if len(long) > 4096 || !strings.Contains(long, "rm -rf /") || !strings.Contains(long, "bytes more") {
		t.Errorf("a long command hides its end: %d bytes, %s", len(long), long[len(long)-40:])
	}
}

func TestHowToAllow(t *testing.T) {
	for want, q := range map[string]Query{
		`'shell_exec:touch 1'`:                     shell("touch 1"),
		`'shell_exec', which allows every command`: shell("a; b"),
		`'shell_exec:rm \*.o'`:                     shell("rm *.o"), // that one, not what the pattern would match
		`'file:/a'\''b'`:                           {Tool: "t", Access: Read, Path: "/a'b"},
		`'x'`:                                      {Tool: "x"},
	} {
		if got := HowToAllow(q); !strings.Contains(got, want) {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}

// A command that an allow rule lets through holds nothing that a shell could
// read as a second command.
func FuzzAllow(f *testing.F) {
	for _, s := range []string{"git log", "git log;x", "git \x00", "sudo git x", "git $(x)", "A=1 git x", "git 'a", "git \\\n x"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, command string) {
		r, err := New(Options{Allow: []string{"shell_exec:*git*"}, Dir: "/"})
		if err != nil {
			t.Fatal(err)
		}
		q := shell(command)
		if v, _ := r.Decide(q); v == Allow && (strings.ContainsAny(strings.TrimSpace(command), ";&|`<>\n\r\x00") || strings.Contains(command, "$(")) {
			t.Fatalf("%q is allowed", command)
		}
		question := Question(q, command)
		if !utf8.ValidString(question) || strings.ContainsAny(question, "\x1b\r\u202e") || len(question) > 40_000 {
			t.Fatalf("%q: question %q", command, question)
		}
		if v, _ := r.Remember(q, true).Decide(q); v != Allow {
			t.Fatalf("%q: the answer is not remembered", command)
		}
	})
}

func BenchmarkDecide(b *testing.B) {
	r, _ := New(Options{Allow: []string{"mcp__*", "shell_exec:git *", "file:/tmp/**"}, Deny: []string{"shell_exec:rm *"}, Dir: "/"})
	q := shell("git log -1 --stat")
	for b.Loop() {
		r.Decide(q)
	}
}

// A rule over a link holds for what the link leads to: that is what is asked.
func TestPathRuleOverALink(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(dir+"/real", 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("real", dir+"/link"); err != nil {
		t.Fatal(err)
	}
	for _, rule := range []string{"file:" + dir + "/link", "file:" + dir + "/link/new/*", "file:" + dir + "/link/**"} {
		q := Query{Tool: "notes", Access: Read, Path: dir + "/real/new/x"}
		if v, _ := rules(t, Options{Allow: []string{rule}}).Decide(q); v != Allow {
			t.Errorf("allow %s: %v", rule, v)
		}
		if v, _ := rules(t, Options{AllowAll: true, Deny: []string{rule}}).Decide(q); v != Deny {
			t.Errorf("deny %s: %v", rule, v)
		}
	}
}
