package actorstest_test

import (
	"fmt"
	"testing"
	"testing/synctest"

	"clm/actors"
	"clm/actors/actorstest"
)

// A test of an embedder: its model plays a script, its tool runs, the clock is
// virtual.
func Example() {
	test := func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			e := actorstest.Start(t, actors.Options{}, "!tool c1 clock {}\n!finish tool_calls\n", "!text thanks\n!finish stop\n")
			set, err := actors.NewToolset(clock)
			if err != nil {
				t.Fatal(err)
			}
			done, events := e.Spawn(actors.AgentOptions{Tools: set}).Turn("what time is it?")
			if done.Text != "thanks" || actorstest.Results(events)["c1"] != "half past" {
				t.Errorf("%+v", done)
			}
		})
	}
	fmt.Println(testing.RunTests(func(string, string) (bool, error) { return true, nil }, []testing.InternalTest{{Name: "Example", F: test}}))
	// Output: true
}
