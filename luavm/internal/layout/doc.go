// Package layout reads and sets the few unexported fields of gopher-lua 1.1.2 that metering needs: the frame and
// registers of a running thread, the parts of a table, the open upvalues.
//
// Guarantees:
//   - Offsets come from reflection when the process starts; no number is written down. A field that is missing or of
//     another shape panics there and then, with its name, not later in a plugin.
//   - Nothing here allocates or calls into the interpreter, so all of it is safe between any two instructions.
//
// It is the only package that uses unsafe.
package layout
