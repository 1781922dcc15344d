package mcp

import (
	"bytes"
	"io"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

func TestToolNames(t *testing.T) {
	long := strings.Repeat("n", 70)
	got := toolNames("my server", []string{"a.b", "a_b", "a/b", "ok", long, long + "x", "日本"})
	want := []string{"mcp__my_server__a_b_6", "mcp__my_server__a_b", "mcp__my_server__a_b_", "mcp__my_server__ok", "", "", "mcp__my_server____"}
	for i, name := range got {
		if len(name) > maxName || safe(name) != name || !strings.HasPrefix(name, "mcp__my_server__") {
			t.Errorf("%q", name)
		}
		if i != 0 && want[i] != "" && !strings.HasPrefix(name, want[i]) {
			t.Errorf("got %q, want %q", name, want[i])
		}
	}
	sorted := slices.Sorted(slices.Values(got))
	if len(slices.Compact(sorted)) != len(got) {
		t.Errorf("names come twice: %q", got)
	}
	if again := toolNames("my server", []string{"a_b", "a.b"}); again[1] != got[0] || again[0] != got[1] {
		t.Errorf("names depend on the order: %q, %q", again, got)
	}
}

func TestConvertResult(t *testing.T) {
	png := []byte("\x89PNG")
	got, err := convertResult(&sdk.CallToolResult{
		Content: []sdk.Content{
			&sdk.TextContent{Text: "one\x1b[31m\x00"},
			&sdk.ImageContent{MIMEType: "image/png", Data: png},
			&sdk.AudioContent{MIMEType: "audio/wav", Data: png},
			&sdk.ResourceLink{Name: "doc", URI: "file:///d", MIMEType: "text/plain", Description: "a doc"},
			&sdk.EmbeddedResource{Resource: &sdk.ResourceContents{URI: "mem://a", Text: "inside"}},
			&sdk.EmbeddedResource{Resource: &sdk.ResourceContents{URI: "mem://pics/b.png", MIMEType: "image/png", Blob: png}},
			&sdk.EmbeddedResource{Resource: &sdk.ResourceContents{URI: "mem://c", MIMEType: "application/zip", Blob: png}},
			&sdk.EmbeddedResource{},
			&sdk.ImageContent{MIMEType: "image/png", Data: make([]byte, maxImage+1)},
		},
		StructuredContent: map[string]any{"n": 1},
	})
	want := `one
[image, image/png, 4 bytes]
[audio, audio/wav, 4 bytes, not shown]
[link to doc: file:///d text/plain a doc]
[resource mem://a]
inside
[image, image/png, 4 bytes]
[resource mem://c, application/zip, 4 bytes, not shown]
[image, image/png, 8388609 bytes, not shown]
{"n":1}`
	if err != nil || got.Text != want {
		t.Errorf("got %v\n%s", err, got.Text)
	}
	if len(got.Attachments) != 2 || got.Attachments[1].Name != "b.png" || !bytes.Equal(got.Attachments[0].Data, png) {
		t.Errorf("attachments %+v", got.Attachments)
	}
	got, err = convertResult(&sdk.CallToolResult{
		Content: []sdk.Content{&sdk.TextContent{Text: `{ "n": 1 }`}}, StructuredContent: map[string]any{"n": 1.0},
	})
	if err != nil || got.Text != `{ "n": 1 }` {
		t.Errorf("structured content twice: %q, %v", got.Text, err)
	}
	for _, res := range []*sdk.CallToolResult{{IsError: true}, {IsError: true, Content: []sdk.Content{&sdk.TextContent{Text: "x"}}}} {
		if _, err := convertResult(res); err == nil {
			t.Error("isError is no error")
		}
	}
	got, _ = convertResult(&sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: strings.Repeat("é", 1<<20)}}})
	if len(got.Text) > maxResult || strings.ContainsRune(got.Text, '\uFFFD') {
		t.Errorf("%d bytes", len(got.Text))
	}
}

// Whatever a server writes, the SDK gets whole messages alone.
func FuzzMessages(f *testing.F) {
	const msg = `{"jsonrpc":"2.0","id":1,"result":{}}`
	for _, s := range []string{"", msg + "\n", msg, "starting\n" + msg + "\r\n", "[" + msg + "," + msg + "]\n", "[INFO]\n{\"a\":1}\n{\"jsonrpc\":\"1.0\"}\n", "\n\n[\n"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		var words ring
		m := newMessages(io.NopCloser(iotest.OneByteReader(bytes.NewReader(data))), &words)
		out, err := io.ReadAll(m)
		if err != nil {
			t.Fatal(err)
		}
		for line := range bytes.Lines(out) {
			if !isMessage(line) || line[len(line)-1] != '\n' {
				t.Fatalf("%q", line)
			}
		}
	})
}
