package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"clm/llm"
)

// pipe runs a turn for each line of the input, in order. The lines that come
// while a turn runs wait: off a terminal the order is all that is known. The
// end of the input waits for turns that begin by themselves, too.
func (r *runner) pipe(in io.Reader, files []llm.Attachment) error {
	lines := readLines(in)
	for {
		select {
		case s := <-r.signals:
			if r.signal(s); r.ended != nil {
				return r.ended
			}
			if s == os.Interrupt { // no turn runs: it has nothing else to end
				return &exitError{status: exitInterrupted}
			}
		case e := <-r.c.feed:
			if r.show(e); r.ended != nil {
				return r.ended
			}
		case l, ok := <-lines:
			if !ok {
				return r.rest()
			}
			if l.err != nil {
				return l.err
			}
			if strings.TrimSpace(l.text) == "" {
				continue
			}
			if err := r.turn(l.text, files); err != nil {
				return err
			}
			files = nil
		}
	}
}

// inputLine is a line of input, or why there are no more.
type inputLine struct {
	text string
	err  error
}

// readLines reads lines on a goroutine that ends with the input or, since a
// read cannot be cancelled, with the program.
func readLines(in io.Reader) <-chan inputLine {
	out := make(chan inputLine)
	go func() {
		defer close(out)
		r := bufio.NewReader(in)
		for {
			text, err := readLine(r)
			if text != "" || err == nil {
				out <- inputLine{text: strings.ToValidUTF8(text, "\ufffd")}
			}
			if errors.Is(err, io.EOF) {
				return
			}
			if err != nil {
				out <- inputLine{err: fmt.Errorf("standard input: %w", err)}
				return
			}
		}
	}()
	return out
}

// readLine reads a line without its end.
func readLine(r *bufio.Reader) (string, error) {
	var b strings.Builder
	for {
		part, err := r.ReadSlice('\n')
		if b.Len()+len(part) > maxInput {
			return "", usageError(fmt.Errorf("a line is longer than %d MiB", maxInput>>20))
		}
		b.Write(part)
		if errors.Is(err, bufio.ErrBufferFull) {
			continue
		}
		return strings.TrimRight(b.String(), "\r\n"), err
	}
}
