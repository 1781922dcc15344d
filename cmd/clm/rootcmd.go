package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"runtime/debug"
	"strings"
	"unicode/utf8"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"clm/llm"
)

// maxInput bounds a prompt, in bytes.
const maxInput = 16 << 20

// collectLater has the first garbage collection wait for 16 MiB instead of 4.
// Most runs of one turn never get there, which saves them a fifth of their CPU
// time. From then on it is as usual: a plugin that makes garbage as fast as it
// can would grow the program by hundreds of megabytes else.
func collectLater() {
	usual := debug.SetGCPercent(400)
	first := new(struct{ _ [64]byte }) // too large to share its memory with what lives longer
	runtime.AddCleanup(first, func(percent int) { debug.SetGCPercent(percent) }, usual)
}

// collectOften spends a little more time on garbage for less memory, until undo:
// 10,000 agents that begin at once peak at some 420 MiB instead of 470.
func collectOften() (undo func()) {
	usual := debug.SetGCPercent(75)
	return func() { debug.SetGCPercent(usual) }
}

// runRoot is clm without a subcommand: one turn, a pipe, or a conversation at
// a terminal.
func (p *Program) runRoot(cmd *cobra.Command, _ []string) error {
	oneshot := cmd.Flags().Changed("oneshot")
	if err := p.checkFlags(cmd, oneshot); err != nil {
		return err
	}
	tty := p.terminal()
	ctx := context.Background()
	prompt, err := "", error(nil)
	if oneshot {
		if p.env("GOGC") == "" {
			collectLater()
		}
		if prompt, err = p.prompt(); err != nil {
			return err
		}
	}
	if tty != nil && !p.flags.json {
		return p.interactive(ctx, cmd, tty, prompt)
	}
	if cmd.Flags().Changed("forever") {
		return usageError(errors.New("-f needs a terminal: in a script repeat -o, with -c for one conversation"))
	}
	files, err := readImages(p.flags.images)
	if err != nil {
		return usageError(err)
	}
	c, err := p.begin(ctx, cmd, runMode{})
	if err != nil {
		return err
	}
	signals, stopSignals := p.notify()
	defer stopSignals()
	r := &runner{c: c, out: p.sink(), signals: signals}
	if oneshot {
		if err = r.turn(prompt, files); err == nil {
			err = r.rest()
		}
	} else {
		err = r.pipe(p.Stdin, files)
	}
	return errors.Join(r.finish(err), p.tell(c.close()))
}

// checkFlags refuses combinations that mean nothing.
func (p *Program) checkFlags(cmd *cobra.Command, oneshot bool) error {
	f := &p.flags
	switch {
	case f.stdin && !oneshot:
		return usageError(errors.New("--stdin belongs to -o PROMPT; without -o every line of standard input is a turn"))
	case f.resume.set && f.cont:
		return usageError(errors.New("-r and -c both choose a session: keep one"))
	case f.record != "" && f.replay != "":
		return usageError(errors.New("--record and --replay exclude each other"))
	case f.maxTurns < 0 || f.maxTokens < 0:
		return usageError(errors.New("--max-turns and --max-tokens-total are numbers from 1, 0 is no limit"))
	case oneshot && cmd.Flags().Changed("forever"):
		return usageError(errors.New("-o is one turn and -f has no end: keep one"))
	}
	return nil
}

// prompt is what -o says.
func (p *Program) prompt() (string, error) {
	prompt := p.flags.oneshot
	if prompt == "-" || p.flags.stdin {
		b, err := io.ReadAll(io.LimitReader(p.Stdin, maxInput+1))
		if err != nil {
			return "", fmt.Errorf("standard input: %w", err)
		}
		if len(b) > maxInput {
			return "", usageError(fmt.Errorf("standard input is larger than %d MiB", maxInput>>20))
		}
		input := strings.ToValidUTF8(string(b), "\ufffd")
		if prompt == "-" {
			prompt = input
		} else {
			prompt += "\n\n" + input
		}
	}
	if strings.TrimSpace(prompt) == "" && len(p.flags.images) == 0 {
		return "", usageError(errors.New("the prompt is empty: say something after -o"))
	}
	if !utf8.ValidString(prompt) {
		prompt = strings.ToValidUTF8(prompt, "\ufffd")
	}
	return prompt, nil
}

// sink is how a run that is no conversation at a terminal shows itself.
func (p *Program) sink() sink {
	if p.flags.json {
		return jsonSink{p.Stdout}
	}
	return newPlainSink(plainText{p.Stdout}, p.Stderr, p.colour(p.Stderr))
}

// colour says whether a stream is a terminal that wants colours.
func (p *Program) colour(w io.Writer) bool {
	f, ok := w.(*os.File)
	return ok && term.IsTerminal(int(f.Fd())) && p.env("NO_COLOR") == "" && p.env("TERM") != "dumb" && p.env("TERM") != ""
}

// tell says what went wrong at the end of a run, which changes nothing about
// its outcome.
func (p *Program) tell(err error) error {
	if err != nil {
		p.say("%v", err)
	}
	return nil
}

// readImages reads the files of -i.
func readImages(paths []string) (out []llm.Attachment, err error) {
	const largest = 20 << 20
	for _, path := range paths {
		st, err := os.Stat(path)
		if err != nil {
			return nil, fmt.Errorf("-i: %w", err)
		}
		if !st.Mode().IsRegular() || st.Size() > largest {
			return nil, fmt.Errorf("-i: %s: must be a regular file of at most %d MiB", path, largest>>20)
		}
		b, err := os.ReadFile(path)
		if err != nil {
			return nil, fmt.Errorf("-i: %w", err)
		}
		media := imageType(b)
		if media == "" {
			return nil, fmt.Errorf("-i: %s: is not a PNG, JPEG, GIF or WebP image", path)
		}
		out = append(out, llm.Attachment{Name: path, MediaType: media, Data: b})
	}
	return out, nil
}

// imageType tells an image by its first bytes.
func imageType(b []byte) string {
	switch {
	case bytes.HasPrefix(b, []byte("\x89PNG\r\n\x1a\n")):
		return "image/png"
	case bytes.HasPrefix(b, []byte("\xff\xd8\xff")):
		return "image/jpeg"
	case bytes.HasPrefix(b, []byte("GIF87a")), bytes.HasPrefix(b, []byte("GIF89a")):
		return "image/gif"
	case len(b) > 12 && string(b[:4]) == "RIFF" && string(b[8:12]) == "WEBP":
		return "image/webp"
	}
	return ""
}
