package llm

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"mime"
	"strings"
)

// ErrNotMessage is returned for a session line that is no message: another
// type, or a role that a history does not hold, such as system.
var ErrNotMessage = errors.New("session line: not a message")

// line is a message in a session file. Absent members are left out, but for
// the content.
type line struct {
	Type        string          `json:"type"`
	Role        Role            `json:"role"`
	Content     string          `json:"content"`
	ToolCalls   []callLine      `json:"tool_calls,omitempty"`
	ToolCallID  string          `json:"tool_call_id,omitempty"`
	ToolName    string          `json:"tool_name,omitempty"`
	Failed      bool            `json:"failed,omitempty"`
	Reasoning   []reasoningLine `json:"reasoning,omitempty"`
	Attachments []blobLine      `json:"attachments,omitempty"`
}

type callLine struct {
	ID   string `json:"id"`
	Name string `json:"name"`
	Args string `json:"args"`
}

type reasoningLine struct {
	Origin string          `json:"origin"`
	Text   string          `json:"text,omitempty"`
	Raw    json.RawMessage `json:"raw,omitempty"`
}

type blobLine struct {
	Name      string `json:"name"`
	MediaType string `json:"media_type"`
	Blob      string `json:"blob"`
}

// EncodeMessage writes a message as one line of a session file, without the
// newline:
//
//	{"type":"msg","role","content","tool_calls":[{"id","name","args"}],
//	 "tool_call_id","tool_name","failed","reasoning":[{"origin","text","raw"}],
//	 "attachments":[{"name","media_type","blob"}]}
//
// Nothing is lost that [DecodeMessage] does not give back, but for blanks
// between the tokens of a raw reasoning block and bytes that are not UTF-8.
// The data of attachments is not in the line: whoever stores it writes each
// into a file named [BlobName]. The error is that of a raw reasoning block
// that is not JSON.
func EncodeMessage(m Message) ([]byte, error) {
	l := line{
		Type: "msg", Role: m.Role, Content: m.Content,
		ToolCallID: m.ToolCallID, ToolName: m.ToolName, Failed: m.Failed,
	}
	for _, c := range m.ToolCalls {
		l.ToolCalls = append(l.ToolCalls, callLine(c))
	}
	for _, r := range m.Reasoning {
		l.Reasoning = append(l.Reasoning, reasoningLine(r))
	}
	for _, a := range m.Attachments {
		l.Attachments = append(l.Attachments, blobLine{Name: a.Name, MediaType: a.MediaType, Blob: BlobName(a)})
	}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(l); err != nil {
		return nil, fmt.Errorf("session line: %w", err)
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}

// BlobName is the file name for an attachment's data: a hash of it, so that
// the same picture is stored once, with an extension by its media type.
func BlobName(a Attachment) string {
	sum := sha256.Sum256(a.Data)
	name := hex.EncodeToString(sum[:16])
	switch mt, _, _ := mime.ParseMediaType(a.MediaType); mt {
	case "image/png":
		return name + ".png"
	case "image/jpeg":
		return name + ".jpg"
	case "image/gif":
		return name + ".gif"
	case "image/webp":
		return name + ".webp"
	case "application/pdf":
		return name + ".pdf"
	}
	return name + ".bin"
}

// DecodeMessage reads a line that EncodeMessage wrote. It is lenient with what
// other programs write: unknown members, null, content as a list of parts,
// arguments as an object, reasoning as text. [ErrNotMessage] means that the
// line is something else.
//
// blob gives the data of an attachment by its blob name, which is a plain file
// name; nil stands for a function that has none. An attachment whose data is
// missing is replaced by a note in the content.
func DecodeMessage(data []byte, blob func(name string) ([]byte, error)) (Message, error) {
	var l struct {
		Type        string            `json:"type"`
		Role        Role              `json:"role"`
		Content     looseText         `json:"content"`
		ToolCalls   []looseCall       `json:"tool_calls"`
		ToolCallID  looseText         `json:"tool_call_id"`
		ToolName    looseText         `json:"tool_name"`
		Failed      bool              `json:"failed"`
		Reasoning   looseReasoning    `json:"reasoning"`
		Attachments []json.RawMessage `json:"attachments"`
	}
	if err := json.Unmarshal(data, &l); err != nil {
		return Message{}, fmt.Errorf("session line: %w", err)
	}
	if l.Type != "msg" {
		return Message{}, fmt.Errorf("%w: type %q", ErrNotMessage, Clip(l.Type, 40))
	}
	m := Message{Role: l.Role, Content: string(l.Content), Reasoning: l.Reasoning}
	switch l.Role {
	case RoleAssistant:
		for _, c := range l.ToolCalls {
			m.ToolCalls = append(m.ToolCalls, ToolCall{ID: string(c.ID), Name: string(c.Name), Args: string(c.Args)})
		}
	case RoleTool:
		m.ToolCallID, m.ToolName, m.Failed = string(l.ToolCallID), string(l.ToolName), l.Failed
	case RoleUser:
	default:
		return Message{}, fmt.Errorf("%w: role %q", ErrNotMessage, Clip(string(l.Role), 40))
	}
	for _, raw := range l.Attachments {
		m = attach(m, raw, blob)
	}
	return m, nil
}

// attach adds a stored attachment to a message, or a note that it is gone.
func attach(m Message, raw json.RawMessage, blob func(string) ([]byte, error)) Message {
	var b blobLine
	if json.Unmarshal(raw, &b) != nil {
		b = blobLine{}
	}
	if plainName(b.Blob) && blob != nil {
		if data, err := blob(b.Blob); err == nil {
			m.Attachments = append(m.Attachments, Attachment{Name: b.Name, MediaType: b.MediaType, Data: data})
			return m
		}
	}
	if m.Content != "" {
		m.Content += "\n"
	}
	m.Content += "[the attachment " + Clip(b.Name, 200) + " is missing]"
	return m
}

// plainName refuses what would lead out of the folder of the blobs.
func plainName(s string) bool {
	return s != "" && len(s) < 200 && s[0] != '.' && !strings.ContainsAny(s, "/\\:\x00")
}

type looseCall struct {
	ID   looseText `json:"id"`
	Name looseText `json:"name"`
	Args looseText `json:"args"`
}

// looseText is a string, or a list of parts with a text each; a number or an
// object stands for its JSON, null for "".
type looseText string

func (t *looseText) UnmarshalJSON(b []byte) error {
	*t = ""
	switch {
	case string(b) == "null":
	case b[0] == '"':
		return json.Unmarshal(b, (*string)(t))
	case b[0] == '[':
		var parts []struct {
			Text string `json:"text"`
		}
		if json.Unmarshal(b, &parts) == nil {
			for _, p := range parts {
				*t += looseText(p.Text)
			}
			return nil
		}
		fallthrough
	default:
		*t = looseText(b)
	}
	return nil
}

// looseReasoning is a list of blocks, or text of an unknown origin.
type looseReasoning []Reasoning

func (r *looseReasoning) UnmarshalJSON(b []byte) error {
	*r = nil
	var text string
	if json.Unmarshal(b, &text) == nil {
		if text != "" {
			*r = looseReasoning{{Text: text}}
		}
		return nil
	}
	var blocks []json.RawMessage
	if json.Unmarshal(b, &blocks) != nil {
		return nil
	}
	for _, raw := range blocks {
		var l reasoningLine
		if json.Unmarshal(raw, &l) != nil {
			continue
		}
		if string(l.Raw) == "null" {
			l.Raw = nil
		}
		*r = append(*r, Reasoning(l))
	}
	return nil
}
