package config

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"
	"github.com/spf13/pflag"
)

var update = flag.Bool("update", false, "rewrite the expectations in testdata")

// TestLoad runs the cases in testdata/load: files below the configuration
// folder, "env" (one variable a line), "flags", and what "want" says of them:
// warnings, errors, or the merged values that its lines name.
func TestLoad(t *testing.T) {
	cases, err := filepath.Glob("testdata/load/*.txtar")
	if err != nil || len(cases) == 0 {
		t.Fatalf("no cases: %v", err)
	}
	for _, path := range cases {
		t.Run(strings.TrimSuffix(filepath.Base(path), ".txtar"), func(t *testing.T) {
			ar, err := txtar.ParseFile(path)
			if err != nil {
				t.Fatal(err)
			}
			c := newCase(t, ar)
			got := c.run()
			if *update {
				c.set("want", got)
				if err := os.WriteFile(path, txtar.Format(ar), 0o644); err != nil {
					t.Fatal(err)
				}
				return
			}
			if diff := cmp.Diff(c.get("want"), got); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

type loadCase struct {
	t    *testing.T
	ar   *txtar.Archive
	home string
}

func newCase(t *testing.T, ar *txtar.Archive) *loadCase {
	c := &loadCase{t: t, ar: ar, home: t.TempDir()}
	for _, f := range ar.Files {
		if strings.HasSuffix(f.Name, ".lua") {
			writeFile(t, filepath.Join(c.home, "clm", f.Name), string(f.Data))
		}
	}
	return c
}

func writeFile(t testing.TB, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func (c *loadCase) get(name string) string {
	for _, f := range c.ar.Files {
		if f.Name == name {
			return string(f.Data)
		}
	}
	return ""
}

func (c *loadCase) set(name, text string) {
	for i := range c.ar.Files {
		if c.ar.Files[i].Name == name {
			c.ar.Files[i].Data = []byte(text)
			return
		}
	}
	c.ar.Files = append(c.ar.Files, txtar.File{Name: name, Data: []byte(text)})
}

// run loads the case's files and says what came of it: warnings, errors, the
// values below the prefixes in "show", and the target.
func (c *loadCase) run() string {
	opts := Options{Env: append([]string{"XDG_CONFIG_HOME=" + c.home}, strings.Split(strings.TrimSpace(c.get("env")), "\n")...)}
	var choice Choice
	opts.Flags, choice = testFlags(c.t, strings.Fields(c.get("flags")))
	cfg, warns, err := Load(opts)
	var b strings.Builder
	for _, w := range warns {
		fmt.Fprintf(&b, "warning: %s\n", w)
	}
	if err != nil {
		fmt.Fprintf(&b, "error: %s\n", strings.ReplaceAll(err.Error(), "\n", "\nerror: "))
		return c.relative(b.String())
	}
	for _, name := range strings.Fields(c.get("profile")) {
		p, warns, err := cfg.Profile(name)
		if err != nil {
			fmt.Fprintf(&b, "profile %s: error: %s\n", name, err)
			continue
		}
		target, err := p.Target(choice)
		fmt.Fprintf(&b, "profile %s: %q %s %s %v %v\n", name, p.SystemPrompt, target.Name(), target.URL, err, warns)
	}
	for _, l := range cfg.Show() {
		if l.Origin.File != "default" {
			fmt.Fprintf(&b, "%s = %s -- %s\n", l.Key, l.Value, l.Origin)
		}
	}
	target, err := cfg.Target(choice)
	if err != nil {
		fmt.Fprintf(&b, "target error: %s\n", err)
	} else {
		fmt.Fprintf(&b, "target: %s %s %s\n", target.Kind, target.URL, target.Name())
	}
	return c.relative(b.String())
}

func (c *loadCase) relative(s string) string {
	return strings.ReplaceAll(s, filepath.Join(c.home, "clm")+"/", "")
}

func testFlags(t testing.TB, args []string) (*pflag.FlagSet, Choice) {
	fs := pflag.NewFlagSet("clm", pflag.ContinueOnError)
	var ch Choice
	fs.StringP("model", "m", "", "")
	fs.StringP("agent", "a", "", "")
	fs.StringVarP(&ch.URL, "url", "u", "", "")
	fs.StringVar(&ch.Provider, "provider", "", "")
	for _, key := range []string{"model", "agent"} {
		if err := fs.SetAnnotation(key, FlagKey, []string{key}); err != nil {
			t.Fatal(err)
		}
	}
	if err := fs.Parse(args); err != nil {
		t.Fatal(err)
	}
	return fs, ch
}
