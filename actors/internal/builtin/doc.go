// Package builtin has the tools that every agent has: read_file and list_dir,
// which need no permission, and write_file, shell_exec and bg_exec, which do.
//
// Guarantees:
//
//   - A result is at most 64 KiB of clean text: valid UTF-8, no control
//     characters but tab and newline, cut between characters with head and
//     tail kept. What was cut is in a file that the result names. Configured
//     secrets are blotted out.
//   - No file or output is held in memory beyond that bound.
//   - A command is ended with all that it started (package proc) before its
//     call returns, whether it exited, ran out of time or was cancelled. It
//     returns when the command exits even if somebody still holds its output.
//   - A background job lives until it ends, or until [Set.Close]. Its result
//     goes to [Options.Notify] once; not after Close.
//   - A file is opened at the path that the question showed: see
//     [clm/actors/internal/files]. If it leads elsewhere by then, the call
//     fails and says where to.
//   - /proc, /sys, /dev and what [Options.Private] names are not opened: keys
//     stand in some of them, and these tools ask nobody.
package builtin
