package actors

import (
	"context"
	"log/slog"
)

// quiet is what protoactor logs to: its messages hold whole payloads, prompts
// and keys among them, and its dead letters are mostly stops of actors that had
// just ended. Only the sentence and the addresses pass, at debug level.
type quiet struct{ h slog.Handler }

func (q quiet) Enabled(ctx context.Context, l slog.Level) bool {
	return q.h.Enabled(ctx, min(l, slog.LevelDebug))
}

func (q quiet) Handle(ctx context.Context, r slog.Record) error {
	out := slog.NewRecord(r.Time, slog.LevelDebug, "actor system: "+r.Message, r.PC)
	r.Attrs(func(a slog.Attr) bool {
		switch a.Key {
		case "pid", "self", "sender", "id", "throttle":
			out.AddAttrs(slog.String(a.Key, a.Value.String()))
		}
		return true
	})
	return q.h.Handle(ctx, out)
}

func (q quiet) WithAttrs([]slog.Attr) slog.Handler { return q }
func (q quiet) WithGroup(string) slog.Handler      { return q }
