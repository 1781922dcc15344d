package main

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"
)

// keyboard reads a terminal's input for two readers in turn: the line editor,
// which has the terminal in raw mode, and the loop of a running turn, which
// has it in its normal mode. What one leaves the other gets.
type keyboard struct {
	chunks chan []byte // closed at the end of input
	rest   []byte
	ended  bool
	paste  paste
	onKey  func(key byte) // ^C and ^Z while editing
}

// newKeyboard reads on a goroutine that ends with the input or, since a read
// cannot be cancelled, with the program.
func newKeyboard(in io.Reader) *keyboard {
	k := &keyboard{chunks: make(chan []byte)}
	go func() {
		defer close(k.chunks)
		for {
			buf := make([]byte, 4096)
			n, err := in.Read(buf)
			if n > 0 {
				k.chunks <- buf[:n]
			}
			if err != nil {
				return
			}
		}
	}()
	return k
}

// Read gives the editor its keys: never past the end of a line, so that what
// is typed ahead is left to the running turn, and with pasted text changed so
// that it neither submits nor acts.
func (k *keyboard) Read(p []byte) (int, error) {
	for {
		if len(k.rest) == 0 {
			chunk, ok := <-k.chunks
			if !ok {
				return 0, io.EOF
			}
			k.rest = k.keys(chunk)
			continue
		}
		n := min(len(p), len(k.rest))
		if i := bytes.IndexAny(k.rest[:n], "\r\n"); i >= 0 {
			n = i + 1
		}
		copy(p, k.rest[:n])
		k.rest = k.rest[n:]
		return n, nil
	}
}

// keys turns what was typed into what the editor gets.
func (k *keyboard) keys(chunk []byte) (out []byte) {
	for _, b := range k.paste.filter(chunk) {
		switch b {
		case keyInterrupt:
			k.onKey(b)
			out = append(out, keyEndOfLine, keyKillLine)
		case keySuspend:
			k.onKey(b)
			out = append(out, keyRedraw)
		default:
			out = append(out, b)
		}
	}
	return out
}

// The control characters that are treated here, and those of the editor that
// stand for what they do to the line.
const (
	keyInterrupt = 0x03 // ^C
	keySuspend   = 0x1a // ^Z
	keyEndOfLine = 0x05 // ^E
	keyKillLine  = 0x15 // ^U
	keyRedraw    = 0x05
)

// line takes a whole line out of what was typed in normal mode.
func (k *keyboard) line() (string, bool) {
	i := bytes.IndexByte(k.rest, '\n')
	if i < 0 && !k.ended && len(k.rest) < maxInput {
		return "", false
	}
	if i < 0 {
		if len(k.rest) == 0 {
			return "", false
		}
		i = len(k.rest) - 1
	}
	text := strings.ToValidUTF8(strings.TrimRight(string(k.rest[:i+1]), "\r\n"), "\ufffd")
	k.rest = k.rest[i+1:]
	return text, true
}

// Pasted text is one line for the editor: its line breaks and tabs are shown
// as symbols, and a text too long for it as a mark. unpaste gives the text
// back.
const (
	pasteNewline = "␊"
	pasteTab     = "␉"
	longPaste    = 1000 // bytes from which a mark stands for the text
)

// paste follows bracketed paste over reads that cut it anywhere.
type paste struct {
	active bool
	held   []byte // of the text, or of a mark that may be beginning
	long   []string
}

const (
	pasteStart = "\x1b[200~"
	pasteEnd   = "\x1b[201~"
)

// filter returns the typed bytes, with pasted text in its one-line form.
func (p *paste) filter(chunk []byte) (out []byte) {
	if p.active && len(chunk) == 1 && chunk[0] == keyInterrupt {
		*p = paste{long: p.long} // the end of the paste got lost: ^C leaves it
		return nil
	}
	p.held = append(p.held, chunk...)
	for {
		mark := []byte(pasteStart)
		if p.active {
			mark = []byte(pasteEnd)
		}
		i := bytes.Index(p.held, mark)
		if i < 0 {
			break
		}
		if p.active {
			out = append(out, p.shown(p.held[:i])...)
		} else {
			out = append(out, p.held[:i]...)
		}
		p.held, p.active = p.held[i+len(mark):], !p.active
	}
	if p.active {
		if len(p.held) > maxInput {
			p.held = p.held[:maxInput]
		}
		return out
	}
	// A start that is cut by the end of the chunk waits for its rest. So does
	// the escape key, with which the editor would wait too.
	keep := 0
	for n := min(len(p.held), len(pasteStart)-1); n > 0; n-- {
		if strings.HasPrefix(pasteStart, string(p.held[len(p.held)-n:])) {
			keep = n
			break
		}
	}
	out = append(out, p.held[:len(p.held)-keep]...)
	p.held = append([]byte(nil), p.held[len(p.held)-keep:]...)
	return out
}

// shown is the one-line form of a pasted text.
func (p *paste) shown(text []byte) string {
	s := strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(strings.ToValidUTF8(string(text), "\ufffd"))
	s = clean(s)
	if len(s) > longPaste {
		p.long = append(p.long, s)
		return pasteMark(len(p.long), utf8.RuneCountInString(s))
	}
	return strings.NewReplacer("\n", pasteNewline, "\t", pasteTab).Replace(s)
}

// unpaste gives an edited line its pasted texts back.
func (p *paste) unpaste(line string) string {
	line = strings.NewReplacer(pasteNewline, "\n", pasteTab, "\t").Replace(line)
	for i, text := range p.long {
		line = strings.ReplaceAll(line, pasteMark(i+1, utf8.RuneCountInString(text)), text)
	}
	return line
}

// pasteMark stands for the n-th long text, of that many characters.
func pasteMark(n, characters int) string {
	return fmt.Sprintf("[paste %d: %d characters]", n, characters)
}
