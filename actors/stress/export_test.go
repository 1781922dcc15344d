package stress

import (
	"time"

	"clm/actors"
)

// FirstToken is when a turn that was due at some time has its first token, by
// these events.
func FirstToken(due time.Time, events ...actors.Event) time.Duration {
	t := turnRun{run: &run{opts: &Options{}}, s: &subject{}, due: due}
	for i, e := range events {
		e.Seq = uint64(i + 1)
		t.event(e)
	}
	return t.m.firstToken
}

// Usual is what a run takes for a usual turn after each of these.
func Usual(guess time.Duration, turns []time.Duration) (after []time.Duration) {
	var u usual
	u.ns.Store(int64(guess))
	for _, d := range turns {
		u.observe(d)
		after = append(after, time.Duration(u.Load()))
	}
	return after
}
