package wire

import (
	"encoding/base64"
	"net/url"
	"slices"
	"strings"

	"clm/llm"
)

// shortestSecret is the length below which a word is not taken for a secret:
// replacing it would only garble the text.
const shortestSecret = 4

// Scrubber removes a connection's secrets from foreign text.
type Scrubber struct{ r *strings.Replacer }

// NewScrubber knows the key, the words of the secret headers, and the
// credentials and query values of the URL, also in their escaped forms.
func NewScrubber(conn llm.Connection) Scrubber {
	var secrets []string
	add := func(s string) {
		if len(s) < shortestSecret {
			return
		}
		secrets = append(secrets, s, url.QueryEscape(s), url.PathEscape(s))
	}
	key := strings.TrimSpace(conn.Key.Reveal())
	add(key)
	for _, h := range conn.Headers {
		add(h.Reveal())
		for _, word := range strings.Fields(h.Reveal()) {
			if !slices.Contains([]string{"basic", "bearer", "token"}, strings.ToLower(word)) {
				add(word)
			}
		}
	}
	if u, err := baseURL(conn.URL); err == nil {
		if pw, ok := u.User.Password(); ok {
			add(pw)
			add(base64.StdEncoding.EncodeToString([]byte(u.User.Username() + ":" + pw)))
		}
		for _, values := range u.Query() {
			for _, v := range values {
				if len(v) >= 2*shortestSecret && !strings.HasPrefix(v, "20") { // not api-version=2024-10-21
					add(v)
				}
			}
		}
	}
	slices.SortFunc(secrets, func(a, b string) int { return len(b) - len(a) })
	var pairs []string
	for _, s := range slices.Compact(secrets) {
		pairs = append(pairs, s, "[redacted]")
	}
	return Scrubber{strings.NewReplacer(pairs...)}
}

// Text is s without the secrets.
func (s Scrubber) Text(text string) string {
	if s.r == nil {
		return text
	}
	return s.r.Replace(text)
}
