package mcp

import (
	"bufio"
	"bytes"
	"encoding/json"
	"io"
)

// messages reads a server's standard output: the lines that are JSON-RPC
// messages, each with its newline. Other lines, which are logs, go to words;
// lines that are too long, and batches, which the protocol dropped, are taken
// apart or dropped.
type messages struct {
	src   io.ReadCloser
	in    *bufio.Reader
	words io.Writer
	rest  []byte // of what is being read
}

func newMessages(src io.ReadCloser, words io.Writer) *messages {
	return &messages{src: src, in: bufio.NewReaderSize(src, 64<<10), words: words}
}

func (m *messages) Read(p []byte) (int, error) {
	for len(m.rest) == 0 {
		line, err := m.line()
		if err != nil {
			return 0, err
		}
		m.rest = m.filter(line)
	}
	n := copy(p, m.rest)
	m.rest = m.rest[n:]
	return n, nil
}

func (m *messages) Close() error { return m.src.Close() }

// line reads a line; one that is too long comes as its beginning, with a note.
func (m *messages) line() ([]byte, error) {
	var line []byte
	size := 0
	for {
		part, err := m.in.ReadSlice('\n')
		size += len(part)
		if room := maxLine - len(line); room > 0 {
			line = append(line, part[:min(room, len(part))]...)
		}
		switch {
		case err == bufio.ErrBufferFull:
			continue
		case size > maxLine:
			return append(line[:200:200], "… (a line of more than 16 MiB, dropped)\n"...), nil
		case err == io.EOF && size > 0:
			return line, nil
		}
		return line, err
	}
}

// filter gives the messages of a line.
func (m *messages) filter(line []byte) []byte {
	text := bytes.TrimSpace(line)
	switch {
	case len(text) == 0:
		return nil
	case isMessage(text):
		return append(text, '\n')
	}
	var batch []json.RawMessage
	if text[0] == '[' && json.Unmarshal(text, &batch) == nil {
		var out []byte
		for _, one := range batch {
			if isMessage(one) {
				out = append(append(out, one...), '\n')
			}
		}
		return out
	}
	_, _ = m.words.Write(line)
	return nil
}

func isMessage(text []byte) bool {
	if text[0] != '{' {
		return false
	}
	var m struct {
		JSONRPC string `json:"jsonrpc"`
	}
	return json.Unmarshal(text, &m) == nil && m.JSONRPC == "2.0"
}
