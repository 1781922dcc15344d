package turn

import (
	"fmt"
	"testing"

	"clm/actors/msg"
	"clm/llm"
)

func TestRepeats(t *testing.T) {
	same := []string{
		`{"a":1,"b":"é"}`, `{ "b" : "\u00e9", "a" : 1 }`, `{"a":1,"b":"é"}`, "{\"b\":\"é\",\n\"a\":1}", `{"a":1,"b":"é"}`,
	}
	r := repeats{}
	for i, args := range same {
		want := i + 1
		if got := r.count(llm.ToolCall{Name: "t", Args: args}, &msg.ToolDone{Text: "x"}); got != want && max(got, want) >= tellRepeats {
			t.Errorf("call %d counts as %d, want %d", i+1, got, want)
		}
		others := []struct{ name, args, text string }{
			{"t", args, fmt.Sprint("x", i)},
			{fmt.Sprint("t", i), args, "x"},
			{"t", fmt.Sprintf(`{"a":1,"b":%d}`, i), "x"},
			{"t", fmt.Sprintf(`{"a":900719925474099%d}`, i), "y"},
			{"t", fmt.Sprintf("{ %d", i), "z"},
		}
		for _, o := range others {
			if got := r.count(llm.ToolCall{Name: o.name, Args: o.args}, &msg.ToolDone{Text: o.text}); got > 1 {
				t.Errorf("%+v counts as %d", o, got)
			}
		}
	}
}
