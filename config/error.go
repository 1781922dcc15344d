package config

import (
	"fmt"
	"strings"
)

// Error is a configuration that cannot be used. Its text is one line: place,
// key, what is wrong and what would be right.
type Error struct {
	File string // the file, or "CLM_KEY in the environment", "--flag"; empty for the whole
	Line int    // 0 when unknown
	Key  string // "providers.lab.url"; empty for the file
	Text string
	Err  error // cause, may be nil; its text is already part of Text
}

// Error implements error.
func (e *Error) Error() string { return place(e.File, e.Line, e.Key) + e.Text }

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// Warning is something in the configuration that has no effect or another
// than its author seems to expect. It does not end the program.
type Warning struct {
	File string
	Line int
	Key  string
	Text string
}

// String is the warning as one line.
func (w Warning) String() string { return place(w.File, w.Line, w.Key) + w.Text }

func place(file string, line int, key string) string {
	var b strings.Builder
	if file != "" {
		b.WriteString(file)
		if line > 0 {
			fmt.Fprintf(&b, ":%d", line)
		}
		b.WriteString(": ")
	}
	if key != "" {
		b.WriteString(key + ": ")
	}
	return b.String()
}
