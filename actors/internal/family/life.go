package family

import (
	"context"
	"errors"
)

// A node's life is ended through its parent's list of children, not through
// nested contexts: most nodes need no context, and a context's own way to tell
// costs a goroutine and some allocations a node. Who asks for a context gets
// one of the standard library's.

// Context ends when the node is cancelled or stops. Its values are those of
// the context that the root was spawned with.
func (n *Node) Context() context.Context {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.ctx == nil {
		n.ctx, n.cancelCtx = context.WithCancelCause(n.base)
		if n.cause != nil {
			n.cancelCtx(n.cause)
		}
	}
	return n.ctx
}

// watch ends the node with a context from outside.
func (n *Node) watch(ctx context.Context) {
	undo := context.AfterFunc(ctx, func() { n.Cancel(context.Cause(ctx)) })
	n.mu.Lock()
	defer n.mu.Unlock()
	n.undo = undo
	if n.cause != nil {
		undo() // it has ended already
	}
}

// unwatch lets go of the context from outside.
func (n *Node) unwatch() {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.undo != nil {
		n.undo()
	}
}

// Ending reports whether the node was cancelled or has stopped. Safe from any
// goroutine.
func (n *Node) Ending() bool { return n.endCause() != nil }

func (n *Node) endCause() error {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.cause
}

// Cancel ends the node and all below it, for a reason. Safe from anywhere,
// any number of times; the first cause counts.
func (n *Node) Cancel(cause error) {
	if n.end(cause) && !n.isGone() {
		n.sys.Actors.Root.Stop(n.pid)
	}
}

// Stop ends the node without a cause: its work is done.
func (n *Node) Stop() { n.Cancel(ErrStopped) }

// end ends the context and those of all below, whose actors are told to stop
// at once, so that none waits for one above it that is busy. It reports
// whether nobody did so before.
func (n *Node) end(cause error) bool {
	n.mu.Lock()
	if n.cause != nil {
		n.mu.Unlock()
		return false
	}
	n.cause = cause
	cancel := n.cancelCtx
	kids := n.children.list()
	n.mu.Unlock()
	if cancel != nil {
		cancel(cause)
	}
	for _, k := range kids {
		k.Cancel(cause)
	}
	return true
}

// adopt notes a new child. One that came while the node was being cancelled is
// cancelled, too.
func (n *Node) adopt(child *Node) {
	n.mu.Lock()
	n.children.add(child)
	cause := n.cause
	n.mu.Unlock()
	if cause != nil {
		child.Cancel(cause)
	}
}

// Done is closed when the node and all below it have ended.
func (n *Node) Done() <-chan struct{} {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.done == nil {
		n.done = make(chan struct{})
		if n.gone {
			close(n.done)
		}
	}
	return n.done
}

func (n *Node) isGone() bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.gone
}

// ended says that nothing of the node is alive.
func (n *Node) ended() {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.gone = true
	if n.done != nil {
		close(n.done)
	}
}

// settle keeps why the node ends, unless it is by itself.
func (n *Node) settle() {
	if cause := n.endCause(); cause != nil && !errors.Is(cause, ErrStopped) {
		n.fail(cause)
	}
}
