// Embedder is a program of another module that runs an agent on its own actor
// system. It exits with status 0 when the turn went well and nothing is left.
package main

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"clm/actors"
	"clm/llm"
)

func main() {
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	if err := run(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "embedder:", err)
		os.Exit(1)
	}
	fmt.Println("embedder: ok")
}

func run(ctx context.Context) error {
	system := actor.NewActorSystem(actor.WithLoggerFactory(func(*actor.ActorSystem) *slog.Logger { return slog.New(slog.DiscardHandler) }))
	defer system.Shutdown()
	engine, err := actors.Start(ctx, actors.Options{System: system})
	if err != nil {
		return err
	}
	plugins, failed := actors.LoadPlugins(ctx, actors.PluginOptions{Files: []actors.PluginFile{{Name: "up", Source: `
clm.tool_register("up", { no_prompt = true, invoke = function(args, ctx) ctx:complete(args.s:upper()) end })`}}})
	for _, err := range failed {
		return err
	}
	tools, err := actors.NewToolset(plugins)
	if err != nil {
		return err
	}
	agent, err := engine.Spawn(ctx, actors.AgentOptions{
		Model: actors.Model{Connection: llm.Connection{Kind: llm.KindDemo}, ID: "demo"}, Tools: tools,
	})
	if err != nil {
		return err
	}
	events, err := agent.Listen()
	if err != nil {
		return err
	}
	turn, err := agent.Submit(`up {"s":"abc"}`)
	if err != nil {
		return err
	}
	done, err := events.Turn(ctx, turn, nil)
	if err != nil {
		return err
	}
	if done.Status != "done" {
		return fmt.Errorf("the turn ended %s: %s", done.Status, done.Error)
	}
	if err := engine.Stop(ctx); err != nil {
		return err
	}
	for _, c := range engine.Counts() {
		if c.Live != 0 {
			return fmt.Errorf("%d %s actors are alive after the end", c.Live, c.Kind)
		}
	}
	return nil
}
