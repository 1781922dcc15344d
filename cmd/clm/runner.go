package main

import (
	"context"
	"errors"
	"os"
	"syscall"
	"time"

	"clm/actors"
	"clm/actors/msg"
	"clm/llm"
)

// runner runs turns of a conversation one after the other and shows them.
type runner struct {
	c       *conversation
	out     sink
	signals <-chan os.Signal

	last  msg.TurnDone
	turns int
	usage llm.Usage
	price float64
	since time.Time // of the last ^C
	ended error     // a signal that ends the program, or an output that went away
}

// secondInterrupt is how soon a second ^C ends the program.
const secondInterrupt = 2 * time.Second

// turn submits a prompt and shows the turn until it has ended. A turn that
// began by itself, with the result of a background job, is shown to its end
// before. The error says that the run cannot go on: a ceiling, a signal, a
// closed output.
func (r *runner) turn(prompt string, files []llm.Attachment) error {
	r.tellNotReady()
	n, err := r.c.agent.Submit(prompt, files...)
	for errors.Is(err, actors.ErrBusy) {
		if err := r.watchOther(); err != nil {
			return err
		}
		n, err = r.c.agent.Submit(prompt, files...)
	}
	if err != nil {
		return r.refused(err)
	}
	r.turns, r.since = r.turns+1, time.Time{}
	r.last, err = r.watch(func(turn uint64) bool { return turn == n })
	return err
}

// rest shows the turns that have begun by themselves, and ends the agent when
// none runs. The outcome is still that of the last turn that was asked for.
func (r *runner) rest() error {
	for {
		if _, err := r.c.agent.History(); !errors.Is(err, actors.ErrBusy) {
			return r.drain()
		}
		if err := r.watchOther(); err != nil {
			return err
		}
	}
}

// drain ends the agent and shows what it told until then: a turn may have ended
// by itself whose events are still on their way.
func (r *runner) drain() error {
	r.tellJobs()
	ctx, cancel := context.WithTimeout(context.Background(), stopTime)
	defer cancel()
	if err := r.c.agent.Stop(ctx); err != nil {
		return err
	}
	for {
		select {
		case e := <-r.c.feed:
			r.show(e)
			if d, ok := e.Data.(msg.TurnDone); ok && d.Status == "done" {
				r.last.Text = d.Text
			}
		case <-r.c.unfed:
			return r.ended
		}
	}
}

// tellJobs names what runs in the background and ends with the agent.
func (r *runner) tellJobs() {
	for _, job := range r.c.agent.Jobs() {
		r.c.p.say("%s still runs: it ends with the program, and its result is lost", job)
	}
}

// watchOther shows a turn that began by itself until it has ended.
func (r *runner) watchOther() error {
	d, err := r.watch(func(uint64) bool { return true })
	if d.Status == "canceled" || d.Status == "ceiling" {
		r.last = d
	}
	if d.Text != "" {
		r.last.Text = d.Text
	}
	return err
}

// refused turns a submit that was not taken into an outcome.
func (r *runner) refused(err error) error {
	st := exitFailed
	r.last = msg.TurnDone{Status: "failed", Kind: "refused", Error: err.Error(), Err: err}
	if errors.Is(err, actors.ErrCeiling) {
		st, r.last.Status, r.last.Kind = exitCeiling, "ceiling", "ceiling"
	}
	return &exitError{st, err}
}

// watch shows events until a turn that is wanted has ended, or did not end in
// time after the program was told to.
func (r *runner) watch(wanted func(turn uint64) bool) (d msg.TurnDone, err error) {
	var late <-chan time.Time
	for {
		if r.ended != nil && late == nil {
			late = time.After(stopTime)
		}
		select {
		case s := <-r.signals:
			r.signal(s)
		case <-late:
			return r.last, r.ended
		case e := <-r.c.feed:
			r.show(e)
			d, ok := e.Data.(msg.TurnDone)
			if !ok || !wanted(e.Turn) {
				continue
			}
			if d.Status == "ceiling" && r.ended == nil {
				return d, &exitError{status: exitCeiling}
			}
			return d, r.ended
		}
	}
}

// show gives an event to the sink. An output that went away cancels the turn.
func (r *runner) show(e actors.Event) {
	r.count(e)
	if err := r.out.event(e); err != nil && r.ended == nil {
		r.end(err)
	}
	if d, ok := e.Data.(msg.TurnDone); ok && r.ended == nil {
		if hint := r.c.hint(d); hint != "" {
			r.note("%s", hint)
		}
	}
}

// note tells people something of the run.
func (r *runner) note(format string, args ...any) {
	if s, ok := r.out.(*plainSink); ok {
		s.note(format, args...)
		return
	}
	r.c.p.say(format, args...)
}

// tellNotReady says before the first turn whose tools it does not have.
func (r *runner) tellNotReady() {
	if names := r.c.notReady(); names != "" && r.turns == 0 {
		r.note("MCP servers that are not ready yet, their tools come later: %s", oneLine(names))
	}
}

// count adds up what requests cost, those of sub-agents too.
func (r *runner) count(e actors.Event) {
	switch d := e.Data.(type) {
	case msg.UsageReported:
		r.usage, r.price = addUsage(r.usage, d.Usage), r.price+d.Price
	case msg.SubAgentEvent:
		r.count(d.Event)
	}
}

// end cancels the turn and remembers why the program ends.
func (r *runner) end(why error) {
	r.ended = why
	_ = r.c.agent.Cancel() // no turn: it ends by itself
}

// signal takes a signal: the first ^C cancels the turn.
func (r *runner) signal(s os.Signal) {
	switch s {
	case os.Interrupt:
		if !r.since.IsZero() && time.Since(r.since) < secondInterrupt {
			r.end(&exitError{status: exitInterrupted})
			return
		}
		r.since = time.Now()
		_ = r.c.agent.Cancel() // no turn: nothing to cancel
	case syscall.SIGTERM, syscall.SIGHUP:
		r.end(&exitError{status: signalStatus(s)})
	case syscall.SIGPIPE: // the write's own error tells
	}
}

// signalStatus is the exit status of a program that a signal ended.
func signalStatus(s os.Signal) int {
	switch s {
	case syscall.SIGTERM:
		return exitTERM
	case syscall.SIGHUP:
		return exitHUP
	}
	return exitInterrupted
}

// finish is the end of a run: it gives the outcome and the exit status.
func (r *runner) finish(err error) error {
	st := status(r.last)
	if err != nil {
		st = exitStatus(err)
	}
	o := outcome{
		Exit: st, Status: r.last.Status, Kind: r.last.Kind, Error: r.last.Error, Text: r.last.Text,
		Session: r.c.store.id(), Turns: r.turns, Usage: r.usage, Price: r.price,
	}
	if o.Status == "" {
		o.Status = "done"
	}
	r.c.p.told = true
	if isPipeClosed(err) {
		return err
	}
	r.tellJobs() // of an agent that has ended there are none
	if werr := r.out.outcome(o); werr != nil && err == nil {
		return werr
	}
	if err == nil && st != exitDone {
		return &exitError{status: st}
	}
	return err
}
