package wire

import (
	"bytes"
	"encoding/json"
	"html"
	"strconv"
	"strings"
)

// Fault is what a server says went wrong, in whatever shape it says so.
type Fault struct {
	Message string // as it came: neither scrubbed nor bounded
	Type    string // "insufficient_quota", "overloaded_error"
	Code    string // "context_length_exceeded", "502"
}

// ParseFault understands {"error":"text"}, {"error":{"message":…}},
// {"detail":…} (also as FastAPI's list), {"message":…}, {"errors":[…]}, a list
// with such an object, a JSON string, HTML, and plain text. ok is false when
// body is a JSON value that tells of no error: null, an empty object, or one
// with none of these members.
func ParseFault(body []byte) (f Fault, ok bool) {
	body = bytes.TrimSpace(body)
	if json.Valid(body) {
		return faultOf(body, 0)
	}
	text := string(body)
	if bytes.HasPrefix(body, []byte("<")) {
		text = htmlText(text)
	}
	return Fault{Message: text}, strings.TrimSpace(text) != ""
}

// faultMembers are looked at in this order.
var faultMembers = [...]string{"error", "message", "detail", "error_description", "msg", "errors", "title"}

func faultOf(raw json.RawMessage, depth int) (Fault, bool) {
	if depth > 4 || len(raw) == 0 {
		return Fault{}, false
	}
	switch raw[0] {
	case '"':
		var s string
		if json.Unmarshal(raw, &s) != nil || strings.TrimSpace(s) == "" {
			return Fault{}, false
		}
		return Fault{Message: s}, true
	case '[':
		return faultOfList(raw, depth)
	case '{':
		return faultOfObject(raw, depth)
	}
	return Fault{}, false
}

func faultOfList(raw json.RawMessage, depth int) (Fault, bool) {
	var list []json.RawMessage
	if json.Unmarshal(raw, &list) != nil {
		return Fault{}, false
	}
	var all Fault
	found := false
	for _, item := range list[:min(len(list), 5)] {
		f, ok := faultOf(item, depth+1)
		if !ok {
			continue
		}
		if found {
			all.Message += "; " + f.Message
			continue
		}
		all, found = f, true
	}
	return all, found
}

func faultOfObject(raw json.RawMessage, depth int) (Fault, bool) {
	var obj map[string]json.RawMessage
	if json.Unmarshal(raw, &obj) != nil {
		return Fault{}, false
	}
	own := Fault{Type: text(obj["type"]), Code: text(obj["code"])}
	if own.Code == "" {
		own.Code = text(obj["status"])
	}
	for _, name := range faultMembers {
		f, ok := faultOf(obj[name], depth+1)
		if !ok {
			continue
		}
		if f.Type == "" {
			f.Type = own.Type
		}
		if f.Code == "" {
			f.Code = own.Code
		}
		if loc := location(obj["loc"]); loc != "" {
			f.Message = loc + ": " + f.Message
		}
		if up := upstream(obj["metadata"]); up != "" && !strings.Contains(f.Message, up) {
			f.Message += ": " + up
		}
		return f, true
	}
	// An error object with a code alone, below "error", is still an error.
	if depth > 0 && (own.Code != "" || own.Type != "") {
		own.Message = strings.TrimSpace(own.Type + " " + own.Code)
		return own, true
	}
	return Fault{}, false
}

// upstream finds what a gateway passes on from behind it:
// {"metadata":{"raw":"…"}}.
func upstream(raw json.RawMessage) string {
	var m struct {
		Raw json.RawMessage `json:"raw"`
	}
	if len(raw) == 0 || json.Unmarshal(raw, &m) != nil {
		return ""
	}
	s := text(m.Raw)
	if f, ok := ParseFault([]byte(s)); ok {
		return f.Message
	}
	return ""
}

// location renders FastAPI's ["body","messages",0].
func location(raw json.RawMessage) string {
	var parts []json.RawMessage
	if json.Unmarshal(raw, &parts) != nil {
		return ""
	}
	var words []string
	for _, p := range parts {
		words = append(words, text(p))
	}
	return strings.Join(words, ".")
}

// text is a JSON string or number as text, and "" for anything else.
func text(raw json.RawMessage) string {
	var s String
	if len(raw) == 0 || s.UnmarshalJSON(raw) != nil {
		return ""
	}
	return string(s)
}

// htmlText is a page's title, else its text.
func htmlText(page string) string {
	lower := strings.ToLower(page)
	if len(lower) == len(page) { // else the indexes do not fit
		if _, after, ok := strings.Cut(lower, "<title>"); ok {
			title := page[len(page)-len(after):]
			if end := strings.Index(strings.ToLower(title), "</title>"); end >= 0 && strings.TrimSpace(title[:end]) != "" {
				return html.UnescapeString(title[:end])
			}
		}
	}
	var b strings.Builder
	for page != "" {
		text, rest, _ := strings.Cut(page, "<")
		b.WriteString(text)
		b.WriteByte(' ')
		_, page, _ = strings.Cut(rest, ">")
	}
	return html.UnescapeString(b.String())
}

// status reads an HTTP status out of a fault's code: errors inside a 200
// carry one there. 0 when there is none.
func (f Fault) status() int {
	if n, err := strconv.Atoi(f.Code); err == nil && n >= 400 && n < 600 {
		return n
	}
	return 0
}
