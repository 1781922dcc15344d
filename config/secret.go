package config

import (
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// hidden is what a secret shows instead of itself.
const hidden = "[secret]"

// Secret is a text that must not be shown. Every way of formatting it that
// Go has gives "[secret]", or nothing when it is empty; [Secret.Reveal] is the
// only way to its value.
type Secret string

// Reveal returns the value.
func (s Secret) Reveal() string { return string(s) }

// String hides the value.
func (s Secret) String() string {
	if s == "" {
		return ""
	}
	return hidden
}

// GoString hides the value.
func (s Secret) GoString() string { return fmt.Sprintf("config.Secret(%q)", s.String()) }

// Format hides the value under every verb.
func (s Secret) Format(f fmt.State, verb rune) {
	if verb == 'v' && f.Flag('#') {
		_, _ = io.WriteString(f, s.GoString())
		return
	}
	_, _ = io.WriteString(f, s.String())
}

// MarshalJSON hides the value.
func (s Secret) MarshalJSON() ([]byte, error) { return json.Marshal(s.String()) }

// MarshalText hides the value.
func (s Secret) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// LogValue hides the value.
func (s Secret) LogValue() slog.Value { return slog.StringValue(s.String()) }

// minSecret is the length below which a text is not searched for: removing
// every "a" from a text hides nothing and destroys it. Headers are often no
// secrets at all, so that a header's value must be longer.
const (
	minSecret       = 4
	minHeaderSecret = 8
)

// hider removes secrets from texts.
type hider struct {
	texts []string
	clear *strings.Replacer // made when needed
}

func (h *hider) clone() *hider { return &hider{texts: slices.Clone(h.texts)} }

func (h *hider) add(s string, least int) {
	if len(s) >= least && s != hidden && !slices.Contains(h.texts, s) {
		h.texts, h.clear = append(h.texts, s), nil
	}
}

// addAll adds every text in v.
func (h *hider) addAll(v any) {
	switch v := v.(type) {
	case string:
		h.add(v, minSecret)
	case []any:
		for _, e := range v {
			h.addAll(e)
		}
	case map[string]any:
		for _, e := range v {
			h.addAll(e)
		}
	}
}

// addKeys adds what stands under keys that hold secrets, before anything is
// known to be valid.
func (h *hider) addKeys(v any) {
	switch v := v.(type) {
	case []any:
		for _, e := range v {
			h.addKeys(e)
		}
	case map[string]any:
		for k, e := range v {
			s, isText := e.(string)
			switch {
			case k == "api_key":
				h.addAll(e)
			case k == "url" && isText:
				h.addPassword(s)
			case k == "headers":
				h.addHeaders(e)
			default:
				h.addKeys(e)
			}
		}
	}
}

func (h *hider) addHeaders(v any) {
	m, _ := v.(map[string]any)
	for _, e := range m {
		if s, ok := e.(string); ok {
			h.add(s, minHeaderSecret)
		}
	}
}

// addPassword adds the password of a URL, as written and as meant.
func (h *hider) addPassword(s string) {
	u, err := url.Parse(s)
	if err != nil || u.User == nil {
		return
	}
	if p, ok := u.User.Password(); ok {
		h.add(p, minSecret)
		_, enc, _ := strings.Cut(u.User.String(), ":")
		h.add(enc, minSecret)
	}
}

// clean returns text without the secrets.
func (h *hider) clean(text string) string {
	if len(h.texts) == 0 {
		return text
	}
	if h.clear == nil {
		// A longer secret may hold a shorter one: it goes first.
		slices.SortStableFunc(h.texts, func(a, b string) int { return len(b) - len(a) })
		var pairs []string
		for _, t := range h.texts {
			pairs = append(pairs, t, hidden)
			if q := strings.Trim(strconv.Quote(t), `"`); q != t {
				pairs = append(pairs, q, hidden)
			}
		}
		h.clear = strings.NewReplacer(pairs...)
	}
	return h.clear.Replace(text)
}
