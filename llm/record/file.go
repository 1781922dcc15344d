package record

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

const version = 1

// request is the first line of a file. Body is JSON; a body that is not is in
// Text.
type request struct {
	V      int               `json:"v"`
	Method string            `json:"method"`
	URL    string            `json:"url"`
	Header map[string]string `json:"header,omitempty"`
	Body   json.RawMessage   `json:"body,omitempty"`
	Text   string            `json:"text,omitempty"`
}

// line is any of the others.
type line struct {
	Status int               `json:"status,omitempty"`
	Header map[string]string `json:"header,omitempty"`
	MS     int64             `json:"ms"`
	Data   string            `json:"data,omitempty"`
	Data64 []byte            `json:"data64,omitempty"`
	End    bool              `json:"end,omitempty"`   // the body was read to its end
	Error  string            `json:"error,omitempty"` // it, or the request, failed
}

// piece is a part of a body.
type piece struct {
	ms   int64
	data []byte
}

func (p piece) line() line {
	if utf8.Valid(p.data) {
		return line{MS: p.ms, Data: string(p.data)}
	}
	return line{MS: p.ms, Data64: p.data}
}

// appendJSON writes v as one line.
func appendJSON(b *bytes.Buffer, v any) error {
	enc := json.NewEncoder(b)
	enc.SetEscapeHTML(false)
	return enc.Encode(v)
}

const ext = ".jsonl"

// numbered lists the recordings of a folder in their order.
func numbered(dir string) ([]string, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	var names []string
	for _, e := range entries {
		if _, ok := number(e.Name()); ok && !e.IsDir() {
			names = append(names, e.Name())
		}
	}
	slices.SortFunc(names, func(a, b string) int {
		n, _ := number(a)
		m, _ := number(b)
		return cmp.Compare(n, m)
	})
	return names, nil
}

// number reads the number of a recording's file name.
func number(name string) (int64, bool) {
	digits, ok := strings.CutSuffix(name, ext)
	n, err := strconv.ParseInt(digits, 10, 64)
	return n, ok && err == nil && n > 0 && len(digits) >= 4
}

func fileName(n int64) string { return fmt.Sprintf("%04d%s", n, ext) }

// exchange is a recording as it is replayed.
type exchange struct {
	file   string
	req    request
	key    key
	status int
	header map[string]string
	pieces []piece
	end    bool
	err    string
}

// load reads a recording.
func load(dir, name string) (*exchange, error) {
	data, err := os.ReadFile(filepath.Join(dir, name))
	if err != nil {
		return nil, fmt.Errorf("replay: %w", err)
	}
	x, err := parse(name, data)
	if err != nil {
		return nil, fmt.Errorf("replay: %s: %w", dir, err)
	}
	return x, nil
}

// parse reads a recording's text. Unknown members are passed over, a line that
// is no JSON and a newer version are errors.
func parse(name string, data []byte) (*exchange, error) {
	x := &exchange{file: name}
	for i, text := range bytes.Split(data, []byte("\n")) {
		if len(bytes.TrimSpace(text)) == 0 {
			continue
		}
		step := x.add
		if x.req.V == 0 {
			step = x.begin
		}
		if err := step(text); err != nil {
			return nil, fmt.Errorf("%s:%d: %w", name, i+1, err)
		}
	}
	if x.req.V == 0 {
		return nil, fmt.Errorf("%s holds no request", name)
	}
	return x, nil
}

func (x *exchange) begin(text []byte) error {
	if err := json.Unmarshal(text, &x.req); err != nil {
		return err
	}
	switch {
	case x.req.V == 0:
		return errors.New(`the first line has no version "v"`)
	case x.req.V > version:
		return fmt.Errorf("version %d is newer than this program, which knows %d", x.req.V, version)
	}
	var err error
	x.key, err = x.req.key()
	return err
}

func (x *exchange) add(text []byte) error {
	var l line
	if err := json.Unmarshal(text, &l); err != nil {
		return err
	}
	if l.Status != 0 {
		if l.Status < 100 || l.Status > 999 {
			return fmt.Errorf("status %d", l.Status)
		}
		x.status, x.header = l.Status, l.Header
	}
	if data := append([]byte(l.Data), l.Data64...); len(data) > 0 {
		x.pieces = append(x.pieces, piece{l.MS, data})
	}
	x.end = x.end || l.End
	if l.Error != "" {
		x.err = l.Error
	}
	return nil
}
