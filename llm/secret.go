package llm

import (
	"fmt"
	"io"
	"log/slog"
)

// Secret is a value that must not be shown: a key, or a header that may hold
// one. Printing, logging or encoding it gives a fixed text; [Secret.Reveal] is
// the way to its value. Two things are out of its reach, as the standard
// library does not ask the type: the verb %p, which vet reports, and a Secret
// as the key of a map in JSON.
type Secret string

const redacted = "[redacted]"

// Reveal gives the value, for the place that sends it.
func (s Secret) Reveal() string { return string(s) }

// String gives a fixed text, or nothing for an empty secret, so that a reader
// can tell whether one is set.
func (s Secret) String() string {
	if s == "" {
		return ""
	}
	return redacted
}

// GoString serves %#v.
func (s Secret) GoString() string { return `llm.Secret("` + s.String() + `")` }

// Format serves every verb: without it, %x, %d or a wrong verb would print
// the value.
func (s Secret) Format(f fmt.State, verb rune) {
	text := s.String()
	if verb == 'v' && f.Flag('#') {
		text = s.GoString()
	}
	// The State is a writer that only fails when its target does, and then the
	// caller of Fprintf learns it.
	_, _ = io.WriteString(f, text)
}

// MarshalJSON gives the fixed text as a JSON string.
func (s Secret) MarshalJSON() ([]byte, error) { return []byte(`"` + s.String() + `"`), nil }

// MarshalText gives the fixed text to the encoders that use it.
func (s Secret) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// LogValue gives the fixed text to slog.
func (s Secret) LogValue() slog.Value { return slog.StringValue(s.String()) }
