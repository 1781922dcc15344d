package stdlib

import "testing"

func TestReword(t *testing.T) {
	for text, want := range map[string]string{
		"t:1: cannot perform add operation between table and number": "t:1: attempt to perform arithmetic on a table value",
		"t:1: cannot perform concat operation between table and nil": "t:1: attempt to concatenate a table value",
		"t:12: __unm undefined":                                           "t:12: attempt to perform arithmetic on a table value",
		"t:1: attempt to compare table with table":                        "t:1: attempt to compare two table values",
		"t:1: attempt to compare number with nil":                         "t:1: attempt to compare number with nil",
		"t:1: attempt to compare table with channel":                      "t:1: attempt to compare table with number",
		"t:1: attempt to compare channel with string":                     "t:1: attempt to compare number with string",
		" attempt to call a non-function object":                          "attempt to call a table value",
		"t:1: attempt to index a non-table object(userdata) with key 'x'": "t:1: attempt to index a userdata value",
		"t:1: too many recursions in gettable":                            "t:1: '__index' chain too long; possible loop",
		"t:1: registry overflow":                                          "t:1: stack overflow",
		"t:1: cannot perform":                                             "t:1: cannot perform",
		"t:1: cannot perform magic":                                       "t:1: cannot perform magic",
		"my own: text":                                                    "my own: text",
		"":                                                                "",
		": ":                                                              ": ",
	} {
		if got := Reword(text); got != want {
			t.Errorf("Reword(%q) is %q, want %q", text, got, want)
		}
	}
}
