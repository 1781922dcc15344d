// Package store keeps conversations in session files, one JSON Lines file
// each: ID.jsonl, with the data of attachments in the folder ID.blobs, and
// after a compaction the log before it in ID.jsonl.bak.
//
//	{"type":"meta","v":1,"id":"20260706-101500-0a1b2c3d","created":"2026-07-06T10:15:00Z"}
//	{"type":"msg","role":"user","content":"hi"}
//
// Messages are encoded by package llm.
//
// Guarantees:
//
//   - What was appended before a [Session.Sync] that returned without an error
//     is there after a crash of the program, and as far as the disk keeps its
//     promises, of the machine. A crash tears at most the last line; opening
//     the file for appending mends that first.
//   - A session has one writer: a second one gets [ErrLocked].
//   - Readers take what they understand: lines that do not parse and types
//     that they do not know are skipped and the later ones kept. Files of a
//     later version are refused with [ErrVersion], and left as they are.
//   - A call without a result gets one on load that says it was interrupted,
//     so that the history is valid; nothing is run again. Opening the file
//     for appending writes that down.
//   - [Session.Rewrite] leaves the old file or the new one, whenever it ends.
//   - The folder has mode 0700 and the files 0600. Files are made with the
//     first message, so that no empty ones are left behind.
//   - No line beyond 64 MiB is held in memory.
//
// The lock is flock(2): on file systems without it, and between machines, two
// writers are not noticed.
package store
