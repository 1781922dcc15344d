// Package plugin is the actor that owns one plugin's Lua VM for one agent and
// lends it, one slice at a time, in the order of asking. The VM is made at the
// first call.
package plugin

import (
	"context"
	"errors"
	"fmt"

	"github.com/asynkron/protoactor-go/actor"

	"clm/actors/internal/family"
	"clm/actors/internal/vm"
	"clm/luavm"
)

// Config is what a plugin's actor needs.
type Config struct {
	Program *luavm.Program
	Options luavm.Options
	// Access carries out the file accesses of load-time code.
	Access func(ctx context.Context, w luavm.Want) luavm.Answer
	// Notice tells people that the plugin's state was lost.
	Notice func(text string)
}

// Spec describes a plugin's actor.
func Spec(cfg Config) family.Spec {
	return family.Spec{Kind: family.KindPlugin, Name: cfg.Program.Name(), Behavior: &plugin{cfg: cfg}}
}

type plugin struct {
	cfg     Config
	vm      *luavm.VM
	loading bool
	holder  *actor.PID
	queue   []*actor.PID
}

// loaded comes from the edge that ran the load-time code.
type loaded struct {
	vm  *luavm.VM
	err error
}

func (p *plugin) Receive(n *family.Node, c actor.Context, message any) {
	switch m := message.(type) {
	case vm.Lend:
		p.queue = append(p.queue, c.Sender())
		p.next(n, c)
	case vm.Return:
		p.take(c.Sender())
		p.next(n, c)
	case loaded:
		p.loaded(n, c, m)
	case family.Stopping:
		if p.vm != nil {
			p.vm.Close()
		}
	}
}

func (p *plugin) take(from *actor.PID) {
	if p.holder != nil && p.holder.Equal(from) {
		p.holder = nil
		return
	}
	for i, pid := range p.queue {
		if pid.Equal(from) {
			p.queue = append(p.queue[:i:i], p.queue[i+1:]...)
			return
		}
	}
}

func (p *plugin) next(n *family.Node, c actor.Context) {
	if p.holder != nil || p.loading || len(p.queue) == 0 {
		return
	}
	if p.vm != nil && p.vm.Broken() != nil {
		p.cfg.Notice(fmt.Sprintf("plugin %s: its Lua state was lost: %v", p.cfg.Program.Name(), p.vm.Broken()))
		p.vm.Close()
		p.vm = nil
	}
	if p.vm == nil {
		p.load(n)
		return
	}
	p.holder = p.queue[0]
	p.queue = p.queue[1:]
	n.Request(c, p.holder, vm.Lent{VM: p.vm})
}

func (p *plugin) load(n *family.Node) {
	p.loading = true
	n.SetState("loading")
	n.Go("load "+p.cfg.Program.Name(), func(ctx context.Context) any {
		v := luavm.New(p.cfg.Program, p.cfg.Options)
		if err := Load(ctx, v, p.cfg.Access); err != nil {
			v.Close()
			return loaded{err: err}
		}
		return loaded{vm: v}
	})
}

func (p *plugin) loaded(n *family.Node, c actor.Context, m loaded) {
	p.loading = false
	n.SetState("")
	p.vm = m.vm
	if m.err != nil {
		for _, pid := range p.queue {
			n.Request(c, pid, vm.Lent{Err: m.err})
		}
		p.queue = nil
		return
	}
	p.next(n, c)
}

// Load runs a VM's load-time code to its end on the caller's goroutine. access
// carries out its file accesses.
func Load(ctx context.Context, v *luavm.VM, access func(context.Context, luavm.Want) luavm.Answer) error {
	main := v.Load().Main()
	var in luavm.Answer
	for {
		y := main.Step(ctx, in)
		if y.Done {
			if y.Result != nil && y.Result.Failed {
				return errors.New(y.Result.Text)
			}
			return nil
		}
		in = access(ctx, y.Want)
	}
}
