package mcp

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"strings"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"clm/actors/internal/tool"
	"clm/llm"
)

const (
	maxResult = 64 << 10 // bytes of text
	maxImage  = 8 << 20  // bytes of an image
	maxImages = 20
)

// convertResult makes a result of all that a server answered. An answer that
// says it is an error becomes one.
func convertResult(res *sdk.CallToolResult) (tool.Result, error) {
	var c collector
	for _, part := range res.Content {
		c.add(part)
	}
	c.structured(res.StructuredContent)
	text := llm.Clip(llm.Clean(strings.Join(c.texts, "\n")), maxResult)
	switch {
	case res.NeedsInput():
		return tool.Result{}, errors.New("the server asks for more input during a call, which this client does not give")
	case res.IsError && text == "":
		return tool.Result{}, errors.New("the server says that the call failed, and no more")
	case res.IsError:
		return tool.Result{}, errors.New(text)
	}
	return tool.Result{Text: text, Attachments: c.images}, nil
}

type collector struct {
	texts  []string
	images []tool.Attachment
}

func (c *collector) note(format string, args ...any) {
	c.texts = append(c.texts, fmt.Sprintf(format, args...))
}

func (c *collector) add(part sdk.Content) {
	switch p := part.(type) {
	case *sdk.TextContent:
		c.texts = append(c.texts, p.Text)
	case *sdk.ImageContent:
		c.image("image", p.MIMEType, p.Data)
	case *sdk.AudioContent:
		c.note("[audio, %s, %d bytes, not shown]", p.MIMEType, len(p.Data))
	case *sdk.ResourceLink:
		c.note("[link to %s: %s %s %s]", p.Name, p.URI, p.MIMEType, p.Description)
	case *sdk.EmbeddedResource:
		c.resource(p.Resource)
	default:
		raw, err := json.Marshal(part)
		if err == nil {
			c.texts = append(c.texts, string(raw))
		}
	}
}

func (c *collector) resource(r *sdk.ResourceContents) {
	switch {
	case r == nil:
	case r.Blob == nil:
		c.note("[resource %s]\n%s", r.URI, r.Text)
	case strings.HasPrefix(r.MIMEType, "image/"):
		c.image(path.Base(r.URI), r.MIMEType, r.Blob)
	default:
		c.note("[resource %s, %s, %d bytes, not shown]", r.URI, r.MIMEType, len(r.Blob))
	}
}

func (c *collector) image(name, media string, data []byte) {
	if len(data) == 0 || len(data) > maxImage || len(c.images) >= maxImages {
		c.note("[image, %s, %d bytes, not shown]", media, len(data))
		return
	}
	c.note("[image, %s, %d bytes]", media, len(data))
	c.images = append(c.images, tool.Attachment{Name: llm.OneLine(name, 100), MediaType: media, Data: data})
}

// structured adds structured content, unless a text says the same: servers
// send it twice for clients that know only one.
func (c *collector) structured(value any) {
	if value == nil {
		return
	}
	want, err := json.Marshal(value)
	if err != nil {
		return
	}
	for _, text := range c.texts {
		var v any
		if json.Unmarshal([]byte(text), &v) == nil {
			if have, err := json.Marshal(v); err == nil && bytes.Equal(have, want) {
				return
			}
		}
	}
	c.texts = append(c.texts, string(want))
}
