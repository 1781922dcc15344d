package store

import (
	"context"

	"github.com/asynkron/protoactor-go/actor"

	"clm/actors/internal/family"
	"clm/actors/msg"
)

// Spec describes the actor that writes a session, in the order in which it is
// told, at its edge. It takes msg.KeepMessages, msg.RewriteSession and
// msg.SyncSession, and closes the session when it ends, all written.
func Spec(s *Session) family.Spec {
	return family.Spec{Kind: family.KindStore, Name: s.ID(), Behavior: &keeper{session: s, idle: make(chan struct{}, 1)}}
}

type keeper struct {
	session *Session
	queue   []work
	writing bool
	failed  error         // since the last sync
	idle    chan struct{} // holds a token when a goroutine has written its share
}

// work is one thing to do; sync is who waits for it, if anyone.
type work struct {
	do   func() error
	sync *actor.PID
}

// wrote comes from the own edge: what was done of the queue.
type wrote struct {
	done []work
	errs []error
}

func (w *keeper) Receive(n *family.Node, c actor.Context, message any) {
	s := w.session
	switch m := message.(type) {
	case msg.KeepMessages:
		w.add(n, work{do: func() error { return s.Append(m.Messages...) }})
	case msg.RewriteSession:
		w.add(n, work{do: func() error { return s.Rewrite(m.Messages) }})
	case msg.SyncSession:
		w.add(n, work{do: s.Sync, sync: c.Sender()})
	case wrote:
		<-w.idle
		w.writing = false
		w.wrote(n, c, m)
		w.next(n)
	case family.Stopping:
		w.stop(n)
	}
}

func (w *keeper) add(n *family.Node, x work) {
	w.queue = append(w.queue, x)
	w.next(n)
}

func (w *keeper) next(n *family.Node) {
	if w.writing || len(w.queue) == 0 {
		return
	}
	w.writing = true
	queue := w.queue
	w.queue = nil
	n.Go("write session", func(context.Context) any {
		m := wrote{done: queue}
		for _, x := range queue {
			m.errs = append(m.errs, x.do())
		}
		w.idle <- struct{}{}
		return m
	})
}

func (w *keeper) wrote(n *family.Node, c actor.Context, m wrote) {
	for i, x := range m.done {
		if w.failed == nil {
			w.failed = m.errs[i]
		}
		if x.sync != nil {
			n.Request(c, x.sync, msg.SessionSynced{Err: w.failed})
			w.failed = nil
		}
	}
}

// stop writes what is left and closes the session.
func (w *keeper) stop(n *family.Node) {
	queue, writing := w.queue, w.writing
	n.Go("close session", func(context.Context) any {
		if writing {
			<-w.idle
		}
		for _, x := range queue {
			_ = x.do() // nobody is left to be told
		}
		_ = w.session.Close()
		return nil
	})
}
