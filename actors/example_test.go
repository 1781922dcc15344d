package actors_test

import (
	"context"
	"fmt"
	"log"
	"os"

	"github.com/asynkron/protoactor-go/actor"

	"clm/actors"
	"clm/actors/msg"
	"clm/llm"
)

// demo is a model that needs no server.
var demo = actors.Model{Connection: llm.Connection{Kind: llm.KindDemo}, ID: "demo"}

const hello = `
clm.tool_register("hello", {
    description = "Say hello to someone",
    no_prompt = true,
    params_schema = { type = "object", properties = { name = { type = "string" } }, required = { "name" } },
    invoke = function(args, ctx) ctx:complete("Hello, " .. args.name .. "!") end,
})`

// An agent with one Lua tool does one turn.
func Example() {
	ctx := context.Background()
	engine, err := actors.Start(ctx, actors.Options{})
	if err != nil {
		log.Fatal(err)
	}
	defer engine.Stop(ctx)

	plugins, failed := actors.LoadPlugins(ctx, actors.PluginOptions{
		Files: []actors.PluginFile{{Name: "hello", Source: hello}},
	})
	for _, err := range failed {
		log.Print(err)
	}
	tools, err := actors.NewToolset(plugins)
	if err != nil {
		log.Fatal(err)
	}
	agent, err := engine.Spawn(ctx, actors.AgentOptions{Model: demo, Tools: tools})
	if err != nil {
		log.Fatal(err)
	}
	events, err := agent.Listen()
	if err != nil {
		log.Fatal(err)
	}
	turn, err := agent.Submit(`hello {"name":"Ada"}`)
	if err != nil {
		log.Fatal(err)
	}
	done, err := events.Turn(ctx, turn, func(e actors.Event) {
		if r, ok := e.Data.(msg.ToolResult); ok {
			fmt.Println(r.Name, "gave", r.Text)
		}
	})
	fmt.Println(done.Status, err)
	// Output:
	// hello gave Hello, Ada!
	// done <nil>
}

// An embedder's own actor sends the messages itself.
func Example_messages() {
	ctx := context.Background()
	system := actor.NewActorSystem(silent...)
	defer system.Shutdown()
	engine, err := actors.Start(ctx, actors.Options{System: system})
	if err != nil {
		log.Fatal(err)
	}
	defer engine.Stop(ctx)
	agent, err := engine.Spawn(ctx, actors.AgentOptions{Model: demo})
	if err != nil {
		log.Fatal(err)
	}

	done := make(chan string)
	system.Root.Spawn(actor.PropsFromFunc(func(c actor.Context) {
		switch m := c.Message().(type) {
		case *actor.Started:
			c.Request(agent.PID(), msg.Listen{})
			c.Request(agent.PID(), msg.Submit{Prompt: "2 + 3"})
		case msg.Submitted:
			c.Request(agent.PID(), msg.Submit{Prompt: "at the same time"})
		case msg.Rejected:
			fmt.Println("rejected:", m.Err)
		case msg.Event:
			if d, ok := m.Data.(msg.TurnDone); ok {
				done <- d.Status
			}
		}
	}))
	fmt.Println(<-done)
	// Output:
	// rejected: a turn is in flight; wait for its end or cancel it
	// done
}

// Cancelling a turn reaches the tool that runs; when the turn's end is told,
// nothing of it is alive.
func ExampleAgent_Cancel() {
	ctx := context.Background()
	engine, err := actors.Start(ctx, actors.Options{})
	if err != nil {
		log.Fatal(err)
	}
	defer engine.Stop(ctx)
	running := make(chan struct{})
	wait := actors.GoTools{{Name: "wait", NoPrompt: true, Run: func(ctx context.Context, _ actors.ToolCall) (actors.ToolOutput, error) {
		close(running)
		<-ctx.Done()
		fmt.Println("the tool was told")
		return actors.ToolOutput{}, ctx.Err()
	}}}
	tools, err := actors.NewToolset(wait)
	if err != nil {
		log.Fatal(err)
	}
	agent, err := engine.Spawn(ctx, actors.AgentOptions{Model: demo, Tools: tools})
	if err != nil {
		log.Fatal(err)
	}
	events, err := agent.Listen()
	if err != nil {
		log.Fatal(err)
	}
	turn, err := agent.Submit("wait {}")
	if err != nil {
		log.Fatal(err)
	}
	<-running
	if err := agent.CancelTurn(turn); err != nil {
		log.Fatal(err)
	}
	done, err := events.Turn(ctx, turn, nil)
	fmt.Println(done.Status, err)
	// Output:
	// the tool was told
	// canceled <nil>
}

// A call of a gated tool waits for an answer, which may come from anywhere and
// take as long as it takes.
func ExampleAgent_Permit() {
	ctx := context.Background()
	engine, err := actors.Start(ctx, actors.Options{})
	if err != nil {
		log.Fatal(err)
	}
	defer engine.Stop(ctx)
	remove := actors.Tool{Name: "remove", Run: func(context.Context, actors.ToolCall) (actors.ToolOutput, error) {
		return actors.ToolOutput{Text: "removed"}, nil
	}}
	tools, err := actors.NewToolset(actors.GoTools{remove})
	if err != nil {
		log.Fatal(err)
	}
	agent, err := engine.Spawn(ctx, actors.AgentOptions{
		Model: demo, Tools: tools,
		Permissions: actors.Permissions{Ask: true}, // else it is denied at once
	})
	if err != nil {
		log.Fatal(err)
	}
	events, err := agent.Listen()
	if err != nil {
		log.Fatal(err)
	}
	turn, err := agent.Submit(`remove {"file":"a.txt"}`)
	if err != nil {
		log.Fatal(err)
	}
	done, err := events.Turn(ctx, turn, func(e actors.Event) {
		switch d := e.Data.(type) {
		case msg.PermissionAsked:
			fmt.Println("may it", d.Tool, d.Args)
			if err := agent.Permit(d.ID, msg.AllowOnce); err != nil {
				log.Print(err)
			}
		case msg.ToolResult:
			fmt.Println(d.Text)
		}
	})
	fmt.Println(done.Status, err)
	// Output:
	// may it remove {"file":"a.txt"}
	// removed
	// done <nil>
}

// A conversation is kept in a folder, and goes on with an agent of a later run.
func ExampleSessions() {
	ctx := context.Background()
	dir, err := os.MkdirTemp("", "sessions")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	engine, err := actors.Start(ctx, actors.Options{})
	if err != nil {
		log.Fatal(err)
	}
	defer engine.Stop(ctx)
	say := func(session *actors.Session, history []llm.Message, prompt string) {
		agent, err := engine.Spawn(ctx, actors.AgentOptions{Model: demo, Session: session, History: history})
		if err != nil {
			log.Fatal(err)
		}
		events, err := agent.Listen()
		if err != nil {
			log.Fatal(err)
		}
		turn, err := agent.Submit(prompt)
		if err != nil {
			log.Fatal(err)
		}
		done, err := events.Turn(ctx, turn, nil)
		fmt.Println(done.Status, err)
		if err := agent.Stop(ctx); err != nil { // the session may be opened again
			log.Fatal(err)
		}
	}

	sessions := actors.OpenSessions(dir)
	session, err := sessions.Create(actors.SessionMeta{Model: demo.ID})
	if err != nil {
		log.Fatal(err)
	}
	say(session, nil, "2 + 3")

	session, stored, err := sessions.Open(session.ID())
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(len(stored.Messages), "messages were kept, the first is", stored.Messages[0].Content)
	say(session, stored.Messages, "4 + 5")
	// Output:
	// done <nil>
	// 2 messages were kept, the first is 2 + 3
	// done <nil>
}
