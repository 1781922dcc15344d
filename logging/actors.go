package logging

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
)

// WithoutPayloads wraps a handler for an actor system's own logger. Such a
// logger shows the messages that could not be delivered, and those hold
// prompts, results and keys: the attribute "message" becomes the type of its
// value. Records about a stop message that came too late are dropped, as they
// mean nothing.
func WithoutPayloads(h slog.Handler) slog.Handler { return payloads{h} }

type payloads struct{ h slog.Handler }

// Enabled implements slog.Handler.
func (p payloads) Enabled(ctx context.Context, l slog.Level) bool { return p.h.Enabled(ctx, l) }

// Handle implements slog.Handler.
func (p payloads) Handle(ctx context.Context, r slog.Record) error {
	out := slog.NewRecord(r.Time, r.Level, r.Message, r.PC)
	late := false
	r.Attrs(func(a slog.Attr) bool {
		clean := withoutPayload(a)
		late = late || clean.Key != a.Key && clean.Value.String() == "*actor.Stop"
		out.AddAttrs(clean)
		return true
	})
	if late {
		return nil
	}
	return p.h.Handle(ctx, out)
}

// WithAttrs implements slog.Handler.
func (p payloads) WithAttrs(attrs []slog.Attr) slog.Handler {
	attrs = slices.Clone(attrs)
	for i := range attrs {
		attrs[i] = withoutPayload(attrs[i])
	}
	return payloads{p.h.WithAttrs(attrs)}
}

// WithGroup implements slog.Handler.
func (p payloads) WithGroup(name string) slog.Handler { return payloads{p.h.WithGroup(name)} }

func withoutPayload(a slog.Attr) slog.Attr {
	switch a.Key {
	case "message", "msg":
		return slog.String("message_type", fmt.Sprintf("%T", a.Value.Any()))
	case "reason": // a panic's value may be anything
		if _, ok := a.Value.Any().(error); !ok && a.Value.Kind() == slog.KindAny {
			return slog.String("reason_type", fmt.Sprintf("%T", a.Value.Any()))
		}
	}
	return a
}
