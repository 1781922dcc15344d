package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// maxHistory is how many lines are remembered.
const maxHistory = 1000

// lineHistory is the REPL's history, kept in a file with a JSON string a line.
// Lines that begin with a space and lines with a known secret are not kept.
type lineHistory struct {
	path    string
	secrets []string
	lines   []string // oldest first
}

func openHistory(path string, secrets []string) *lineHistory {
	h := &lineHistory{path: path, secrets: secrets}
	f, err := os.Open(path)
	if err != nil {
		return h // none yet, or one that cannot be read: begin anew
	}
	defer f.Close()
	sc := bufio.NewScanner(f)
	sc.Buffer(nil, 1<<20)
	for sc.Scan() {
		var s string
		if json.Unmarshal(sc.Bytes(), &s) == nil && s != "" {
			h.lines = append(h.lines, s)
		}
	}
	if n := len(h.lines); n > maxHistory {
		h.lines = h.lines[n-maxHistory:]
		h.rewrite()
	}
	return h
}

// Add implements term.History.
func (h *lineHistory) Add(line string) {
	if strings.TrimSpace(line) == "" || strings.HasPrefix(line, " ") || len(line) > 64<<10 {
		return
	}
	if n := len(h.lines); n > 0 && h.lines[n-1] == line {
		return
	}
	for _, s := range h.secrets {
		if strings.Contains(line, s) {
			return
		}
	}
	h.lines = append(h.lines, line)
	b, err := json.Marshal(line)
	if err != nil {
		return
	}
	if os.MkdirAll(filepath.Dir(h.path), 0o700) != nil {
		return
	}
	f, err := os.OpenFile(h.path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return // the history is a comfort: nobody is told
	}
	_, _ = f.Write(append(b, '\n'))
	_ = f.Close()
}

// Len implements term.History.
func (h *lineHistory) Len() int { return len(h.lines) }

// At implements term.History; 0 is the newest.
func (h *lineHistory) At(i int) string { return h.lines[len(h.lines)-1-i] }

// rewrite keeps the file bounded.
func (h *lineHistory) rewrite() {
	var b strings.Builder
	for _, l := range h.lines {
		j, err := json.Marshal(l)
		if err != nil {
			continue
		}
		b.Write(append(j, '\n'))
	}
	tmp := h.path + ".new"
	if err := os.WriteFile(tmp, []byte(b.String()), 0o600); err == nil {
		err = os.Rename(tmp, h.path)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			_ = os.Remove(tmp)
		}
	}
}
