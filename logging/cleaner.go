package logging

import (
	"encoding/base64"
	"encoding/json"
	"io"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"unicode/utf8"
)

// maxLine bounds a record, in bytes.
const maxLine = 64 << 10

// cleaner is the last thing that a finished line goes through. Only here is
// every text together, whatever field or format it came in.
type cleaner struct {
	w       io.Writer
	secrets atomic.Pointer[strings.Replacer]
	known   atomic.Pointer[[]string]
}

// Write writes one record with one write. It reports success in any case: a
// full disk must not stop what is logged.
func (c *cleaner) Write(p []byte) (int, error) {
	line := strings.TrimSuffix(string(p), "\n")
	if r := c.secrets.Load(); r != nil {
		line = r.Replace(line)
	}
	line = oneLine(line)
	if len(line) > maxLine {
		cut := maxLine
		for !utf8.RuneStart(line[cut]) {
			cut--
		}
		line = line[:cut] + "… [cut]"
	}
	_, _ = io.WriteString(c.w, line+"\n")
	return len(p), nil
}

// oneLine replaces control characters and invalid UTF-8.
func oneLine(s string) string {
	bad := func(r rune) bool {
		return r < ' ' && r != '\t' || r >= 0x7f && r < 0xa0 || r == 0x2028 || r == 0x2029 || r >= 0x202a && r <= 0x202e || r >= 0x2066 && r <= 0x2069
	}
	if utf8.ValidString(s) && !strings.ContainsFunc(s, bad) {
		return s
	}
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\n':
			return '⏎'
		case bad(r):
			return utf8.RuneError
		}
		return r
	}, strings.ToValidUTF8(s, "\ufffd"))
}

// hide adds texts. Callers race harmlessly: the last list that is stored holds
// what it was computed from, and the program calls it from one place.
func (c *cleaner) hide(secrets []string) {
	var all []string
	if k := c.known.Load(); k != nil {
		all = slices.Clone(*k)
	}
	for _, s := range secrets {
		if len(s) >= 4 {
			all = append(all, s)
		}
	}
	slices.SortStableFunc(all, func(a, b string) int { return len(b) - len(a) })
	all = slices.Compact(all)
	c.known.Store(&all)
	var pairs []string
	for _, s := range all {
		for _, spelling := range spellings(s) {
			pairs = append(pairs, spelling, "[secret]")
		}
	}
	if len(pairs) > 0 {
		c.secrets.Store(strings.NewReplacer(pairs...))
	}
}

// spellings are the forms in which a text reaches a log: as it is, quoted as
// JSON or Go do, once or twice over, in a URL, and in a basic authorisation
// header.
func spellings(s string) []string {
	out := []string{s}
	for from := 0; from < len(out) && len(out) < 20; from++ {
		for _, q := range []string{inJSON(out[from], true), inJSON(out[from], false), inGo(out[from])} {
			if !slices.Contains(out, q) {
				out = append(out, q)
			}
		}
	}
	return append(out, url.QueryEscape(s), url.PathEscape(s), base64.StdEncoding.EncodeToString([]byte(s)))
}

func inJSON(s string, html bool) string {
	var b strings.Builder
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(html)
	if enc.Encode(s) != nil {
		return s
	}
	q := strings.TrimSuffix(b.String(), "\n")
	return q[1 : len(q)-1]
}

func inGo(s string) string {
	q := strconv.Quote(s)
	return q[1 : len(q)-1]
}
