package main

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"clm/actors"
	"clm/actors/msg"
	"clm/llm"
)

//go:embed demo/tour.lua
var tourPlugin string

func (p *Program) demoCommand() *cobra.Command {
	return &cobra.Command{
		Use: "demo", Short: "A short tour: a tool call, parallel tasks, a cancellation; no key, no network", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return p.demo(cmd.Context()) },
	}
}

// tour is the demo's engine and agent, and a server that never answers.
type tour struct {
	p      *Program
	engine *actors.Engine
	agent  *actors.Agent
	events *actors.Listener
	err    error // of standard output
}

// demoTime bounds each step of the tour.
const demoTime = 20 * time.Second

func (p *Program) demo(ctx context.Context) (err error) {
	plugins, bad := actors.LoadPlugins(ctx, actors.PluginOptions{Files: []actors.PluginFile{{Name: "tour", Source: tourPlugin}}, Logger: p.log.Logger()})
	for _, err := range bad {
		return err
	}
	tools, err := actors.NewToolset(plugins)
	if err != nil {
		return err
	}
	t := &tour{p: p}
	if t.engine, err = actors.Start(ctx, actors.Options{Logger: p.log.Logger(), Version: version}); err != nil {
		return err
	}
	defer func() {
		stop, cancel := context.WithTimeout(context.Background(), stopTime)
		defer cancel()
		err = errors.Join(err, t.engine.Stop(stop))
	}()
	t.agent, err = t.engine.Spawn(ctx, actors.AgentOptions{
		ID: "demo", Tools: tools,
		Model: actors.Model{Connection: llm.Connection{Name: "demo", Kind: llm.KindDemo}, ID: "demo"},
	})
	if err != nil {
		return err
	}
	if t.events, err = t.agent.Listen(); err != nil {
		return err
	}
	for _, step := range []func(context.Context) error{t.call, t.parallel, t.cancel} {
		if err := step(ctx); err != nil {
			return err
		}
		if t.err != nil {
			return t.err
		}
	}
	t.say("\nNow type: clm setup")
	return t.err
}

func (t *tour) say(format string, args ...any) {
	if t.err == nil {
		t.err = t.p.write(fmt.Sprintf(format, args...) + "\n")
	}
}

// turn runs a turn and shows it; the tree is drawn a moment after a tool
// began, when draw is set.
func (t *tour) turn(ctx context.Context, prompt string, draw time.Duration) error {
	ctx, cancel := context.WithTimeout(ctx, demoTime)
	defer cancel()
	t.say("\nyou: %s", prompt)
	n, err := t.agent.Submit(prompt)
	if err != nil {
		return err
	}
	var text strings.Builder
	var drawAt time.Time
	for {
		e, err := t.next(ctx, drawAt)
		if errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil {
			t.tree("meanwhile, these actors live:")
			drawAt = time.Time{}
			continue
		}
		if err != nil {
			return err
		}
		switch d := e.Data.(type) {
		case msg.Text:
			text.WriteString(d.Text)
		case msg.ToolBegin:
			t.say("  the model calls %s %s", d.Name, d.Args)
			if draw > 0 {
				drawAt = time.Now().Add(draw)
			}
		case msg.ToolResult:
			t.say("  %s gives %q after %s", d.Name, d.Text, d.Duration.Round(time.Millisecond))
		case msg.TurnDone:
			if e.Turn != n {
				continue
			}
			if d.Status != "done" {
				return fmt.Errorf("demo: the turn was %s: %s", d.Status, d.Error)
			}
			t.say("model: %s", clean(text.String()))
			return nil
		}
	}
}

// next is the next event, waited for until a point in time if one is set.
func (t *tour) next(ctx context.Context, until time.Time) (actors.Event, error) {
	if !until.IsZero() {
		var cancel context.CancelFunc
		ctx, cancel = context.WithDeadline(ctx, until)
		defer cancel()
	}
	return t.events.Next(ctx)
}

func (t *tour) tree(title string) {
	var b strings.Builder
	drawTree(&b, t.engine.Tree(), "    ")
	t.say("  %s\n%s", title, strings.TrimRight(b.String(), "\n"))
}

func (t *tour) call(ctx context.Context) error {
	t.say("1. A tool call. The tool is a Lua plugin in a sandbox.")
	return t.turn(ctx, `hello {"name":"Ada"}`, 0)
}

func (t *tour) parallel(ctx context.Context) error {
	t.say("\n2. Parallel tasks. Each Lua task is an actor that waits in its mailbox.")
	return t.turn(ctx, "race", 50*time.Millisecond)
}

// cancel ends a turn whose plugin waits for a server that never answers.
func (t *tour) cancel(ctx context.Context) error {
	t.say("\n3. A cancellation. It reaches the request in flight.")
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return fmt.Errorf("demo: %w", err)
	}
	arrived, left := make(chan struct{}), make(chan struct{})
	s := &http.Server{ReadHeaderTimeout: demoTime, Handler: http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		close(arrived)
		<-r.Context().Done()
		close(left)
	})}
	go func() { _ = s.Serve(l) }()
	defer s.Close()
	ctx, stop := context.WithTimeout(ctx, demoTime)
	defer stop()
	prompt := fmt.Sprintf(`fetch {"url":"http://%s/never"}`, l.Addr())
	t.say("\nyou: %s", prompt)
	n, err := t.agent.Submit(prompt)
	if err != nil {
		return err
	}
	if err := within(ctx, arrived, "the request arrived"); err != nil {
		return err
	}
	t.tree("the server has the request and does not answer:")
	start := time.Now()
	if err := t.agent.Cancel(); err != nil {
		return err
	}
	d, err := t.events.Turn(ctx, n, nil)
	if err != nil {
		return err
	}
	ended := time.Since(start)
	if err := within(ctx, left, "the server saw the client leave"); err != nil {
		return err
	}
	t.say("  ^C: the turn is %s after %s, and the server saw the connection close after %s", d.Status, ended.Round(10*time.Microsecond), time.Since(start).Round(10*time.Microsecond))
	t.tree("nothing of it is left:")
	return nil
}

func within(ctx context.Context, c <-chan struct{}, what string) error {
	select {
	case <-c:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("demo: waited %s in vain until %s", demoTime, what)
	}
}
