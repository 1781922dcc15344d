package openai

import (
	"encoding/json"
	"slices"
	"strings"

	"clm/llm"
	"clm/llm/internal/jsonscan"
	"clm/llm/internal/wire"
)

// maxCalls bounds the calls of one answer.
const maxCalls = 1000

// calls puts tool calls together from their pieces.
type calls struct {
	all    []*call         // in order of their first piece
	latest map[int64]*call // of each index: some servers give all calls the same one
	over   bool            // there were more than maxCalls
	lists  int             // of pieces that came
}

type call struct {
	index    int64
	indexed  bool
	id, name string
	args     jsonscan.Text
	list     int // the last that had a piece of it
}

// callPiece is an element of a message's or delta's tool_calls.
type callPiece struct {
	index    int64
	indexed  bool   // there was an index
	id       []byte // JSON values, may be absent
	function []byte
	whole    bool // it is all of the call
}

// piece adds to the call that a piece belongs to. An empty or null member says
// nothing; the first id and name of a call stay. A list names no call twice
// but by an index or id.
func (cs *calls) piece(p callPiece, said *wire.Said) {
	var name string
	var args []byte
	for member, value := range jsonscan.Members(p.function) {
		switch string(member) {
		case "name":
			name = strings.TrimSpace(jsonscan.String(value))
		case "arguments":
			args = value
		}
	}
	id := strings.TrimSpace(jsonscan.String(p.id))
	c := cs.find(p, id, name, hasText(args))
	if c == nil || c.list == cs.lists && name != "" && (p.whole || !p.indexed && id == "") {
		if len(cs.all) == maxCalls {
			cs.over = true
			return
		}
		c = &call{index: p.index, indexed: p.indexed}
		cs.all = append(cs.all, c)
		if c.indexed {
			if cs.latest == nil {
				cs.latest = map[int64]*call{}
			}
			cs.latest[c.index] = c
		}
	}
	c.list = cs.lists
	if c.id == "" {
		c.id = id
	}
	if c.name == "" && name != "" {
		c.name = name
		said.Call(name)
	}
	switch {
	case jsonscan.IsString(args):
		c.args.Append(jsonscan.Inner(args))
	case !jsonscan.IsNull(args):
		c.args.AppendRaw(args) // an object instead of its text
	}
}

// find returns the call that a piece continues, nil for a new one.
func (cs *calls) find(p callPiece, id, name string, hasArgs bool) *call {
	if len(cs.all) == 0 {
		return nil
	}
	last := cs.all[len(cs.all)-1]
	if !p.indexed {
		if id != "" {
			if c := cs.withID(id); c != nil {
				return c
			}
			if last.id != "" {
				return nil
			}
		}
		if last.startsAnew(id, name, hasArgs) {
			return nil
		}
		return last
	}
	c := cs.latest[p.index]
	if c == nil || c.startsAnew(id, name, hasArgs) {
		return nil
	}
	return c
}

// startsAnew tells whether a piece that seems to continue c begins another
// call: it has a name, and either an id of its own or arguments where c's are
// complete.
func (c *call) startsAnew(id, name string, hasArgs bool) bool {
	if name == "" || c.name == "" {
		return false
	}
	if id != "" && c.id != "" {
		return id != c.id
	}
	return hasArgs && c.args.Len() > 0 && json.Valid(c.args.Bytes())
}

func (cs *calls) withID(id string) *call {
	for _, c := range cs.all {
		if c.id == id {
			return c
		}
	}
	return nil
}

func hasText(b []byte) bool {
	if jsonscan.IsString(b) {
		return len(b) > 2
	}
	return !jsonscan.IsNull(b)
}

// half tells whether the arguments of a call are not whole, or not there at all.
func (cs *calls) half() bool {
	return slices.ContainsFunc(cs.all, func(c *call) bool { return !json.Valid(c.args.Bytes()) })
}

// list is the calls with an id each, unique in the message. A call of which
// nothing came but its place is none.
func (cs *calls) list() []llm.ToolCall {
	list := make([]llm.ToolCall, 0, len(cs.all))
	taken := make(map[string]bool, len(cs.all))
	for _, c := range cs.all {
		args := strings.TrimSpace(c.args.String())
		if c.name == "" && args == "" && c.id == "" {
			continue
		}
		id := c.id
		if id == "" || taken[id] {
			id = wire.FreeID(id, list)
		}
		taken[id] = true
		list = append(list, llm.ToolCall{ID: id, Name: c.name, Args: wire.Args(args)})
	}
	return list
}
