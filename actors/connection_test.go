package actors

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"clm/llm"
	"clm/llm/llmtest"
)

func keyed(i int) Model {
	return Model{
		Connection: llm.Connection{URL: "http://model/v1", Key: llm.Secret(fmt.Sprintf("key-%d", i))}, ID: "m",
		ContextSize: 1000, RateTokensPerSec: 10,
	}
}

// Keys and URLs may change for as long as an engine lives: what it keeps of old
// connections is bounded, and what an agent has is kept whatever comes.
func TestOldConnectionsAreDropped(t *testing.T) {
	r := connections{servers: map[string]*server{}}
	resolve := func(i int) *resolved {
		t.Helper()
		m, err := r.resolve(keyed(i), nil)
		if err != nil {
			t.Fatal(err)
		}
		return m
	}
	held := resolve(0)
	held.hold()
	held.conns[0].NoTools.Store(true)
	early := resolve(1)
	for i := range 10 * maxIdleServers {
		resolve(i + 2)
	}
	if n := len(r.servers); n > maxIdleServers+2 { // and the held one, and the last
		t.Errorf("%d connections are kept", n)
	}
	again := resolve(0)
	if again.conns[0].Client != held.conns[0].Client || again.conns[0].Limiter != held.conns[0].Limiter || !again.conns[0].NoTools.Load() {
		t.Error("a connection that an agent has was made anew")
	}
	late := resolve(1)
	if late.conns[0].Client == early.conns[0].Client || late.conns[0].Limiter == early.conns[0].Limiter {
		t.Error("an old connection that no agent has was kept")
	}
	held.release()
	for i := range 10 * maxIdleServers {
		resolve(i + 2)
	}
	if m := resolve(0); m.conns[0].Client == held.conns[0].Client {
		t.Error("a connection was kept after its last agent had let it go")
	}
}

// A limiter is dropped with the last of the connections that share it.
func TestLimiterOutlivesAConnection(t *testing.T) {
	r := connections{servers: map[string]*server{}}
	m := keyed(0)
	first, err := r.resolve(m, nil)
	if err != nil {
		t.Fatal(err)
	}
	m.Connection.Name = "the same by another name"
	second, err := r.resolve(m, nil)
	if err != nil {
		t.Fatal(err)
	}
	second.hold()
	for i := range 10 * maxIdleServers {
		if _, err := r.resolve(keyed(i+1), nil); err != nil {
			t.Fatal(err)
		}
	}
	again, err := r.resolve(keyed(0), nil)
	if err != nil {
		t.Fatal(err)
	}
	if again.conns[0].Client == first.conns[0].Client || again.conns[0].Limiter != second.conns[0].Limiter {
		t.Error("the old connection was kept, or its limiter was not")
	}
}

// An agent lets go of a connection when it gets another one and when it ends.
func TestAgentsLetConnectionsGo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		wire := llmtest.NewTransport(llmtest.New())
		e, err := Start(context.Background(), Options{Transport: wire})
		if err != nil {
			t.Fatal(err)
		}
		var agents []*Agent
		for range 3 {
			a, err := e.Spawn(t.Context(), AgentOptions{Model: keyed(0)})
			if err != nil {
				t.Fatal(err)
			}
			agents = append(agents, a)
		}
		old := agents[0].host.model.servers[0]
		counts := func(want int64) {
			t.Helper()
			synctest.Wait()
			if n := old.agents.Load(); n != want {
				t.Errorf("%d hold the connection, want %d", n, want)
			}
		}
		counts(4) // with the engine's last
		if err := agents[0].SetModel(t.Context(), keyed(1)); err != nil {
			t.Fatal(err)
		}
		counts(2)
		if err := agents[1].Stop(t.Context()); err != nil {
			t.Error(err)
		}
		counts(1)
		PanicIn(agents[2])
		<-agents[2].Done()
		counts(0)
		if err := e.Stop(context.Background()); err != nil {
			t.Error(err)
		}
		wire.Wait()
		time.Sleep(10 * time.Millisecond) // past the actor system's dead-letter throttle
	})
}
