package logging

import (
	"fmt"
	"io"
	"log/slog"
	"os"
	"strings"

	"github.com/rs/zerolog"
)

// Options say what is logged.
type Options struct {
	Path  string // the file; empty is off
	Level string // trace, debug (default), info, warn or error
}

// Log is an open debug log. The zero value is off.
type Log struct {
	logger *slog.Logger
	file   *os.File
	clean  *cleaner
}

// Open opens the log for appending; the file is made with mode 0600.
func Open(o Options) (*Log, error) {
	if o.Path == "" {
		return &Log{}, nil
	}
	level, err := parseLevel(o.Level)
	if err != nil {
		return nil, err
	}
	f, err := os.OpenFile(o.Path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, fmt.Errorf("debug log: %w", err)
	}
	json := strings.HasSuffix(o.Path, ".json") || strings.HasSuffix(o.Path, ".jsonl")
	l := New(f, json, level)
	l.file = f
	return l, nil
}

// New logs to w, as JSON Lines or for people.
func New(w io.Writer, json bool, level slog.Level) *Log {
	c := &cleaner{w: w}
	var out io.Writer = c
	if !json {
		out = zerolog.ConsoleWriter{Out: c, NoColor: true, TimeFormat: "15:04:05.000"}
	}
	z := zerolog.New(out).Level(zerologLevel(level)).With().Timestamp().Logger()
	return &Log{logger: slog.New(zerolog.NewSlogHandler(z)), clean: c}
}

// Logger returns the logger; it is never nil.
func (l *Log) Logger() *slog.Logger {
	if l.logger == nil {
		return slog.New(slog.DiscardHandler)
	}
	return l.logger
}

// Hide makes the log replace these texts in every line from now on. Texts of
// less than 4 bytes are ignored. It may be called at any time.
func (l *Log) Hide(secrets ...string) {
	if l.clean != nil {
		l.clean.hide(secrets)
	}
}

// Close closes the file.
func (l *Log) Close() error {
	if l.file == nil {
		return nil
	}
	return l.file.Close()
}

// LevelTrace is below slog's debug: single messages between actors.
const LevelTrace = slog.LevelDebug - 4

func parseLevel(s string) (slog.Level, error) {
	switch strings.ToLower(s) {
	case "trace":
		return LevelTrace, nil
	case "", "debug":
		return slog.LevelDebug, nil
	case "info":
		return slog.LevelInfo, nil
	case "warn":
		return slog.LevelWarn, nil
	case "error":
		return slog.LevelError, nil
	}
	return 0, fmt.Errorf("debug log: CLM_DEBUG_LEVEL: %q is not one of trace, debug, info, warn, error", s)
}

func zerologLevel(l slog.Level) zerolog.Level {
	switch {
	case l < slog.LevelDebug:
		return zerolog.TraceLevel
	case l < slog.LevelInfo:
		return zerolog.DebugLevel
	case l < slog.LevelWarn:
		return zerolog.InfoLevel
	case l < slog.LevelError:
		return zerolog.WarnLevel
	}
	return zerolog.ErrorLevel
}
