// Package mcp is the client of Model Context Protocol servers: it starts them,
// keeps them, and offers what they have as tools.
//
// Guarantees:
//
//   - [Start] returns at once. A server that is slow, or never answers, delays
//     nobody: its tools are there when it is ready.
//   - A server that ends is started again, a few times with growing pauses;
//     then it is given up, with a reason that has its last words. A call that
//     it was busy with fails and is not repeated. While it is being started
//     again its tools stay, so that what a model is told stays the same, and
//     calls wait for it within their deadline.
//   - A call ends with its context or its server's time limit. The server is
//     told; one that does not even read any more is ended.
//   - Whatever a server writes is bounded: a message by 16 MiB, its list of
//     tools by 100 pages and 1,000 tools, a result by 64 KiB of clean text and
//     8 MiB an image. What is not a message on its standard output is skipped.
//   - A server that is a process has its own process group, gets no key of
//     ours in its environment, and is gone with all that it started after
//     [Manager.Close] (see package proc, also for what escapes).
//   - An API key is sent to the server's own address only.
//
// Tools are named mcp__SERVER__TOOL, in at most 64 of the characters that
// every model server takes. A server says nothing about permission: each call
// of its tools is asked for.
package mcp
