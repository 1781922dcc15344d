package task

import (
	"context"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"clm/actors/internal/family"
	"clm/actors/internal/vm"
	"clm/luavm"
)

// requestSpec describes the actor of one wish of a coroutine: an HTTP request or
// a file access, which do carries out on a goroutine. It is a child of the task
// that waits for it, so that it ends with the task.
func requestSpec(name string, do func(ctx context.Context) luavm.Answer) family.Spec {
	return family.Spec{Kind: family.KindRequest, Name: name, Behavior: &request{name: name, do: do}}
}

func timerSpec(d time.Duration) family.Spec {
	return family.Spec{Kind: family.KindRequest, Name: "timer", Behavior: &request{after: d}}
}

type request struct {
	name  string
	do    func(ctx context.Context) luavm.Answer // nil: a timer
	after time.Duration
}

func (r *request) Receive(n *family.Node, c actor.Context, message any) {
	switch m := message.(type) {
	case vm.RunRequest:
		if r.do == nil {
			n.After(r.after, vm.RequestDone{})
			return
		}
		n.Go(r.name, func(ctx context.Context) any { return vm.RequestDone{Answer: r.do(ctx)} })
	case vm.RequestDone: // from the own edge
		n.Request(c, c.Parent(), m)
		n.Stop()
	}
}
