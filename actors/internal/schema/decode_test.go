package schema

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"
)

// FuzzDecode compares with the decoder of the standard library.
func FuzzDecode(f *testing.F) {
	for _, s := range []string{
		` { "a" : [ 1 , -2.5e+3 , "x\"\\\u00e9\ud83d\ude42" , true,false ,null, {} , [] ] , "" :{"b":"é"}, "a":0 } `,
		`"\ud83d"`, "\"\xff\"", `[[1],[],[2,3]]`, `{"a":{"a":1},"a":{"b":2}}`, "1", `""`, "nul", `{"a":1}x`, "{\"\\\\\":\"\\\"\"}", "",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		got, err := decode(text)
		d := json.NewDecoder(strings.NewReader(text))
		d.UseNumber()
		var want any
		valid := d.Decode(&want) == nil && json.Valid([]byte(text))
		if !valid {
			if err == nil {
				t.Fatalf("%q is taken as %#v", text, got)
			}
			return
		}
		if err != nil {
			return // not sane
		}
		if !reflect.DeepEqual(got, want) {
			t.Fatalf("%q: %#v, want %#v", text, got, want)
		}
	})
}

func TestDecodeRefuses(t *testing.T) {
	for text, want := range map[string]string{
		"": "empty", "{": "ends too early", "{} {}": "more after its end, at byte 2", "{]": "invalid character",
		"1e401":                                "out of range",
		strings.Repeat("1", maxDigits+1):       "digits",
		`{"a":[1,` + "1e-999999999999999999]}": "out of range",
		strings.Repeat("[", maxDepth+2) + strings.Repeat("]", maxDepth+2): "nested",
	} {
		if _, err := decode(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.20q: %v, want %q", text, err, want)
		}
	}
}
