// Package logging sets up clm's debug log: zerolog behind *slog.Logger.
//
// Without a file the logger is off: its handler says so before a record is
// made, at the cost of one call. With one, lines are appended, one write a
// record, for people or, when the file's name ends in .json or .jsonl, as JSON
// Lines.
//
// Guarantees:
//
//   - Secrets do not get into the file: types that redact themselves do so,
//     and every secret value that [Log.Hide] was told of is replaced in the
//     finished line, whatever wrote it, also in JSON's and URLs' spellings.
//   - A record is one line without control characters, so that text from a
//     model or a tool can neither forge a record nor reach a terminal.
//   - A line is at most 64 KiB; a longer one is cut and says so.
//   - What goes wrong with writing never reaches the caller.
//
// zerolog's global settings belong to the program: cmd/clm sets
// zerolog.MessageFieldName to "msg".
package logging
