package store

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"clm/llm"
)

const interrupted = "interrupted: the program ended before this call had a result; what it did is not known"

// reading is a session's content and what its file needs before it is
// appended to.
type reading struct {
	Loaded
	meta    []byte // the first line as it stands, nil if there is none
	end     int64  // where the last line ends that may stay
	newline bool   // that line has no newline yet
}

// metaLine is the first line of a file. Members that are added later are kept
// on a rewrite.
type metaLine struct {
	Type    string  `json:"type"`
	V       float64 `json:"v"`
	Role    string  `json:"role,omitempty"` // of a message
	ID      string  `json:"id"`
	Created any     `json:"created"`
	Model   string  `json:"model,omitempty"`
	Dir     string  `json:"dir,omitempty"`
}

// read reads a session file from its beginning.
func (s Store) read(id string, f *os.File) (reading, error) {
	r := reading{Loaded: Loaded{Meta: Meta{ID: id, Created: created(id)}}}
	info, err := f.Stat()
	switch {
	case err != nil:
	case !info.Mode().IsRegular():
		err = errors.New("it is no regular file")
	case info.Size() > maxFile:
		err = fmt.Errorf("it is larger than %d bytes", int64(maxFile))
	}
	if err == nil {
		err = r.lines(bufio.NewReaderSize(f, 64<<10), s.blob(id))
	}
	if err != nil {
		return r, fmt.Errorf("session %s: %w", id, err)
	}
	r.Messages, r.Closed = closeCalls(r.Messages)
	return r, nil
}

func (r *reading) lines(in *bufio.Reader, blob func(string) ([]byte, error)) error {
	for {
		line, size, err := readLine(in)
		if err != nil && err != io.EOF {
			return err
		}
		whole := err == nil
		if !whole && !json.Valid(bytes.TrimSpace(line)) { // torn, or nothing
			r.Cut = int(size)
			return nil
		}
		if terr := r.take(line, blob); terr != nil {
			return terr
		}
		r.end += size
		if !whole {
			r.newline = true
			return nil
		}
	}
}

// readLine reads a line and its size. One that is too long comes as nil.
func readLine(in *bufio.Reader) (line []byte, size int64, err error) {
	for {
		part, err := in.ReadSlice('\n')
		size += int64(len(part))
		if size <= maxLine {
			line = append(line, part...)
		} else {
			line = nil
		}
		if err != bufio.ErrBufferFull {
			return line, size, err
		}
	}
}

// take takes what it understands of a line.
func (r *reading) take(line []byte, blob func(string) ([]byte, error)) error {
	line = bytes.Trim(line, "\x00 \t\r\n")
	if len(line) == 0 {
		return nil
	}
	// A crash of the machine may leave a run of NULs where a line was torn;
	// what was appended after it is whole.
	if i := bytes.LastIndexByte(line, 0); i >= 0 {
		line = line[i+1:]
		r.Skipped++
	}
	var m metaLine
	if json.Unmarshal(line, &m) != nil {
		var kind struct{ Type, Role string }
		if json.Unmarshal(line, &kind) != nil {
			r.Skipped++
			return nil
		}
		m.Type, m.Role = kind.Type, kind.Role
	}
	switch m.Type {
	case "meta":
		return r.takeMeta(line, m)
	case "msg":
		if m.Role == "system" { // older programs stored the prompt: it is no message
			return nil
		}
		msg, err := llm.DecodeMessage(line, blob)
		if err != nil {
			r.Skipped++
			return nil
		}
		r.Messages = append(r.Messages, msg)
	}
	return nil
}

func (r *reading) takeMeta(line []byte, m metaLine) error {
	if m.V > version {
		return fmt.Errorf("%w (format %v, this one reads %d)", ErrVersion, m.V, version)
	}
	if r.meta != nil {
		return nil
	}
	r.meta = bytes.Clone(line)
	r.Meta.Model, r.Meta.Dir = llm.Clean(m.Model), llm.Clean(m.Dir)
	switch c := m.Created.(type) {
	case string:
		if at, err := time.Parse(time.RFC3339, c); err == nil {
			r.Meta.Created = at
		}
	case float64:
		if c > 0 && c < 1e11 {
			r.Meta.Created = time.Unix(int64(c), 0)
		}
	}
	return nil
}

// created is the time in an id.
func created(id string) time.Time {
	at, _ := time.Parse("20060102-150405", id[:min(len(id), len("20060102-150405"))])
	return at
}

// closeCalls gives each call without a result one, after those of its
// neighbours, and counts them. A result may come after messages of the user.
func closeCalls(msgs []llm.Message) ([]llm.Message, int) {
	var out []llm.Message
	closed := 0
	for i := 0; i < len(msgs); i++ {
		m := msgs[i]
		out = append(out, m)
		if m.Role != llm.RoleAssistant || len(m.ToolCalls) == 0 {
			continue
		}
		answered := results(msgs[i+1:])
		for i+1 < len(msgs) && msgs[i+1].Role == llm.RoleTool {
			i++
			out = append(out, msgs[i])
		}
		for _, c := range m.ToolCalls {
			if answered[c.ID]--; answered[c.ID] < 0 {
				closed++
				out = append(out, llm.Message{
					Role: llm.RoleTool, Content: interrupted, ToolCallID: c.ID, ToolName: c.Name, Failed: true,
				})
			}
		}
	}
	return out, closed
}

// results counts the results by call before the next assistant message.
func results(msgs []llm.Message) map[string]int {
	n := map[string]int{}
	for _, m := range msgs {
		if m.Role == llm.RoleAssistant {
			break
		}
		if m.Role == llm.RoleTool {
			n[m.ToolCallID]++
		}
	}
	return n
}

// peek reads a session's head: its first lines, until the first prompt.
func (s Store) peek(id string) (Info, error) {
	f, err := os.Open(s.path(id))
	if err != nil {
		return Info{}, err
	}
	defer f.Close()
	stat, err := f.Stat()
	if err != nil {
		return Info{}, err
	}
	if !stat.Mode().IsRegular() {
		return Info{}, errors.New("no regular file")
	}
	r := reading{Loaded: Loaded{Meta: Meta{ID: id, Created: created(id)}}}
	in := bufio.NewReaderSize(io.LimitReader(f, maxPeek), 4<<10)
	for len(r.Messages) == 0 || r.Messages[len(r.Messages)-1].Role != llm.RoleUser {
		line, _, err := readLine(in)
		if terr := r.take(line, nil); terr != nil {
			return Info{Meta: Meta{ID: id, Created: created(id)}, Modified: stat.ModTime(), Size: stat.Size(), Err: terr}, nil
		}
		if err != nil {
			break
		}
	}
	info := Info{Meta: r.Meta, Modified: stat.ModTime(), Size: stat.Size()}
	if n := len(r.Messages); n > 0 && r.Messages[n-1].Role == llm.RoleUser {
		info.Title = llm.OneLine(r.Messages[n-1].Content, titleSize)
	}
	return info, nil
}
