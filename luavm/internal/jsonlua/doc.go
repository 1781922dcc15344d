// Package jsonlua converts between JSON text and Lua values inside a metered VM.
//
// Guarantees:
//   - Encode(Decode(text)) keeps integers of 64 bits, null, empty arrays, the order of an object's keys and every byte
//     of its strings.
//   - Memory is charged before it is allocated and CPU is burned with the size of the work, so that a limit of the VM
//     ends either function in time.
//   - Nesting is limited to MaxDepth in both directions. Bad input of Decode is a returned error; what Encode cannot
//     write is a returned error that names the path of the value. Neither panics but by the meter's own aborts.
package jsonlua

// MaxDepth is how deep arrays and objects may nest.
const MaxDepth = 200

// MaxInput is the longest text that Decode takes, in bytes.
const MaxInput = 2 << 20
