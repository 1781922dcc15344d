package jsonscan

import "testing"

func TestCount(t *testing.T) {
	for in, want := range map[string]int64{
		"1": 1, "1.0": 1, `"7"`: 7, "1e3": 1000, "-5": 0, "null": 0, "": 0, `"x"`: 0, "{}": 0, "1e300": 0,
		"9007199254740993": 9007199254740993,
	} {
		if got := Count([]byte(in)); got != want {
			t.Errorf("Count(%s) = %d, want %d", in, got, want)
		}
	}
	if got := Member([]byte(`{"a":1,"b":[2]}`), "b"); string(got) != "[2]" {
		t.Errorf("Member b is %s", got)
	}
	if got := Member([]byte(`{"a":1}`), "b"); got != nil {
		t.Errorf("a missing member is %s", got)
	}
}
