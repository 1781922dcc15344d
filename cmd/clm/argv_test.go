package main

import (
	"strings"
	"testing"

	"github.com/spf13/cobra"
)

// TestJoinResume holds how -r finds its ID.
func TestJoinResume(t *testing.T) {
	for in, want := range map[string]string{
		"-r":                "--resume",
		"-r abc":            "--resume=abc",
		"-r -H":             "--resume -H",
		"-rabc":             "--resume=abc",
		"-r=abc":            "--resume=abc",
		"-Hr abc":           "-H --resume=abc",
		"-HSr":              "-HS --resume",
		"-HSrabc -o x":      "-HS --resume=abc -o x",
		"--resume abc":      "--resume=abc",
		"--resume=abc":      "--resume=abc",
		"--resume --json":   "--resume --json",
		"-r setup":          "--resume=setup",
		"-o -r x":           "-o -r x",
		"-o hi -r x":        "-o hi --resume=x",
		"-ohi -r x":         "-ohi --resume=x",
		"-m a/b -r":         "-m a/b --resume",
		"--model -r -r x":   "--model -r --resume=x",
		"--model=a -r x":    "--model=a --resume=x",
		"sessions rm -r x":  "sessions rm -r x",
		"-H sessions -r x":  "-H sessions -r x",
		"-- -r x":           "-- -r x",
		"-z -r x":           "-z --resume=x",
		"-o":                "-o",
		"-r abc def":        "--resume=abc def",
		"-":                 "-",
		"--max-turns 3 -r":  "--max-turns 3 --resume",
		"--allow -r -r 123": "--allow -r --resume=123",
	} {
		p := &Program{}
		root := p.command()
		got := strings.Join(joinResume(strings.Fields(in), root.LocalFlags()), " ")
		if got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
}

// FuzzJoinResume holds that no word is lost or invented but for joining.
func FuzzJoinResume(f *testing.F) {
	f.Add("-Hr abc -o -r")
	f.Add("--resume = -rr -o")
	f.Fuzz(func(t *testing.T, line string) {
		p := &Program{}
		root := p.command()
		in := strings.Fields(line)
		out := joinResume(in, root.LocalFlags())
		squeeze := func(words []string) string {
			var b strings.Builder
			for _, w := range words {
				if rest, ok := strings.CutPrefix(w, "--resume"); ok {
					w = "r" + rest
				}
				b.WriteString(w)
			}
			return strings.NewReplacer("-", "", "=", "").Replace(b.String())
		}
		if squeeze(in) != squeeze(out) {
			t.Errorf("%q became %q", in, out)
		}
	})
}

// TestResumeFlag holds what the flag means after parsing.
func TestResumeFlag(t *testing.T) {
	for in, want := range map[string]optionalID{
		"":       {},
		"-r":     {set: true},
		"-r abc": {set: true, id: "abc"},
		"-r -H":  {set: true},
	} {
		p := &Program{}
		root := p.command()
		root.RunE = func(*cobra.Command, []string) error { return nil }
		root.SetArgs(joinResume(strings.Fields(in), root.LocalFlags()))
		if err := root.Execute(); err != nil || p.flags.resume != want {
			t.Errorf("%q: %+v %v", in, p.flags.resume, err)
		}
	}
}
