// Package plugin is the actor that owns one plugin's Lua VM for one agent and
// lends it, one slice at a time, in the order of asking. The VM is made at the
// first call.
package plugin

import (
	"context"
	"errors"

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
	cfg    Config
	vm     *luavm.VM
	lent   bool // it was, so that it must be loaded by now
	holder *actor.PID
	queue  []*actor.PID
}

func (p *plugin) Receive(n *family.Node, c actor.Context, message any) {
	switch message.(type) {
	case vm.Lend:
		p.queue = append(p.queue, c.Sender())
		p.next(n, c)
	case vm.Return:
		p.take(c.Sender())
		p.next(n, c)
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
	if p.holder != nil || len(p.queue) == 0 {
		return
	}
	p.renew()
	p.holder = p.queue[0]
	p.queue = p.queue[1:]
	p.lent = true
	n.Request(c, p.holder, vm.Lent{VM: p.vm, Load: p.load})
}

// renew makes a VM where there is none that can be used.
func (p *plugin) renew() {
	if p.vm != nil && p.lent {
		broken := p.vm.Broken()
		if broken == nil && p.vm.Loaded() {
			return
		}
		if broken != nil && p.vm.Loaded() {
			p.cfg.Notice(broken.Error() + ": its Lua state was lost")
		}
		p.vm.Close()
		p.vm = nil
	}
	if p.vm == nil {
		p.vm, p.lent = luavm.New(p.cfg.Program, p.cfg.Options), false
	}
}

func (p *plugin) load(ctx context.Context, v *luavm.VM) error { return Load(ctx, v, p.cfg.Access) }

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
