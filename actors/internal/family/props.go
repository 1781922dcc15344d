package family

import (
	"sync"

	"github.com/asynkron/protoactor-go/actor"
)

// slot is a Props for many actors, one spawn at a time: an actor keeps its
// Props for good, and one of its own would weigh more than its mailbox.
type slot struct {
	mu    sync.Mutex
	node  *Node // that is being spawned
	props *actor.Props
}

// slots is how many nodes can be spawned at the same moment.
const slots = 8

// spawn has protoactor start a node's actor. What it asks of the Props it asks
// before it returns.
func (s *slot) spawn(n *Node, sp actor.SpawnerContext, id string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.props == nil {
		s.props = propsOf(func() *Node { return s.node })
	}
	s.node = n
	_, err := sp.SpawnNamed(s.props, id)
	s.node = nil
	return err
}

// propsOf is the Props of the node that spawning gives. Nodes recover from
// panics by themselves; should one escape, its actor is stopped: a restart
// would ask for a node that is none.
func propsOf(spawning func() *Node) *actor.Props {
	return actor.PropsFromProducer(func() actor.Actor { return spawning() },
		actor.WithMailbox(func() actor.Mailbox { return spawning().mailbox }),
		actor.WithOnInit(func(c actor.Context) {
			n := spawning()
			n.pid, n.mailbox.pid = c.Self(), c.Self()
		}),
		actor.WithSupervisor(actor.NewOneForOneStrategy(0, 0, func(any) actor.Directive { return actor.StopDirective })))
}
