package main

import (
	"strings"

	"github.com/spf13/pflag"
)

// joinResume rewrites -r ID to --resume=ID: pflag takes a flag's optional
// value only after "=", while people write it as the next word. Words after
// the first one that is no flag belong to a subcommand and stay as they are.
func joinResume(args []string, flags *pflag.FlagSet) []string {
	var out []string
	for i := 0; i < len(args); i++ {
		a := args[i]
		if a == "--" || a == "-" || !strings.HasPrefix(a, "-") {
			return append(out, args[i:]...)
		}
		hasNext := i+1 < len(args)
		next := ""
		if hasNext {
			next = args[i+1]
		}
		resumeValue := hasNext && !strings.HasPrefix(next, "-")
		switch kind, before, rest := flagWord(a, flags); {
		case kind == wordResume:
			if before != "" {
				out = append(out, "-"+before)
			}
			switch {
			case rest != "":
				out = append(out, "--resume="+strings.TrimPrefix(rest, "="))
			case resumeValue:
				out = append(out, "--resume="+next)
				i++
			default:
				out = append(out, "--resume")
			}
		case kind == wordTakesNext && hasNext:
			out = append(out, a, next)
			i++
		default:
			out = append(out, a)
		}
	}
	return out
}

type flagKind int

const (
	wordPlain     flagKind = iota
	wordTakesNext          // its value is the next word
	wordResume             // holds -r or is --resume without a value
)

// flagWord says what a word that begins with "-" is. Of a word that holds -r,
// before are the short flags in front of it and rest is what follows.
func flagWord(a string, flags *pflag.FlagSet) (kind flagKind, before, rest string) {
	if name, ok := strings.CutPrefix(a, "--"); ok {
		if strings.Contains(name, "=") {
			return wordPlain, "", ""
		}
		if name == "resume" {
			return wordResume, "", ""
		}
		if f := flags.Lookup(name); f != nil && f.NoOptDefVal == "" {
			return wordTakesNext, "", ""
		}
		return wordPlain, "", ""
	}
	for j := 1; j < len(a); j++ {
		if a[j] == 'r' {
			return wordResume, a[1:j], a[j+1:]
		}
		f := flags.ShorthandLookup(a[j : j+1])
		if f == nil {
			return wordPlain, "", ""
		}
		if f.NoOptDefVal == "" {
			if j == len(a)-1 {
				return wordTakesNext, "", ""
			}
			return wordPlain, "", ""
		}
	}
	return wordPlain, "", ""
}

// optionalID is the value of --resume: an ID, or nothing.
type optionalID struct {
	set bool
	id  string
}

// noID is what pflag sets when the flag has no value.
const noID = "\x00"

// Set implements pflag.Value.
func (o *optionalID) Set(s string) error {
	o.set, o.id = true, strings.TrimPrefix(s, noID)
	return nil
}

// String implements pflag.Value.
func (o *optionalID) String() string { return o.id }

// Type implements pflag.Value. "bool" keeps pflag from showing the value that
// stands for none in the help.
func (o *optionalID) Type() string { return "bool" }
