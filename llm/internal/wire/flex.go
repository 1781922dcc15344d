package wire

import (
	"bytes"
	"encoding/json"
	"math"
	"strconv"
)

// String is JSON text that some servers send as a number. null and anything
// else are "".
type String string

// UnmarshalJSON never fails: a member of an odd type is as good as absent.
func (s *String) UnmarshalJSON(b []byte) error {
	*s = ""
	switch {
	case len(b) == 0:
	case b[0] == '"':
		var v string
		if err := json.Unmarshal(b, &v); err != nil {
			return err
		}
		*s = String(v)
	case b[0] == '-' || b[0] >= '0' && b[0] <= '9':
		*s = String(b)
	}
	return nil
}

// Int is a whole number that some servers send as 1.0 or "1". null and
// anything else are 0; Set tells them apart.
type Int struct {
	N   int64
	Set bool
}

// UnmarshalJSON never fails, like [String.UnmarshalJSON].
func (n *Int) UnmarshalJSON(b []byte) error {
	*n = Int{}
	b = bytes.Trim(b, `"`)
	if v, err := strconv.ParseInt(string(b), 10, 64); err == nil {
		*n = Int{v, true}
	} else if f, err := strconv.ParseFloat(string(b), 64); err == nil && math.Abs(f) < 1<<62 {
		*n = Int{int64(f), true}
	}
	return nil
}

// Text is content as servers write it: a string, a list of parts with a text
// or refusal each, or null.
type Text string

// UnmarshalJSON joins the parts.
func (t *Text) UnmarshalJSON(b []byte) error {
	*t = ""
	if len(b) == 0 {
		return nil
	}
	switch b[0] {
	case '"':
		var v string
		if err := json.Unmarshal(b, &v); err != nil {
			return err
		}
		*t = Text(v)
	case '{':
		var p part
		if err := json.Unmarshal(b, &p); err != nil {
			return err
		}
		*t = p.text()
	case '[':
		var parts []json.RawMessage
		if err := json.Unmarshal(b, &parts); err != nil {
			return err
		}
		for _, raw := range parts {
			var p Text
			if err := p.UnmarshalJSON(raw); err != nil {
				return err
			}
			*t += p
		}
	}
	return nil
}

type part struct {
	Text    json.RawMessage `json:"text"`
	Refusal json.RawMessage `json:"refusal"`
}

func (p part) text() Text {
	return Text(text(p.Text) + text(p.Refusal))
}
