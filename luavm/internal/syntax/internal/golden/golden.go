// Package golden reads and writes files of test cases: Lua programs with the
// output that Lua 5.4 gives, and ours where it has to differ.
//
//	=== title
//	source
//	--- 5.4
//	expected output
//	--- ours: why it differs
//	other output
package golden

import (
	"fmt"
	"os"
	"strings"
)

// A Case is one program.
type Case struct {
	Title  string
	Source string
	Want   string // written by Lua 5.4
	Reason string // why ours differs, or ""
	Ours   string
}

// Expected is the output that our machine has to give.
func (c Case) Expected() string {
	if c.Reason != "" {
		return c.Ours
	}
	return c.Want
}

const (
	titleMark = "=== "
	wantMark  = "--- 5.4\n"
	oursMark  = "--- ours: "
)

// Read reads the cases of a file.
func Read(file string) ([]Case, error) {
	b, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	var out []Case
	for part := range strings.SplitSeq("\n"+string(b), "\n"+titleMark) {
		if strings.TrimSpace(part) == "" {
			continue
		}
		var c Case
		var ok bool
		c.Title, part, ok = strings.Cut(part, "\n")
		if !ok {
			return nil, fmt.Errorf("%s: case %q is empty", file, c.Title)
		}
		if !strings.HasSuffix(part, "\n") {
			part += "\n"
		}
		part, c.Reason, _ = cutLast(part, oursMark)
		c.Reason, c.Ours, _ = strings.Cut(c.Reason, "\n")
		c.Source, c.Want, _ = cutLast(part, wantMark)
		out = append(out, c)
	}
	return out, nil
}

// cutLast cuts s around the last line that begins with mark.
func cutLast(s, mark string) (before, after string, found bool) {
	i := strings.LastIndex("\n"+s, "\n"+mark)
	if i < 0 {
		return s, "", false
	}
	return s[:i], s[i+len(mark):], true
}

// Write writes cases to a file.
func Write(file string, cases []Case) error {
	var b strings.Builder
	for _, c := range cases {
		b.WriteString(titleMark + c.Title + "\n" + c.Source + wantMark + c.Want)
		if c.Reason != "" {
			b.WriteString(oursMark + c.Reason + "\n" + c.Ours)
		}
	}
	return os.WriteFile(file, []byte(b.String()), 0o644)
}

// Update fills in what Lua 5.4 says, and ours where a reason is given and it still
// differs.
func Update(file string, cases []Case, reference func(source string) (string, error), ours func(source string) string) error {
	for i := range cases {
		c := &cases[i]
		var err error
		if c.Want, err = reference(c.Source); err != nil {
			return err
		}
		if c.Reason != "" {
			c.Ours = ours(c.Source)
		}
		if c.Ours == c.Want {
			c.Reason = ""
		}
	}
	return Write(file, cases)
}
