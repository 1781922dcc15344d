package family

import (
	"slices"
	"strings"
	"time"

	"github.com/asynkron/protoactor-go/actor"
)

// Info is a picture of a live node and what is below it.
type Info struct {
	Kind     string        `json:"kind"`
	Name     string        `json:"name"`
	State    string        `json:"state,omitempty"`
	Age      time.Duration `json:"age"`
	Mailbox  int           `json:"mailbox"`            // messages that wait
	High     int           `json:"mailbox_high_water"` // the most that ever waited
	Last     string        `json:"last_message,omitempty"`
	Effects  []string      `json:"effects,omitempty"` // goroutines at the node's edge
	Children []Info        `json:"children,omitempty"`
}

// Info pictures the node and its descendants. Safe from any goroutine; the
// parts of the picture may be some microseconds apart.
func (n *Node) Info() Info {
	i := Info{
		Kind: n.Kind.String(), Name: n.Name, Age: n.sys.Clock.Now().Sub(n.born),
		High: n.mailbox.highWater(), Mailbox: n.mailbox.UserMessageCount(),
	}
	if s := n.state.Load(); s != nil {
		i.State = *s
	}
	if s := n.last.Load(); s != nil {
		i.Last = *s
	}
	n.mu.Lock()
	for _, e := range n.effects {
		i.Effects = append(i.Effects, e.name)
	}
	kids := n.children.list()
	n.mu.Unlock()
	slices.Sort(i.Effects)
	slices.SortFunc(kids, func(a, b *Node) int { return a.born.Compare(b.born) })
	for _, c := range kids {
		i.Children = append(i.Children, c.Info())
	}
	return i
}

// label names the node for people, "toolcall c1".
func (n *Node) label() string {
	if n.Name == "" {
		return n.Kind.String()
	}
	return n.Kind.String() + " " + n.Name
}

// Path names the node from the root, "engine/agent/a1/turn/3".
func (n *Node) Path() string {
	part := n.Kind.String()
	if n.Name != "" {
		part += "/" + n.Name
	}
	if n.parent == nil {
		return part
	}
	return n.parent.Path() + "/" + part
}

// kindOf reads a node's kind from its address, which [System.spawn] made.
func kindOf(pid *actor.PID) Kind {
	if pid == nil {
		return KindOutside
	}
	id := pid.Id
	if i := strings.LastIndexByte(id, '/'); i >= 0 {
		id = id[:i]
	}
	if i := strings.LastIndexByte(id, '/'); i >= 0 {
		id = id[i+1:]
	}
	for k := KindEngine; k < numKinds; k++ {
		if kindNames[k] == id {
			return k
		}
	}
	return KindOutside
}
