package schema

import (
	"encoding/json"
	"testing"
)

func TestNormalise(t *testing.T) {
	const empty = `{"properties":{},"type":"object"}`
	for in, want := range map[string]string{
		``:                           empty,
		`null`:                       empty,
		`{}`:                         empty,
		`[]`:                         empty,
		`true`:                       empty,
		`{"type":"object"}`:          empty,
		`{"type":["object","null"]}`: empty,
		`{"type":"object","properties":null,"required":null,"additionalProperties":null}`:                        empty,
		`{"properties":[],"required":{}}`:                                                                        empty,
		`{"$schema":"http://json-schema.org/draft-07/schema#","$id":"x","$comment":"y","x-order":1,"title":"T"}`: `{"properties":{},"title":"T","type":"object"}`,
		`{"properties":{"a":[],"b":null,"c":{"type":["string"],"default":null},"d":{"type":["string","null"]},"e":{"type":"file"},"required":{"type":"string"}},"required":["a","a",1]}`: `{"properties":{"a":{},"b":{},"c":{"default":null,"type":"string"},"d":{"type":["string","null"]},"e":{},"required":{"type":"string"}},"required":["a"],"type":"object"}`,
		`{"properties":{"a":{"$ref":"#/$defs/x"},"b":{"$ref":"https://example.com/x"}},"$defs":{"x":{"type":"integer","minimum":9007199254740993}}}`:                                     `{"$defs":{"x":{"minimum":9007199254740993,"type":"integer"}},"properties":{"a":{"$ref":"#/$defs/x"},"b":{}},"type":"object"}`,
		`{"anyOf":[{"properties":{"a":{"type":"string"}},"required":["a"]},{"properties":{"b":{}}}],"allOf":[{"properties":{"c":{}},"required":["c"]}],"required":["d"]}`:                `{"properties":{"a":{"type":"string"},"b":{},"c":{}},"required":["c","d"],"type":"object"}`,
		`{"properties":{"a":{"items":[{"type":"string"}]},"b":{"items":{"anyOf":[{"type":"null"},{"type":"string"}]}},"c":{"items":[]}}}`:                                                `{"properties":{"a":{"prefixItems":[{"type":"string"}]},"b":{"items":{"anyOf":[{"type":"null"},{"type":"string"}]}},"c":{"items":{}}},"type":"object"}`,
		`{"additionalProperties":false,"properties":{"m":{"additionalProperties":[],"nullable":true}}}`:                                                                                  `{"additionalProperties":false,"properties":{"m":{"additionalProperties":{}}},"type":"object"}`,
	} {
		got, err := Normalise(json.RawMessage(in))
		if err != nil || string(got) != want {
			t.Errorf("%s\n got %s, %v\nwant %s", in, got, err, want)
		}
		if _, err := Compile(got); err != nil {
			t.Errorf("%s: its normal form does not compile: %v", in, err)
		}
	}
	for _, in := range []string{`{`, `5`, `"x"`, `[1]`, `false`, `{"type":"string"}`, `{"type":["string","null"]}`} {
		if got, err := Normalise(json.RawMessage(in)); err == nil {
			t.Errorf("%s becomes %s", in, got)
		}
	}
}
