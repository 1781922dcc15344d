package llm

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"
)

var ignoreCache = cmpopts.IgnoreUnexported(Message{})

// storedMessage draws a message as a history may hold it.
func storedMessage() *rapid.Generator[Message] {
	text := rapid.String()
	raw := rapid.SampledFrom([]string{"", `{"type":"thinking","signature":"a/+<&>="}`, `[1,"\u0000"]`, `{"n":12345678901234567890.50}`})
	return rapid.Custom(func(t *rapid.T) Message {
		m := Message{Role: rapid.SampledFrom([]Role{RoleUser, RoleAssistant, RoleTool}).Draw(t, "role"), Content: text.Draw(t, "content")}
		switch m.Role {
		case RoleAssistant:
			for range rapid.IntRange(0, 3).Draw(t, "calls") {
				m.ToolCalls = append(m.ToolCalls, ToolCall{ID: text.Draw(t, "id"), Name: text.Draw(t, "name"), Args: text.Draw(t, "args")})
			}
			for range rapid.IntRange(0, 2).Draw(t, "blocks") {
				r := Reasoning{Origin: text.Draw(t, "origin"), Text: text.Draw(t, "thought")}
				if s := raw.Draw(t, "raw"); s != "" {
					r.Raw = []byte(s)
				}
				m.Reasoning = append(m.Reasoning, r)
			}
		case RoleTool:
			m.ToolCallID, m.ToolName, m.Failed = text.Draw(t, "id"), text.Draw(t, "name"), rapid.Bool().Draw(t, "failed")
		}
		if m.Role != RoleAssistant {
			for range rapid.IntRange(0, 2).Draw(t, "attachments") {
				m.Attachments = append(m.Attachments, Attachment{
					Name: text.Draw(t, "name"), MediaType: rapid.SampledFrom([]string{"image/png", "text/plain; charset=x", "", "\xc3\xa4"}).Draw(t, "type"),
					Data: rapid.SliceOfN(rapid.Byte(), 0, 9).Draw(t, "data"),
				})
			}
		}
		return m
	})
}

func TestMessageRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := storedMessage().Draw(t, "message")
		data, err := EncodeMessage(m)
		if err != nil {
			t.Fatal(err)
		}
		if strings.ContainsAny(string(data), "\n\r") {
			t.Fatalf("more than one line: %q", data)
		}
		blobs := map[string][]byte{}
		for _, a := range m.Attachments {
			blobs[BlobName(a)] = a.Data
		}
		got, err := DecodeMessage(data, func(name string) ([]byte, error) {
			b, ok := blobs[name]
			if !ok {
				return nil, os.ErrNotExist
			}
			return b, nil
		})
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(m, got, ignoreCache); diff != "" {
			t.Fatalf("(-written +read):\n%s\nline %s", diff, data)
		}
	})
}

func TestSessionLine(t *testing.T) {
	m := Message{
		Role: RoleAssistant, Content: "a <b> & \"c\"\n",
		ToolCalls: []ToolCall{{ID: "c1", Name: "read_file", Args: `{"path":"x"}`}},
		Reasoning: []Reasoning{{Origin: "anthropic/m", Text: "hm", Raw: []byte("{\n \"type\": \"thinking\"\n}")}},
	}
	want := `{"type":"msg","role":"assistant","content":"a <b> & \"c\"\n","tool_calls":[{"id":"c1","name":"read_file","args":"{\"path\":\"x\"}"}],` +
		`"reasoning":[{"origin":"anthropic/m","text":"hm","raw":{"type":"thinking"}}]}`
	if got, err := EncodeMessage(m); err != nil || string(got) != want {
		t.Errorf("line %s (%v)\nwant %s", got, err, want)
	}
	img := Message{Role: RoleUser, Attachments: []Attachment{{Name: "a.png", MediaType: "image/png", Data: []byte("x")}}}
	want = `{"type":"msg","role":"user","content":"","attachments":[{"name":"a.png","media_type":"image/png","blob":"2d711642b726b04401627ca9fbac32f5.png"}]}`
	if got, err := EncodeMessage(img); err != nil || string(got) != want {
		t.Errorf("line %s (%v)\nwant %s", got, err, want)
	}
	if _, err := EncodeMessage(Message{Role: RoleAssistant, Reasoning: []Reasoning{{Raw: []byte("{")}}}); err == nil {
		t.Error("a raw block that is no JSON was written")
	}
}

func TestDecodeIsLenient(t *testing.T) {
	tests := []struct{ in, want string }{
		{`{"type":"msg","role":"user","content":"hi","x":{"y":[1]},"ts":3}`, "user \"hi\"\n"},
		{`{"type":"msg","role":"user","content":[{"type":"text","text":"a"},{"text":"b"},{"type":"image"}]}`, "user \"ab\"\n"},
		{
			`{"type":"msg","role":"assistant","content":null,"tool_calls":[{"id":7,"name":"t","args":{"a":1}},{"id":"b","name":null}],"reasoning":"hm"}`,
			"assistant (: hm) 7=t{\"a\":1} b=\n",
		},
		{`{"type":"msg","role":"tool","content":"r","tool_call_id":"a","tool_name":"t","tool_calls":null,"reasoning":{"odd":1}}`, "tool a/t \"r\"\n"},
		{
			`{"type":"msg","role":"user","content":"see","attachments":[{"name":"a","blob":"../../etc/passwd"},{"blob":".hidden"},{"name":"b","blob":"gone"},7,{"name":"c","blob":"there"}]}`,
			"user \"see\\n[the attachment a is missing]\\n[the attachment  is missing]\\n[the attachment b is missing]\\n[the attachment  is missing]\" <c>\n",
		},
	}
	for _, tt := range tests {
		m, err := DecodeMessage([]byte(tt.in), func(name string) ([]byte, error) {
			if name != "there" {
				return nil, fmt.Errorf("no blob %q", name)
			}
			return []byte("x"), nil
		})
		if err != nil || outline([]Message{m}) != tt.want {
			t.Errorf("%s\ngave %s(%v)\nwant %s", tt.in, outline([]Message{m}), err, tt.want)
		}
	}
	for _, in := range []string{`{"type":"meta","v":1}`, `{}`, `{"type":"msg","role":"system","content":"x"}`, `{"type":"msg"}`} {
		if _, err := DecodeMessage([]byte(in), nil); !errors.Is(err, ErrNotMessage) {
			t.Errorf("%s: %v, want ErrNotMessage", in, err)
		}
	}
	for _, in := range []string{"", `{"type":"msg","ro`, "\x00\x00", `[]`, `{"type":"msg","role":"user","content":"a"} x`} {
		if _, err := DecodeMessage([]byte(in), nil); err == nil || errors.Is(err, ErrNotMessage) {
			t.Errorf("%q: %v, want an error of the syntax", in, err)
		}
	}
}

func FuzzDecodeMessage(f *testing.F) {
	f.Add([]byte(`{"type":"msg","role":"assistant","content":null,"tool_calls":[{"id":7,"name":"t","args":{"a":1}}],"reasoning":[{"origin":"a/b","raw":{"x":1}}]}`))
	f.Add([]byte(`{"type":"msg","role":"tool","content":[{"text":"a"}],"tool_call_id":"a","failed":true,"attachments":[{"name":"a","blob":"../x"}]}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		blobs := func(name string) ([]byte, error) {
			if strings.ContainsAny(name, "/\\") || strings.HasPrefix(name, ".") {
				t.Fatalf("asked for the blob %q", name)
			}
			return []byte(name), nil
		}
		m, err := DecodeMessage(data, blobs)
		if err != nil {
			return
		}
		again, err := EncodeMessage(m)
		if err != nil {
			t.Fatalf("what was read cannot be written: %v", err)
		}
		m2, err := DecodeMessage(again, func(name string) ([]byte, error) {
			for _, a := range m.Attachments {
				if BlobName(a) == name {
					return a.Data, nil
				}
			}
			return nil, os.ErrNotExist
		})
		if err != nil || cmp.Diff(m, m2, ignoreCache, cmpopts.EquateEmpty()) != "" {
			t.Errorf("a second round differs (%v):\n%s", err, cmp.Diff(m, m2, ignoreCache))
		}
		NewHistory([]Message{m}).Request("")
	})
}
