package wire

import (
	"strings"

	"clm/llm"
)

// noImageWords are lower-case pieces of what servers say when a model takes no
// images at all; what they say of a bad image is not among them.
var noImageWords = [...]string{
	"image input is not supported", "support image input", "support for image input", "does not support image", "not support images",
	"required for image input", "images are not supported", "image_url is only supported", "unknown variant `image_url`",
	"does not support vision", "not a multimodal model", "is not multimodal", "content must be a string",
}

// blind remembers the models whose server refused images, by name. The zero
// value is empty.
type blind struct{ models PerModel[struct{}] }

// learn finds in an error that a request's images were refused.
func (b *blind) learn(e *llm.Error, req *llm.Request) {
	if !has(strings.ToLower(e.Message), noImageWords[:]) {
		return
	}
	for i := range req.Messages {
		if hasImages(&req.Messages[i]) {
			b.models.Set(req.Model, struct{}{})
			return
		}
	}
}

func hasImages(m *llm.Message) bool {
	for _, a := range m.Attachments {
		if isImage(a) {
			return true
		}
	}
	return false
}

func isImage(a llm.Attachment) bool { return strings.HasPrefix(a.MediaType, "image/") }

// Shown is m as a model may be sent it: one that takes no images gets a note in
// the place of each. A conversation that holds one would be refused for ever.
func (c *Client) Shown(model string, m *llm.Message) *llm.Message {
	if len(m.Attachments) == 0 || !hasImages(m) {
		return m
	}
	if !c.blind.models.Has(model) {
		return m
	}
	shown := *m
	shown.Attachments = nil
	for _, a := range m.Attachments {
		if !isImage(a) {
			shown.Attachments = append(shown.Attachments, a)
			continue
		}
		if shown.Content != "" {
			shown.Content += "\n"
		}
		shown.Content += "[the image " + llm.OneLine(a.Name, 200) + " is not shown: this model takes no images]"
	}
	return &shown
}
