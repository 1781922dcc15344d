package actors_test

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"clm/actors"
	"clm/actors/msg"
	"clm/llm"
)

func TestSessionIsWrittenBeforeTheTurnsEnd(t *testing.T) {
	dir := t.TempDir()
	store := actors.OpenSessions(dir)
	session, err := store.Create(actors.SessionMeta{Model: "mock"})
	if err != nil {
		t.Fatal(err)
	}
	id := session.ID()
	r := newRig(t, actors.Options{}, call, ok, ok)
	a, l := r.spawn(actors.AgentOptions{Session: session, Tools: r.tools(goTool(says("result")))})
	if d, _ := r.turn(a, l, "first"); d.Status != "done" {
		t.Fatalf("%+v", d)
	}
	b, err := os.ReadFile(filepath.Join(dir, id+".jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(string(b), "\n"); n != 5 {
		t.Errorf("%d lines at the turn's end, want 5:\n%s", n, b)
	}
	if _, _, err := store.Open(id); !errors.Is(err, actors.ErrSessionLocked) {
		t.Errorf("a second writer: %v", err)
	}
	if err := session.Close(); err != nil { // it is the agent's
		t.Error(err)
	}
	if _, err := r.engine.Spawn(t.Context(), actors.AgentOptions{Model: mock(100_000), Session: session}); err == nil || !strings.Contains(err.Error(), "open it again") {
		t.Errorf("a second agent on the session: %v", err)
	}
	if d, _ := r.turn(a, l, "second"); d.Status != "done" {
		t.Fatalf("%+v", d)
	}
	r.close()

	session, loaded, err := store.Open(id)
	if err != nil || len(loaded.Messages) != 6 {
		t.Fatalf("%d messages, %v", len(loaded.Messages), err)
	}
	r = newRig(t, actors.Options{}, "!text again\n!finish stop\n")
	a, l = r.spawn(actors.AgentOptions{Session: session, History: loaded.Messages})
	if d, _ := r.turn(a, l, "third"); d.Text != "again" {
		t.Errorf("%+v", d)
	}
	if q := r.model.Requests(); !strings.Contains(string(q[0].Body), "first") || !strings.Contains(string(q[0].Body), "result") {
		t.Errorf("the request lacks the stored conversation: %s", q[0].Body)
	}
	r.close()
	if l, err := store.Load(id); err != nil || len(l.Messages) != 8 {
		t.Errorf("%d messages, %v", len(l.Messages), err)
	}
}

// A session that a spawn was refused for is still the caller's.
func TestSessionOfARefusedSpawn(t *testing.T) {
	store := actors.OpenSessions(t.TempDir())
	session, err := store.Create(actors.SessionMeta{})
	if err != nil {
		t.Fatal(err)
	}
	r := newRig(t, actors.Options{}, ok)
	if _, err := r.engine.Spawn(t.Context(), actors.AgentOptions{Session: session}); err == nil {
		t.Error("an agent without a model was spawned")
	}
	a, l := r.spawn(actors.AgentOptions{Session: session})
	r.turn(a, l, "first")
	r.close()
	if session, err = store.Create(actors.SessionMeta{}); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := session.Close(); err != nil {
			t.Error(err)
		}
	}
	r = newRig(t, actors.Options{})
	defer r.close()
	if _, err := r.engine.Spawn(t.Context(), actors.AgentOptions{Model: mock(100_000), Session: session}); err == nil {
		t.Error("a closed session was taken")
	}
}

func TestCancelledTurnLeavesAWholeSession(t *testing.T) {
	store := actors.OpenSessions(t.TempDir())
	session, err := store.Create(actors.SessionMeta{})
	if err != nil {
		t.Fatal(err)
	}
	r := newRig(t, actors.Options{}, call)
	a, l := r.spawn(actors.AgentOptions{Session: session, Tools: r.tools(nil, lua("t", `http.get("http://web/hang")`))})
	n, err := a.Submit("go")
	if err != nil {
		t.Fatal(err)
	}
	for r.web.active.Load() == 0 {
		runtime.Gosched()
	}
	if err := a.Cancel(); err != nil {
		t.Fatal(err)
	}
	r.end(l, n)
	loaded, err := store.Load(session.ID())
	if err != nil || len(loaded.Messages) != 3 || loaded.Messages[2].Content != "cancelled" || loaded.Closed != 0 {
		t.Errorf("%+v, %v", loaded, err)
	}
	r.close()
}

// What is restored at run time is the session's, too, once.
func TestRestoreWritesTheSession(t *testing.T) {
	store := actors.OpenSessions(t.TempDir())
	session, err := store.Create(actors.SessionMeta{})
	if err != nil {
		t.Fatal(err)
	}
	r := newRig(t, actors.Options{}, ok, ok)
	a, l := r.spawn(actors.AgentOptions{Session: session, History: long(1)})
	if err := a.ClearHistory(); err != nil {
		t.Fatal(err)
	}
	restored := append([]llm.Message{{Role: "system", Content: "an old system prompt"}}, long(2)...)
	if err := a.RestoreHistory(restored); err != nil {
		t.Fatal(err)
	}
	_, events := r.turn(a, l, "go on")
	added := 0
	for _, e := range events {
		if _, ok := e.Data.(msg.MessageAdded); ok {
			added++
		}
	}
	if added != 2 {
		t.Errorf("%d messages were told, want those of the turn alone", added)
	}
	if b := string(r.model.Requests()[0].Body); strings.Contains(b, "old system prompt") || !strings.Contains(b, "question 1") {
		t.Errorf("%s", b)
	}
	r.close()
	loaded, err := store.Load(session.ID())
	if err != nil || len(loaded.Messages) != 6 || !strings.HasPrefix(loaded.Messages[0].Content, "question 0") {
		t.Errorf("%d messages, %v", len(loaded.Messages), err)
	}
}

// A compaction rewrites the session, so that what is resumed is what was in use.
func TestCompactionIsWritten(t *testing.T) {
	store := actors.OpenSessions(t.TempDir())
	session, err := store.Create(actors.SessionMeta{})
	if err != nil {
		t.Fatal(err)
	}
	r := newRig(t, actors.Options{}, "!text the gist\n!finish stop\n")
	a, l := r.spawn(actors.AgentOptions{Session: session})
	if err := a.RestoreHistory(long(20)); err != nil {
		t.Fatal(err)
	}
	n, err := a.Compact()
	if err != nil {
		t.Fatal(err)
	}
	r.end(l, n)
	want, err := a.History()
	if err != nil {
		t.Fatal(err)
	}
	got, err := store.Load(session.ID()) // at the turn's end it is on disk
	if err != nil || len(got.Messages) != len(want) || len(want) >= 20 {
		t.Errorf("%d messages are stored, %d in use, %v", len(got.Messages), len(want), err)
	}
	r.close()
}
