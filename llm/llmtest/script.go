package llmtest

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// Play answers a request with a script, see the package's documentation. dir
// is the folder of its files; stream says whether the request asked for a
// stream. It panics with [http.ErrAbortHandler] to drop the connection, as
// handlers do.
func Play(w http.ResponseWriter, r *http.Request, script, dir string, stream bool) {
	p := &player{w: w, r: r, dir: dir, status: http.StatusOK, stream: stream}
	for line := range strings.SplitAfterSeq(script, "\n") {
		if !strings.HasPrefix(line, "!") {
			p.out.WriteString(line)
			continue
		}
		name, arg, _ := strings.Cut(strings.TrimSuffix(line[1:], "\n"), " ")
		if !p.directive(name, arg) {
			return
		}
	}
	if p.whole != nil {
		p.out.Write(p.whole.json())
	}
	p.flush()
	p.end()
}

// player is a script that is being played.
type player struct {
	w      http.ResponseWriter
	r      *http.Request
	dir    string
	stream bool

	out     bytes.Buffer // not yet sent
	status  int
	started bool
	zip     *gzip.Writer
	pace    time.Duration
	split   int
	whole   *wholeAnswer // what chunks add to when no stream was asked for
}

// directive does one line; false ends the script, as the client left.
func (p *player) directive(name, arg string) bool {
	switch name {
	case "status", "header", "sse", "gzip", "pace", "split":
		p.setting(name, arg)
	case "sleep":
		p.flush()
		return p.wait(milliseconds(arg))
	case "flush":
		p.flush()
	case "close":
		if arg != "first" {
			p.flush()
		}
		panic(http.ErrAbortHandler)
	case "hang":
		if arg != "first" {
			p.flush()
		}
		<-p.r.Context().Done()
		return false
	case "nonl":
		if b := p.out.Bytes(); bytes.HasSuffix(b, []byte("\n")) {
			p.out.Truncate(len(b) - 1)
		}
	case "repeat":
		n, text, _ := strings.Cut(arg, " ")
		p.out.WriteString(strings.Repeat(text, max(0, atoi(n))))
	case "file":
		p.file(arg)
	case "ping":
		p.out.WriteString(": ping\n\n")
		p.flush()
	default:
		return p.answer(name, arg)
	}
	return true
}

func (p *player) setting(name, arg string) {
	switch name {
	case "status":
		p.status = atoi(arg)
	case "header":
		k, v, _ := strings.Cut(arg, ":")
		p.w.Header().Add(strings.TrimSpace(k), strings.TrimSpace(v))
	case "sse":
		p.w.Header().Set("Content-Type", "text/event-stream")
	case "gzip":
		p.w.Header().Set("Content-Encoding", "gzip")
		p.zip = gzip.NewWriter(p.w)
	case "pace":
		p.pace = milliseconds(arg)
	case "split":
		p.split = atoi(arg)
	}
}

// answer does the directives of the OpenAI dialect.
func (p *player) answer(name, arg string) bool {
	switch name {
	case "text", "reasoning":
		member := map[string]string{"text": "content", "reasoning": "reasoning_content"}[name]
		for word := range strings.SplitAfterSeq(arg, " ") {
			if !p.chunk(delta{member: member, text: word}) {
				return false
			}
		}
	case "tool":
		id, rest, _ := strings.Cut(arg, " ")
		tool, args, _ := strings.Cut(rest, " ")
		id, index, _ := strings.Cut(id, "@")
		return p.tool(id, atoi(index), tool, args)
	case "usage":
		in, out, _ := strings.Cut(arg, " ")
		return p.chunk(delta{usage: true, in: atoi(in), out: atoi(out)})
	case "error":
		return p.chunk(delta{err: arg})
	case "finish":
		ok := p.chunk(delta{finish: arg})
		if p.whole == nil {
			p.out.WriteString("data: [DONE]\n\n")
			p.flush()
		}
		return ok
	default:
		fmt.Fprintf(&p.out, "UNKNOWN DIRECTIVE %s\n", name)
	}
	return true
}

func (p *player) tool(id string, index int, name, args string) bool {
	const fragment = 7
	if !p.chunk(delta{call: true, begin: true, index: index, id: id, name: name}) {
		return false
	}
	for len(args) > 0 {
		n := min(fragment, len(args))
		for n < len(args) && !utf8.RuneStart(args[n]) {
			n++ // a fragment is text of its own in JSON: no character may be cut
		}
		if !p.chunk(delta{call: true, index: index, text: args[:n]}) {
			return false
		}
		args = args[n:]
	}
	return true
}

// chunk sends one chunk, or adds it to the answer in one piece.
func (p *player) chunk(d delta) bool {
	if !p.wait(p.pace) {
		return false
	}
	if !p.stream {
		if p.whole == nil {
			p.whole = &wholeAnswer{}
		}
		p.whole.add(d)
		return true
	}
	p.out.Write(d.event())
	p.flush()
	return true
}

// wait sleeps unless the client leaves, and then is false.
func (p *player) wait(d time.Duration) bool { return sleep(p.r.Context().Done(), d) }

func sleep(gone <-chan struct{}, d time.Duration) bool {
	if d <= 0 {
		select {
		case <-gone:
			return false
		default:
			return true
		}
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-gone:
		return false
	}
}

func (p *player) file(arg string) {
	name, size, _ := strings.Cut(arg, " ")
	data, err := os.ReadFile(filepath.Join(p.dir, filepath.FromSlash(name)))
	if err != nil {
		fmt.Fprintf(&p.out, "NO FILE %s\n", name)
		return
	}
	n := atoi(size)
	if n <= 0 {
		n = max(len(data), 1)
	}
	for len(data) > 0 {
		k := min(n, len(data))
		p.out.Write(data[:k])
		data = data[k:]
		p.flush()
	}
}

// flush sends what there is. A write that fails means that the client left,
// which the request's context tells, too.
func (p *player) flush() {
	if !p.started {
		p.start()
	}
	rest := p.out.Bytes()
	for len(rest) > 0 {
		n := len(rest)
		if p.split > 0 {
			n = min(n, p.split)
		}
		p.send(rest[:n])
		rest = rest[n:]
	}
	if p.out.Len() == 0 {
		p.send(nil)
	}
	p.out.Reset()
}

func (p *player) start() {
	p.started = true
	if p.w.Header().Get("Content-Type") == "" {
		kind := "text/event-stream"
		if b := bytes.TrimSpace(p.out.Bytes()); len(b) > 0 && b[0] == '{' {
			kind = "application/json"
		}
		p.w.Header().Set("Content-Type", kind)
	}
	p.w.WriteHeader(p.status)
}

func (p *player) send(b []byte) {
	if p.zip != nil {
		_, _ = p.zip.Write(b)
		_ = p.zip.Flush()
	} else if len(b) > 0 {
		_, _ = p.w.Write(b)
	}
	if f, ok := p.w.(http.Flusher); ok {
		f.Flush()
	}
}

func (p *player) end() {
	if p.zip != nil {
		_ = p.zip.Close()
	}
}

// atoi is 0 for what is no number, as in a script that leaves it out.
func atoi(s string) int {
	n, _ := strconv.Atoi(s)
	return n
}

func milliseconds(s string) time.Duration { return time.Duration(atoi(s)) * time.Millisecond }
