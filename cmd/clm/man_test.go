package main

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"clm/config"
)

func page(t *testing.T, name string) string {
	t.Helper()
	b, err := manFiles.ReadFile("man/" + manPages()[name])
	if err != nil {
		t.Fatal(err)
	}
	return renderMan(string(b), 10_000)
}

// eachCommand visits the program's commands.
func eachCommand(cmd *cobra.Command, f func(*cobra.Command)) {
	f(cmd)
	for _, c := range cmd.Commands() {
		eachCommand(c, f)
	}
}

// TestManFlags holds clm(1) to the flags and commands: each is described, and
// no other is.
func TestManFlags(t *testing.T) {
	text := page(t, "clm")
	root := (&Program{}).command()
	root.InitDefaultHelpFlag()
	root.InitDefaultVersionFlag()
	flags := map[string]bool{}
	eachCommand(root, func(c *cobra.Command) {
		own := func(f *pflag.Flag) {
			flags["--"+f.Name] = true
			if f.Shorthand != "" {
				flags["-"+f.Shorthand] = true
			}
			entry := regexp.MustCompile(`(?m)^ {4}(-` + regexp.QuoteMeta(f.Shorthand) + `, )?--` + regexp.QuoteMeta(f.Name) + `\b`)
			if f.Name != "help" && !entry.MatchString(text) {
				t.Errorf("clm(1) does not describe %s --%s", c.CommandPath(), f.Name)
			}
		}
		c.LocalNonPersistentFlags().VisitAll(own)
		c.PersistentFlags().VisitAll(own)
		if c != root && c.Name() != "help" && !regexp.MustCompile(`(?m)^ {4}.*\b`+regexp.QuoteMeta(c.Name())+`\b`).MatchString(text) {
			t.Errorf("clm(1) does not name the command %s", c.CommandPath())
		}
	})
	for _, m := range regexp.MustCompile(`(?:^|[\s(\[])(--?[a-zA-Z][a-z-]*)`).FindAllStringSubmatch(text, -1) {
		if !flags[m[1]] {
			t.Errorf("clm(1) names %s, which does not exist", m[1])
		}
	}
}

// TestManREPL holds clm(1) to the REPL's commands.
func TestManREPL(t *testing.T) {
	text := page(t, "clm")
	names := []string{}
	for _, c := range replCommands() {
		names = append(names, c.name)
		if want := strings.TrimRight("    /"+c.name+" "+c.args, " ") + "\n"; !strings.Contains(text, want) {
			t.Errorf("clm(1) lacks %q", want)
		}
	}
	for _, m := range regexp.MustCompile(`(?m)^ {4}/([a-z]+)`).FindAllStringSubmatch(text, -1) {
		if !slices.Contains(names, m[1]) {
			t.Errorf("clm(1) describes /%s, which does not exist", m[1])
		}
	}
}

// TestManExitStatus holds clm(1) to exit.go.
func TestManExitStatus(t *testing.T) {
	_, text, _ := strings.Cut(page(t, "clm"), "EXIT STATUS\n")
	text, _, _ = strings.Cut(text, "ENVIRONMENT\n")
	want := []int{exitDone, exitFailed, exitUsage, exitCeiling, exitHUP, exitInterrupted, exitPipe, exitTERM}
	var got []int
	for _, m := range regexp.MustCompile(`(?m)^ {4}(\d+)$`).FindAllStringSubmatch(text, -1) {
		n, err := strconv.Atoi(m[1])
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, n)
	}
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("clm(1) lists %v, exit.go %v", got, want)
	}
}

// TestManConfig holds clm-config(5) to the schema's keys.
func TestManConfig(t *testing.T) {
	text := page(t, "clm-config")
	known := map[string]bool{}
	var walk func(prefix string, keys []config.Key)
	walk = func(prefix string, keys []config.Key) {
		for _, k := range keys {
			path := prefix + k.Name
			known[path] = true
			if strings.HasSuffix(prefix, ".price.") { // described together
				if !regexp.MustCompile(`\b` + k.Name + `\b`).MatchString(text) {
					t.Errorf("clm-config(5) lacks %s", path)
				}
				continue
			}
			if !strings.Contains(text, "\n    "+path+"\n") {
				t.Errorf("clm-config(5) lacks %s", path)
			}
			switch e := k.Elem; {
			case k.Type == config.Table:
				walk(path+".", k.Keys)
			case e != nil && e.Type == config.Table && k.Type == config.List:
				walk(path+"[].", e.Keys)
			case e != nil && e.Type == config.Table && k.Name == "models":
				walk(path+".ID.", e.Keys)
			case e != nil && e.Type == config.Table:
				walk(path+".NAME.", e.Keys)
			}
		}
	}
	walk("", config.Schema())
	for _, m := range regexp.MustCompile(`(?m)^ {4}([a-z_]+(?:[.\[][\w\].\[]*)?)$`).FindAllStringSubmatch(text, -1) {
		if !known[m[1]] {
			t.Errorf("clm-config(5) describes %s, which does not exist", m[1])
		}
	}
}

// TestManAPI holds clm-plugin(5), the editor's annotations and the sandbox to
// each other: a plugin lists what it has.
func TestManAPI(t *testing.T) {
	text := page(t, "clm-plugin")
	var there []string
	for _, name := range sandboxNames(t) {
		there = append(there, name)
		if !strings.Contains(text, "\n    "+name) {
			t.Errorf("clm-plugin(5) does not describe %s", name)
		}
		switch name {
		case "print":
		case "json.null", "clm.config":
			if !strings.Contains(pluginAnnotations, name) && !strings.Contains(pluginAnnotations, "---@field "+strings.TrimPrefix(name, "clm.")) {
				t.Errorf("the annotations lack %s", name)
			}
		default:
			if !strings.Contains(pluginAnnotations, "function "+name+"(") {
				t.Errorf("the annotations lack %s", name)
			}
		}
	}
	for _, m := range regexp.MustCompile(`(?m)^ {4}((?:clm|http|json|ctx|task)[.:]\w+)`).FindAllStringSubmatch(text, -1) {
		if !slices.Contains(there, m[1]) {
			t.Errorf("clm-plugin(5) describes %s, which a plugin does not have", m[1])
		}
	}
	for _, m := range regexp.MustCompile(`(?m)^function ([\w.:]+)\(`).FindAllStringSubmatch(pluginAnnotations, -1) {
		if !slices.Contains(there, m[1]) {
			t.Errorf("the annotations name %s, which a plugin does not have", m[1])
		}
	}
}

// TestRenderMan holds that the pages render without markup, within the width.
func TestRenderMan(t *testing.T) {
	for name, file := range manPages() {
		b, err := manFiles.ReadFile("man/" + file)
		if err != nil {
			t.Fatal(err)
		}
		text := renderMan(string(b), 80)
		for i, line := range strings.Split(text, "\n") {
			if strings.HasPrefix(line, ".") || strings.Contains(line, `\f`) || strings.Contains(line, `\-`) {
				t.Errorf("%s:%d: markup is left: %q", name, i+1, line)
			}
			if len([]rune(line)) > 100 {
				t.Errorf("%s:%d: too long: %q", name, i+1, line)
			}
		}
		for _, section := range []string{"NAME\n", "DESCRIPTION\n", "SEE ALSO\n"} {
			if !strings.Contains(text, section) {
				t.Errorf("%s lacks %s", name, section)
			}
		}
	}
}
