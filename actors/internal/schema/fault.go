package schema

import (
	"encoding/json"
	"fmt"
	"strings"

	"clm/llm"
)

const (
	maxErrorText = 2 << 10 // bytes of what a model is told
	maxErrorLine = 300
	maxErrors    = 30
	maxShort     = 60  // bytes of a value in an error
	maxNames     = 160 // bytes of several values in an error
)

// fault is one thing that is wrong with a value.
type fault struct {
	path, text string
	depth      int      // of the path
	wants      []string // the types, when the type is wrong
	chosen     bool     // enum or const is violated: what tells alternatives apart
}

// faults are those found in a place, the first maxErrors of them in words.
type faults struct {
	list []fault
	more int
}

func (f *faults) count() int { return len(f.list) + f.more }

func (f *faults) add(one fault) {
	if len(f.list) < maxErrors {
		f.list = append(f.list, one)
	} else {
		f.more++
	}
}

func (f *faults) addAll(o *faults) {
	for _, one := range o.list {
		f.add(one)
	}
	f.more += o.more
}

// distance tells how far the value is from an alternative, to explain the one
// that was meant.
func (f *faults) distance() int {
	n := f.count()
	for _, one := range f.list {
		if one.chosen {
			n += 5
		}
	}
	return n
}

// String gives a line for each fault; "" for none.
func (f *faults) String() string {
	if f.count() == 0 {
		return ""
	}
	var b strings.Builder
	b.WriteString("the arguments do not fit the tool's schema:")
	more := f.more
	for i, one := range f.list {
		line := one.text
		if one.path != "" {
			line = "at " + one.path + ": " + line
		}
		line = llm.OneLine(line, maxErrorLine)
		if b.Len()+len(line) > maxErrorText-60 {
			more += len(f.list) - i
			break
		}
		b.WriteString("\n- " + line)
	}
	if more > 0 {
		fmt.Fprintf(&b, "\n- and %d more", more)
	}
	return b.String()
}

// pointer writes a path as a JSON pointer, with long names cut short.
func pointer(path []string) string {
	var b strings.Builder
	for _, name := range path {
		if len(name) > maxShort {
			name = short(name)
		}
		b.WriteByte('/')
		b.WriteString(strings.ReplaceAll(strings.ReplaceAll(name, "~", "~0"), "/", "~1"))
	}
	return b.String()
}

// short cuts a text to one short line.
func short(text string) string {
	return llm.OneLine(text[:min(len(text), 4*maxShort)], maxShort)
}

// show writes a value for a model; only texts and what is small in full.
func show(value any) string {
	switch v := value.(type) {
	case nil:
		return "null"
	case bool:
		return fmt.Sprint(v)
	case string:
		return "'" + short(v) + "'"
	case json.Number:
		return short(string(v))
	case []any:
		if len(v) == 0 {
			return "[]"
		}
		return "[…]"
	case map[string]any:
		if len(v) == 0 {
			return "{}"
		}
	}
	return "{…}"
}

// alternatives lists values.
func alternatives(list []any) string {
	if len(list) == 0 {
		return "nothing"
	}
	text := ""
	for i, v := range list {
		if i > 0 {
			text += ", "
		}
		if text += show(v); len(text) > maxNames && i < len(list)-1 {
			return fmt.Sprintf("%s, … (%d in all)", text, len(list))
		}
	}
	return text
}

// quoted lists names.
func quoted(names []string) string {
	text := ""
	for i, name := range names {
		if i > 0 {
			text += ", "
		}
		if text += "'" + short(name) + "'"; len(text) > maxNames && i < len(names)-1 {
			return fmt.Sprintf("%s and %d more", text, len(names)-1-i)
		}
	}
	return text
}

// number writes a number of things.
func number(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}
