package stress

import "time"

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
