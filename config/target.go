package config

import (
	"fmt"
	"net/url"
	"slices"
	"strings"
)

// DefaultURL is the endpoint when nothing names one: a llama.cpp server on
// this machine.
const DefaultURL = "http://127.0.0.1:8081/v1"

func defaultURL(kind string) string {
	switch kind {
	case "ollama":
		return "http://127.0.0.1:11434/v1"
	case "anthropic":
		return "https://api.anthropic.com/v1"
	case "demo":
		return ""
	}
	return DefaultURL
}

// Choice is what the flags -u and --provider say.
type Choice struct {
	URL      string
	Provider string
}

// Target is the connection and the model that a run talks to.
type Target struct {
	Provider         string // its name; empty for one that only a URL names
	Kind             string
	URL              string // base endpoint without a trailing slash; empty for demo
	APIKey           Secret
	Headers          map[string]Secret
	RateTokensPerSec float64
	RateBurst        int
	Model            string // id as the server knows it; empty leaves the choice to the server
	ContextSize      int    // tokens; 0: ask the server
	AutocompactPct   int
	MaxOutputTokens  int // 0: the dialect's default
	Price            Price
	Fallback         []Target // to go on with in order when no answer comes; theirs are not followed
}

// Name is the target as a SPEC: provider/model-id.
func (t Target) Name() string {
	if t.Provider == "" {
		return t.Model
	}
	return t.Provider + "/" + t.Model
}

// spec is a model as one layer names it.
type spec struct {
	text  string // may be empty for the flags' layer
	from  layer
	flags bool // the flags' layer, where -u and --provider take effect too
}

// Target resolves the configured model under the flags' choice.
func (c *Config) Target(ch Choice) (Target, error) { return c.target(c.chain, ch) }

// Switch resolves a SPEC that a person gives while the program runs, /model:
// on the connection of cur if it is a bare id.
func (c *Config) Switch(cur Target, text string) (Target, error) {
	at := cursor{provider: cur.Provider, url: cur.URL, id: cur.Model}
	if cur.Provider != "" {
		at.url = ""
	}
	at.step(c, text)
	return c.finish(at)
}

// SwitchProvider changes the connection and keeps the model, /provider.
func (c *Config) SwitchProvider(cur Target, name string) (Target, error) {
	return c.finish(cursor{provider: name, id: cur.Model})
}

// cursor is the state of a resolution while the layers are gone through.
type cursor struct {
	provider string // name of the connection; empty: url, or the default one
	url      string
	id       string
	bad      string // a SPEC whose provider is not known, until another layer names one that is
	from     Origin
}

// step takes one layer's SPEC: provider/model-id, or an id on what is active.
func (at *cursor) step(c *Config, text string) {
	provider, id, ok := strings.Cut(text, "/")
	switch {
	case !ok:
		at.id = text
	case c.knows(provider):
		*at = cursor{provider: provider, id: id}
	default:
		at.id, at.bad = text, text
	}
}

// layer is step for a layer of the configuration: an error names the layer that
// it is in.
func (at *cursor) layer(c *Config, s spec) {
	before := at.bad
	at.step(c, s.text)
	if at.bad != before {
		at.from = s.from.origin([]string{"model"})
	}
}

func (c *Config) target(chain []spec, ch Choice) (Target, error) {
	at := cursor{provider: c.only()}
	for _, s := range chain {
		if !s.flags {
			at.layer(c, s)
			continue
		}
		if ch.URL == "" && ch.Provider == "" {
			if s.text != "" {
				at.layer(c, s)
			}
			continue
		}
		// The flags name the connection: a provider part of a lower layer is
		// dropped already, and an id with slashes is not a SPEC.
		at.provider, at.url, at.bad = ch.Provider, ch.URL, ""
		if s.text != "" {
			at.id = s.text
			if rest, ok := strings.CutPrefix(s.text, ch.Provider+"/"); ok && ch.Provider != "" && ch.URL == "" {
				at.id = rest
			}
		}
	}
	return c.finish(at)
}

// only is the active connection before anything names one.
func (c *Config) only() string {
	if len(c.Providers) == 1 {
		return sortedKeys(c.Providers)[0]
	}
	return ""
}

func (c *Config) knows(provider string) bool {
	_, ok := c.Providers[provider]
	return ok || provider == "demo"
}

// ProviderNames lists the connections that a SPEC may name.
func (c *Config) ProviderNames() []string {
	names := sortedKeys(c.Providers)
	if !slices.Contains(names, "demo") {
		names = append(names, "demo")
	}
	return names
}

// ModelNames lists the configured models as SPECs. Of a connection with none
// it has the beginning that all its SPECs share, "provider/".
func (c *Config) ModelNames() []string {
	var out []string
	for _, p := range c.ProviderNames() {
		ids := sortedKeys(c.Providers[p].Models)
		if len(ids) == 0 && p == "demo" {
			ids = []string{"demo"}
		}
		for _, id := range ids {
			out = append(out, p+"/"+id)
		}
		if len(ids) == 0 {
			out = append(out, p+"/")
		}
	}
	return out
}

func (c *Config) finish(at cursor) (Target, error) {
	if at.bad != "" {
		name, _, _ := strings.Cut(at.bad, "/")
		return Target{}, c.noProvider(name, at)
	}
	if at.provider != "" && !c.knows(at.provider) {
		return Target{}, c.noProvider(at.provider, at)
	}
	t := c.connection(at.provider)
	t.Model = at.id
	if at.url != "" {
		if problem := checkURL(at.url); problem != "" {
			return Target{}, &Error{Key: "-u", Text: shownURL(at.url) + " " + problem}
		}
		t.URL = cleanURL(at.url)
	}
	if c.APIKey != "" {
		t.APIKey = c.APIKey
	}
	t, err := c.model(t)
	if err == nil && at.url == "" {
		t.Fallback = c.fallback(t)
	}
	return t, err
}

// connection is a target on a provider, without a model.
func (c *Config) connection(provider string) Target {
	t := Target{Provider: provider, Kind: "openai", URL: DefaultURL, ContextSize: c.ContextSize, AutocompactPct: c.AutocompactPct}
	if p, ok := c.Providers[provider]; ok {
		t.Kind, t.URL, t.APIKey, t.Headers = p.Kind, p.URL, p.APIKey, p.Headers
		t.RateTokensPerSec, t.RateBurst = p.RateTokensPerSec, p.RateBurst
	} else if provider == "demo" {
		t.Kind, t.URL = "demo", ""
	}
	return t
}

// fallback is what goes on in the place of t, with the keys of its own. One
// that names no model has the only one of its connection, else that of t.
func (c *Config) fallback(t Target) (out []Target) {
	for _, s := range c.Providers[t.Provider].Fallback {
		provider, id, _ := strings.Cut(s, "/")
		f := c.connection(provider)
		if f.Model = id; id == "" {
			f.Model = t.Model
			if p := c.Providers[provider]; len(p.Models) == 1 {
				f.Model = sortedKeys(p.Models)[0]
			}
		}
		f, err := c.model(f)
		if err == nil { // only a connection of several models has one, and then t has one too
			out = append(out, f)
		}
	}
	return out
}

// model fills in what is known of the model.
func (c *Config) model(t Target) (Target, error) {
	p, named := c.Providers[t.Provider]
	if t.Model == "" && named && len(p.Models) == 1 {
		t.Model = sortedKeys(p.Models)[0]
	}
	if t.Model == "" && t.Kind == "demo" {
		t.Model = "demo"
	}
	if t.Model == "" && named && len(p.Models) > 1 {
		return Target{}, &Error{Key: "model", Text: fmt.Sprintf("none is chosen for %s: say -m %s/ID, one of %s", t.Provider, t.Provider, strings.Join(sortedKeys(p.Models), ", "))}
	}
	m := p.Models[t.Model]
	if m.ContextSize > 0 {
		t.ContextSize = m.ContextSize
	}
	if m.AutocompactPct > 0 {
		t.AutocompactPct = m.AutocompactPct
	}
	t.MaxOutputTokens, t.Price = m.MaxOutputTokens, m.Price
	return t, nil
}

func (c *Config) noProvider(name string, at cursor) error {
	text := c.unknownProvider(name)
	if at.bad == "" {
		return &Error{Key: "--provider", Text: text}
	}
	if at.provider != "" {
		text += fmt.Sprintf(" (the model %q of %s is %s/%s)", at.bad, at.provider, at.provider, at.bad)
	}
	key := "model"
	if at.from.File == "flag" {
		key = "" // --model names it
	}
	return &Error{File: at.from.place(), Line: at.from.Line, Key: key, Text: text}
}

func (c *Config) unknownProvider(name string) string {
	text := fmt.Sprintf("there is no provider %q", name)
	if n := nearest(name, c.ProviderNames()); n != "" {
		text += fmt.Sprintf("; the nearest is %q", n)
	}
	return text + "; there are " + strings.Join(c.ProviderNames(), ", ")
}

// shownURL is a URL without its password.
func shownURL(s string) string {
	u, err := url.Parse(s)
	if err != nil {
		return "the URL"
	}
	return fmt.Sprintf("%q", u.Redacted())
}
