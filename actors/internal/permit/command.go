package permit

import (
	"path"
	"regexp"
	"slices"
	"strings"
	"sync"
)

// wrappers are words that run the command after them.
var wrappers = []string{
	"!", "builtin", "chroot", "command", "coproc", "do", "doas", "elif", "else", "env", "eval", "exec", "if", "ionice",
	"nice", "nohup", "pkexec", "runuser", "setsid", "sh", "bash", "stdbuf", "su", "sudo", "then", "time", "timeout",
	"unshare", "until", "watch", "while", "xargs", "zsh", "dash", "ksh", "busybox",
}

var assignment = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*(\[[^]]*\])?\+?=`) })

// normalise trims a command, and shrinks its runs of blanks where no quoting
// can give them a meaning.
func normalise(command string) string {
	command = strings.Trim(command, " \t\n\r")
	if strings.ContainsAny(command, "'\"\\\n\r") {
		return command
	}
	return strings.Join(strings.FieldsFunc(command, isBlank), " ")
}

func isBlank(r rune) bool { return r == ' ' || r == '\t' }

// simple tells whether a command is one command to a shell, for certain.
// Quoting is not looked at: a quoted ; costs a question, no more.
func simple(command string) bool {
	control := func(r rune) bool { return r < ' ' && r != '\t' || r == 0x7f }
	return command != "" &&
		!strings.ContainsAny(command, ";&|`<>") &&
		!strings.Contains(command, "$(") && !strings.Contains(command, "${") &&
		!strings.ContainsFunc(command, control)
}

// plainStart tells whether the first word of a command is the program that
// runs, or stands in the rule's own literal beginning.
func plainStart(command, prefix string) bool {
	word, _, _ := strings.Cut(command, " ")
	bare := unquote(word)
	if !assignment().MatchString(bare) && !slices.Contains(wrappers, path.Base(bare)) {
		return true
	}
	return strings.HasPrefix(prefix, word)
}

func unquote(s string) string { return strings.NewReplacer(`"`, "", `'`, "", `\`, "").Replace(s) }

// maxParts bounds what deny rules look at in one command.
const maxParts = 4096

// parts lists everything in a command that may be a command of its own: the
// whole, each piece between separators, each of these without leading
// assignments and wrappers, without quoting, and without its folder.
func parts(command string) []string {
	out := []string{command}
	pieces := strings.FieldsFunc(command, func(r rune) bool { return strings.ContainsRune(";&|`(){}<>\n\r", r) })
	for _, piece := range pieces {
		words := strings.Fields(piece)
		for len(words) > 0 && len(out) < maxParts {
			out = append(out, variants(words)...)
			bare := unquote(words[0])
			if !assignment().MatchString(bare) && !slices.Contains(wrappers, path.Base(bare)) && !afterWrapper(words, piece) {
				break
			}
			words = words[1:]
		}
	}
	return out
}

// afterWrapper tells whether words follow a wrapper in a piece: its options
// and their values come before the command, and how many is not known.
func afterWrapper(words []string, piece string) bool {
	all := strings.Fields(piece)
	before := all[:len(all)-len(words)]
	return len(before) <= 8 && slices.ContainsFunc(before, func(w string) bool {
		return slices.Contains(wrappers, path.Base(unquote(w)))
	})
}

func variants(words []string) []string {
	text := strings.Join(words, " ")
	bare := unquote(text)
	first, rest, more := strings.Cut(bare, " ")
	base := path.Base(first)
	if more {
		base += " " + rest
	}
	return []string{text, bare, base}
}
