package schema

import (
	"strings"
	"testing"
)

// What a model is told, line by line.
func TestFaults(t *testing.T) {
	for _, tc := range []struct{ schema, args, want string }{
		{`{"required":["a","b"]}`, `{}`, "missing properties 'a', 'b'"},
		{`{"dependentRequired":{"a":["b"]}}`, `{"a":1}`, "missing property 'b', required with 'a'"},
		{`{"dependencies":{"a":["b"],"c":{"required":["d"]}}}`, `{"a":1,"c":1}`, "missing property 'b', required with 'a'\nmissing property 'd'"},
		{`{"additionalProperties":false}`, `{"x":1,"y":2}`, "unknown properties 'x', 'y'"},
		{`{"properties":{"a":true},"unevaluatedProperties":false}`, `{"x":1}`, "unknown property 'x'; known are 'a'"},
		{`{"properties":{"a":{"type":"string"},"b":{"type":["array","null"]}}}`, `{"a":1,"b":"[1]"}`, "at /a: got number, want string\nat /b: got string, want array or null (give the JSON itself, not a string that contains it)"},
		{`{"properties":{"n":{"type":"integer"}}}`, `{"n":1.5}`, "at /n: got number, want integer"},
		{`{"properties":{"a/b~c":{"const":{"x":1}}}}`, `{"a/b~c":[1]}`, "at /a~1b~0c: got […], want {…}"},
		{`{"properties":{"n":{"minimum":2,"multipleOf":0.01}}}`, `{"n":1.005}`, "at /n: got 1.005, want at least 2\nat /n: got 1.005, want a multiple of 0.01"},
		{`{"properties":{"n":{"exclusiveMaximum":2}}}`, `{"n":2.0}`, "at /n: got 2.0, want less than 2"},
		{`{"properties":{"s":{"minLength":2,"pattern":"^[a-z]+$"}}}`, `{"s":"É"}`, "at /s: has 1 character, want at least 2\nat /s: got 'É', want what matches the pattern ^[a-z]+$"},
		{`{"properties":{"l":{"maxItems":1,"uniqueItems":true}}}`, `{"l":[{"a":1},2,{"a":1.0}]}`, "at /l: has 3 elements, want at most 1\nat /l: elements 0 and 2 are equal, want all different"},
		{`{"properties":{"l":{"contains":{"type":"string"}}}}`, `{"l":[1]}`, "at /l: has 0 elements that fit (contains), want at least 1"},
		{`{"properties":{"l":{"items":[{"type":"string"}],"additionalItems":{"type":"number"}}}}`, `{"l":[1,"x"]}`, "at /l/0: got number, want string\nat /l/1: got string, want number"},
		{`{"propertyNames":{"maxLength":1}}`, `{"long":1}`, "the name of property 'long': has 4 characters, want at most 1"},
		{`{"properties":{"a":false}}`, `{"a":1}`, "at /a: nothing is allowed here"},
		{`{"properties":{"a":{"not":{"type":"string"}}}}`, `{"a":"x"}`, "at /a: fits what the schema forbids (not)"},
		{`{"properties":{"a":{"anyOf":[{"type":"string"},{"type":"null"}]}}}`, `{"a":1}`, "at /a: got number, want string or null"},
		{`{"properties":{"a":{"anyOf":[{"type":"object","required":["x"]},{"type":"null"}]}}}`, `{"a":{}}`, "at /a: missing property 'x'"},
		{`{"properties":{"a":{"oneOf":[{"type":"number"},{"minimum":1}]}}}`, `{"a":1}`, "at /a: fits the alternatives 1 and 2 of oneOf, want exactly one"},
		{
			`{"oneOf":[{"properties":{"kind":{"const":"a"}}},{"properties":{"kind":{"const":"b"},"n":{"type":"integer"}},"required":["kind","m"]}]}`, `{"kind":"b","n":"1"}`,
			"fits none of the alternatives (oneOf); to fit the nearest:\nmissing property 'm'\nat /n: got string, want integer",
		},
		{`{"$ref":"#/$defs/tree","$defs":{"tree":{"properties":{"sub":{"items":{"$ref":"#/$defs/tree"}},"n":{"type":"integer"}}}}}`, `{"sub":[{},{"sub":[{"n":"1"}]}]}`, "at /sub/1/sub/0/n: got string, want integer"},
		{`{"$schema":"http://json-schema.org/draft-07/schema#","$ref":"#/definitions/a","required":["x"],"definitions":{"a":{"required":["y"]}}}`, `{}`, "missing property 'y'"},
		{`{"if":{"required":["a"]},"then":{"required":["b"]},"else":{"required":["c"]}}`, `{"a":1}`, "missing property 'b'"},
		{`{"properties":{"id":{"const":9007199254740993}}}`, `{"id":9007199254740992}`, "at /id: got 9007199254740992, want 9007199254740993"},
		{`{"properties":{"id":{"anyOf":[{"maximum":9223372036854775807},{"type":"null"}]}}}`, `{"id":9223372036854775808}`, "at /id: got 9223372036854775808, want at most 9223372036854775807"},
	} {
		got := compiled(t, tc.schema).Check(tc.args)
		want := "the arguments do not fit the tool's schema:\n- " + strings.ReplaceAll(tc.want, "\n", "\n- ")
		if got != want {
			t.Errorf("%s\n got %s\nwant %s", tc.schema, got, want)
		}
	}
}

// What is right although a validator that computes with floats or knows only
// one dialect might say otherwise.
func TestRight(t *testing.T) {
	for _, tc := range [][2]string{
		{`{"properties":{"price":{"multipleOf":0.01}}}`, `{"price":19.99}`},
		{`{"properties":{"id":{"enum":[9007199254740993,18446744073709551616]}}}`, `{"id":18446744073709551616}`},
		{`{"properties":{"id":{"enum":[1e2]}}}`, `{"id":100.0}`},
		{`{"properties":{"id":{"type":"integer","minimum":9007199254740993}}}`, `{"id":9007199254740993}`},
		{`{"properties":{"at":{"format":"date-time"}}}`, `{"at":"yesterday"}`},
		{`{"$defs":{"a":{"type":"string"}},"definitions":{"b":{"type":"number"}},"properties":{"x":{"$ref":"#/$defs/a"},"y":{"$ref":"#/definitions/b"}}}`, `{"x":"","y":1}`},
		{`{"properties":{"n":{"enum":[null,"a"]},"c":{"const":null}}}`, `{"n":null,"c":null}`},
		{`{"$id":"https://example.com/tool","properties":{"a":{"$ref":"#/$defs/one%20two~1x"}},"$defs":{"one two/x":{"type":"null"}}}`, `{"a":null}`},
	} {
		if got := compiled(t, tc[0]).Check(tc[1]); got != "" {
			t.Errorf("%s %s: %s", tc[0], tc[1], got)
		}
	}
}
