package actors_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"clm/actors"
	"clm/actors/msg"
)

func TestSteerAndNotify(t *testing.T) {
	bubble(t, actors.Options{}, func(r *rig) {
		release := make(chan struct{})
		a, l := r.spawn(actors.AgentOptions{Tools: r.tools(goTool(func(context.Context, actors.ToolCall) (actors.ToolOutput, error) {
			<-release
			return actors.ToolOutput{Text: "x"}, nil
		}))})
		n, err := a.Submit("go")
		if err != nil {
			r.Fatal(err)
		}
		synctest.Wait()
		if _, err := a.Steer("and faster"); err != nil {
			r.Fatal(err)
		}
		for _, s := range []string{"one", "two"} {
			if err := a.Notify(s); err != nil {
				r.Fatal(err)
			}
		}
		close(release)
		d, _ := r.end(l, n)
		if d.Pending != 2 {
			r.Errorf("pending %d", d.Pending)
		}
		if d, _ = r.end(l, n+1); d.Status != "done" {
			r.Errorf("%+v", d)
		}
		q := r.model.Requests()
		if len(q) != 3 || !strings.Contains(string(q[1].Body), "and faster") || strings.Contains(string(q[1].Body), "one") || !strings.Contains(string(q[2].Body), `one\n\ntwo`) {
			r.Errorf("%d requests: %s", len(q), q[len(q)-1].Body)
		}
		if err := a.Notify("idle now"); err != nil {
			r.Error(err)
		}
		if d, _ = r.end(l, n+2); d.Status != "done" {
			r.Errorf("%+v", d)
		}
	}, call, ok, ok, ok)
}

// What waits behind a turn and may start none is told, counts as pending no
// more, and joins the next turn.
func TestWaitingTextWithoutATurn(t *testing.T) {
	b := &actors.Budget{MaxTurns: 1}
	bubble(t, actors.Options{}, func(r *rig) {
		a, l := r.spawn(actors.AgentOptions{Budget: b})
		n := r.begin(a, "go")
		if err := a.Notify("a job has ended"); err != nil {
			r.Fatal(err)
		}
		d, events := r.end(l, n)
		if d.Status != "done" || d.Pending != 0 {
			r.Errorf("%+v", d)
		}
		if e, ok := events[len(events)-3].Data.(msg.Notice); !ok || !strings.Contains(e.Text, "a job has ended") && !strings.Contains(e.Text, "ceiling") {
			r.Errorf("no notice: %+v", events[len(events)-3:])
		}
		b.MaxTurns = 0 // between turns
		r.turn(a, l, "more")
		if q := r.model.Requests(); len(q) != 2 || !strings.Contains(string(q[1].Body), "a job has ended") {
			r.Errorf("%d requests, %s", len(q), q[len(q)-1].Body)
		}
	}, "!sleep 100\n"+ok, ok)
}

// Cancelling drops what was said to the turn, but not the news from outside.
func TestCancelKeepsNotifications(t *testing.T) {
	bubble(t, actors.Options{}, func(r *rig) {
		a, l := r.spawn(actors.AgentOptions{})
		n := r.begin(a, "go")
		if err := a.Notify("a job has ended"); err != nil {
			r.Fatal(err)
		}
		if _, err := a.Steer("hurry"); err != nil {
			r.Fatal(err)
		}
		for i := range 2 { // cancelling again changes nothing
			if err := a.Cancel(); err != nil && (i == 0 || !errors.Is(err, actors.ErrNoTurn)) {
				r.Fatal(err)
			}
		}
		if d, _ := r.end(l, n); d.Status != "canceled" || d.Pending != 0 {
			r.Errorf("%+v", d)
		}
		time.Sleep(time.Minute)
		if len(r.model.Requests()) != 1 {
			r.Error("a turn began by itself after the cancel")
		}
		r.turn(a, l, "what now?")
		last := string(r.model.Requests()[1].Body)
		if !strings.Contains(last, "a job has ended") || !strings.Contains(last, "what now?") || strings.Contains(last, "hurry") {
			r.Errorf("%s", last)
		}
		if err := a.Notify("idle now"); err != nil { // after a cancel, too
			r.Fatal(err)
		}
		if d, _ := r.end(l, n+2); d.Status != "done" {
			r.Errorf("%+v", d)
		}
	}, "!hang\n", ok, ok)
}

// What is said after a cancel, while the turn still ends, is for the next one.
func TestSteerAfterACancelStartsATurn(t *testing.T) {
	bubble(t, actors.Options{}, func(r *rig) {
		a, l := r.spawn(actors.AgentOptions{Tools: r.tools(goTool(func(ctx context.Context, _ actors.ToolCall) (actors.ToolOutput, error) {
			<-ctx.Done()
			time.Sleep(time.Second) // slow to end
			return actors.ToolOutput{}, ctx.Err()
		}))})
		n := r.begin(a, "go")
		if err := a.Cancel(); err != nil {
			r.Fatal(err)
		}
		next, err := a.Steer("no, do this")
		if err != nil || next != n+1 {
			r.Errorf("turn %d, %v", next, err)
		}
		if d, _ := r.end(l, n); d.Status != "canceled" || d.Pending != 1 {
			r.Errorf("%+v", d)
		}
		if d, _ := r.end(l, next); d.Status != "done" {
			r.Errorf("%+v", d)
		}
		if b := string(r.model.Requests()[1].Body); !strings.Contains(b, "no, do this") {
			r.Errorf("%s", b)
		}
	}, call, ok)
}
