package stress_test

import (
	"testing"

	"clm/actors/stress"
)

// FuzzScenario reads loads that nobody has written with care: each is refused
// or can be run.
func FuzzScenario(f *testing.F) {
	for _, s := range []string{
		`return { agents = 2, duration = "1s" }`,
		`return { { tools = { share = 0.5, calls = 2 } }, { faults = { cut = 0.1, ["429"] = 0.2 } } }`,
		`return { rate = 1e300, think = -1, tools = {} }`,
		`return {`, `return { agents = 0/0 }`, `error({})`, `return setmetatable({}, {})`,
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, source string) {
		phases, err := stress.Scenario("fuzz.lua", source, stress.Options{})
		if (err == nil) == (len(phases) == 0) {
			t.Errorf("%d phases, %v", len(phases), err)
		}
		for _, o := range phases {
			if o.Agents < 0 || o.Duration < 0 || o.Cancel < 0 || o.Cancel > 1 {
				t.Errorf("%+v", o)
			}
		}
	})
}

// FuzzParse reads the command's short forms.
func FuzzParse(f *testing.F) {
	for _, s := range []string{"0.5", "0.5:2:chain", "10:5", "cut=0.1,slowby=2s", "429=1", ":", "=,=", "1e-9:9", "NaN", "cut=0.9,500=0.9"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if x, err := stress.ParseTools(s); err == nil && (x.Share < 0 || x.Share > 1 || x.Calls < 1) {
			t.Errorf("%q: %+v", s, x)
		}
		if running, queued, err := stress.ParseAdmission(s); err == nil && (running < 1 || queued < 0) {
			t.Errorf("%q: %d running, %d queued", s, running, queued)
		}
		if x, err := stress.ParseFaults(s); err == nil && (x.Cut < 0 || x.Cut > 1) {
			t.Errorf("%q: %+v", s, x)
		}
	})
}
