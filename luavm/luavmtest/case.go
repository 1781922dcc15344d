package luavmtest

import (
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"time"

	"clm/luavm"
)

// Case is a test of a plugin as text: settings and comments, then sections, each with a title line "-- title --".
//
// Sections that say what the plugin meets:
//
//	-- plugin NAME.lua --    the plugin itself; or a line "plugin: PATH" above the first section, relative to the case
//	-- config --             clm.config, as a JSON object
//	-- file PATH --          a file that clm.read_file finds; clm.write_file changes it
//	-- reply METHOD URL --   the answer of a request; * in URL stands for any text
//	-- tool NAME --          the answer of clm.call
//
// Replies of requests and tools start with attribute lines and an empty line before the text: "status: 404",
// "after: 300ms", "error: connection refused", "never:". Equal titles are used up in order, the last one stays. Time
// is virtual.
//
// Sections that say what must come out, in the order in which things happen:
//
//	-- load --               what loading fails with; empty when it must work
//	-- tools --              the registered tools, one a line: name, flags, CPU limit, schema
//	-- call TOOL ARGS --     the text that the model sees of this call; ARGS is JSON
//	-- effects --            what the call before wanted, one a line, with the virtual time
//	-- log --                what the plugin logged up to here, since the section before it
//	-- content PATH --       what a file holds by now
//
// A final newline of a section is not part of its text.
type Case struct {
	path     string
	head     string // above the first section
	sections []section
	warnings []string // about the plugin that was played
}

type section struct{ title, text string }

var titleLine = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(?m)^-- (.+) --$\n?`) })

// Parse reads a case. path is where it comes from: what "plugin:" is relative to.
func Parse(path, text string) (*Case, error) {
	c := &Case{path: path}
	marks := titleLine().FindAllStringSubmatchIndex(text, -1)
	if marks == nil {
		return nil, fmt.Errorf("%s: no section, want lines like \"-- call TOOL {} --\"", path)
	}
	c.head = text[:marks[0][0]]
	for i, m := range marks {
		end := len(text)
		if i+1 < len(marks) {
			end = marks[i+1][0]
		}
		c.sections = append(c.sections, section{text[m[2]:m[3]], strings.TrimSuffix(text[m[1]:end], "\n")})
	}
	return c, nil
}

// String is the case as text.
func (c *Case) String() string {
	var b strings.Builder
	b.WriteString(c.head)
	for _, s := range c.sections {
		fmt.Fprintf(&b, "-- %s --\n", s.title)
		if s.text != "" {
			b.WriteString(s.text + "\n")
		}
	}
	return b.String()
}

// setting is the value of a "key: value" line in the head.
func (c *Case) setting(key string) string {
	for line := range strings.Lines(c.head) {
		if value, ok := strings.CutPrefix(line, key+":"); ok {
			return strings.TrimSpace(value)
		}
	}
	return ""
}

// reply is one scripted answer.
type reply struct {
	method  string
	pattern *regexp.Regexp
	answer  luavm.Answer
	after   time.Duration
}

// world is everything that a plugin can meet.
type world struct {
	name, source string
	config       map[string]any
	files        map[string]string
	replies      []*reply
}

func (c *Case) world(readFile func(string) ([]byte, error)) (*world, error) {
	w := &world{files: map[string]string{}}
	if path := c.setting("plugin"); path != "" {
		source, err := readFile(filepath.Join(filepath.Dir(c.path), path))
		if err != nil {
			return nil, fmt.Errorf("%s: the plugin: %w", c.path, err)
		}
		w.name, w.source = strings.TrimSuffix(filepath.Base(path), ".lua"), string(source)
	}
	for _, s := range c.sections {
		if err := w.add(s); err != nil {
			return nil, fmt.Errorf("%s: section %q: %w", c.path, s.title, err)
		}
	}
	if w.name == "" {
		return nil, fmt.Errorf("%s: no plugin, want a line \"plugin: PATH\" or a section \"-- plugin NAME.lua --\"", c.path)
	}
	return w, nil
}

func (w *world) add(s section) error {
	kind, rest, _ := strings.Cut(s.title, " ")
	switch kind {
	case "plugin":
		w.name, w.source = strings.TrimSuffix(rest, ".lua"), s.text+"\n"
	case "config":
		return json.Unmarshal([]byte(s.text), &w.config)
	case "file":
		w.files[rest] = s.text
	case "reply":
		method, target, ok := strings.Cut(rest, " ")
		if !ok {
			return errors.New("want a method and a URL")
		}
		return w.reply(method, target, s.text)
	case "tool":
		return w.reply("tool", rest, s.text)
	case "load", "tools", "call", "effects", "log", "content":
	default:
		return errors.New("unknown kind of section")
	}
	return nil
}

func (w *world) reply(method, target, text string) error {
	pattern, err := regexp.Compile("^" + strings.ReplaceAll(regexp.QuoteMeta(target), `\*`, ".*") + "$")
	if err != nil {
		return err
	}
	r := &reply{method: method, pattern: pattern, answer: luavm.Answer{Status: 200}}
	w.replies = append(w.replies, r)
	head, body, _ := strings.Cut("\n"+text, "\n\n")
	for line := range strings.Lines(strings.TrimPrefix(head, "\n")) {
		key, value, ok := strings.Cut(strings.TrimSpace(line), ":")
		if !ok {
			return fmt.Errorf("%q is no attribute; an empty line goes before the text", line)
		}
		if err := r.attribute(key, strings.TrimSpace(value)); err != nil {
			return err
		}
	}
	r.answer.Body, r.answer.Text = body, body
	return nil
}

func (r *reply) attribute(key, value string) (err error) {
	switch key {
	case "status":
		_, err = fmt.Sscanf(value, "%d", &r.answer.Status)
	case "after":
		r.after, err = time.ParseDuration(value)
	case "error":
		r.answer.Err = value
	case "never":
		r.after = -1
	default:
		err = fmt.Errorf("unknown attribute %q", key)
	}
	return err
}
