// Package files opens files for tools: it says where a path really leads,
// whether a plugin may go there, and reads and replaces files whole.
//
// Guarantees:
//
//   - [Resolve] follows links as the kernel does, to the end, also of links
//     that dangle.
//   - [Read], [Open] and [Write] take a resolved path and follow no link in it
//     (on Unix; elsewhere the path is resolved again and compared), so that
//     what was judged or shown to a person is what is opened, whatever changed
//     in between.
//   - [ReadOwn] is for paths of the person's own and follows links.
//   - A folder, FIFO, socket or device is an error at once; nothing waits for
//     the other end of a pipe.
//   - [Write] replaces a file in one step and keeps its permissions. A reader
//     sees the old bytes or the new ones. Hard links to the old file keep the
//     old bytes.
//   - No read takes more memory than the bound that the caller gives.
package files
