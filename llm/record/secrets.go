package record

import (
	"bytes"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"clm/llm"
	"clm/llm/internal/jsonscan"
	"clm/llm/internal/wire"
)

const redacted = "[redacted]"

// harmless are the headers whose values are kept, of requests and responses.
var harmless = [...]string{
	"Accept", "Accept-Encoding", "Content-Type", "User-Agent", "Anthropic-Version", "Anthropic-Beta",
	"Retry-After", "Retry-After-Ms", "Location", "Date",
}

// secrets knows what must not get into a file of one exchange.
type secrets struct{ scrub wire.Scrubber }

// secretsOf takes every header of a request for a secret that is not known to
// be harmless: which headers a connection adds is up to its configuration.
func secretsOf(req *http.Request) secrets {
	conn := llm.Connection{URL: req.URL.String(), Headers: map[string]llm.Secret{}}
	add := func(value string) {
		for _, form := range [...]string{value, string(jsonscan.Inner(jsonscan.AppendString(nil, value)))} {
			conn.Headers[strconv.Itoa(len(conn.Headers))] = llm.Secret(form)
		}
	}
	for name, values := range req.Header {
		if isHarmless(name) {
			continue
		}
		for _, v := range values {
			// A short value of a header that is no key ("true") would be found
			// everywhere.
			if sensitive(name) || len(v) >= 8 {
				add(v)
			}
		}
	}
	if _, password, ok := req.BasicAuth(); ok {
		add(password)
	}
	for name, values := range req.URL.Query() {
		for _, v := range values {
			if sensitive(name) || len(v) >= 16 {
				add(v)
			}
		}
	}
	return secrets{wire.NewScrubber(conn)}
}

func isHarmless(name string) bool {
	for _, h := range harmless {
		if strings.EqualFold(h, name) {
			return true
		}
	}
	return false
}

// sensitive tells by its name that a header or parameter holds a secret.
func sensitive(name string) bool {
	name = strings.ToLower(name)
	for _, word := range [...]string{"auth", "key", "token", "secret", "cookie", "password", "sig"} {
		if strings.Contains(name, word) {
			return true
		}
	}
	return false
}

func (s secrets) text(text string) string { return s.scrub.Text(text) }

// url is an URL without user and without the values of its query, but for
// those that say which form of the API is meant.
func (s secrets) url(u *url.URL) string {
	shown := *u
	shown.User = nil
	q := u.Query()
	for name, values := range q {
		if name == "api-version" || name == "limit" {
			continue
		}
		for i := range values {
			values[i] = redacted
		}
	}
	shown.RawQuery = strings.ReplaceAll(q.Encode(), url.QueryEscape(redacted), redacted)
	return s.text(shown.String())
}

// request is the headers of a request.
func (s secrets) request(h http.Header) map[string]string {
	kept := make(map[string]string, len(h))
	for name, values := range h {
		kept[name] = redacted
		if isHarmless(name) {
			kept[name] = s.text(strings.Join(values, ", "))
		}
	}
	return kept
}

// response is those of a response that say how to read it.
func (s secrets) response(h http.Header) map[string]string {
	kept := map[string]string{}
	for _, name := range harmless {
		if v := h.Values(name); len(v) > 0 {
			kept[name] = s.text(strings.Join(v, ", "))
		}
	}
	return kept
}

// pieces removes the secrets from a body. When one lies across two pieces they
// are joined.
func (s secrets) pieces(in []piece) []piece {
	var all bytes.Buffer
	var each strings.Builder
	out := make([]piece, 0, len(in))
	for _, p := range in {
		all.Write(p.data)
		text := s.text(string(p.data))
		each.WriteString(text)
		out = append(out, piece{p.ms, []byte(text)})
	}
	if whole := s.text(all.String()); whole != each.String() {
		return []piece{{in[len(in)-1].ms, []byte(whole)}}
	}
	return out
}
