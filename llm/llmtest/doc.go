// Package llmtest is a model server for tests, demonstrations and load: one
// that plays scripts, and one that answers by itself.
//
// A [Model] plays scripts and records what it was asked. It is an
// [http.Handler]; [NewTransport] calls a handler without any connection,
// [ListenPipe] serves one over connections in memory, [ListenTCP] over sockets.
// The first two work inside a testing/synctest bubble, with its clock.
//
// [Demo] is a model that needs no script, no key and no network: it talks a
// little, calculates, and calls the tools that a prompt names.
//
// A script is the raw text of a response's body, but for lines that begin with
// an exclamation mark:
//
//	!status 429            status code (before any body)
//	!header Name: value    response header (before any body)
//	!sse                   event-stream content type (else: JSON when the
//	                       body's first byte is '{', else event-stream)
//	!gzip                  compress the body (before any body)
//	!sleep 200             wait, in milliseconds
//	!pace 20               wait that long before each later chunk of a directive
//	!split 3               send all that follows in pieces of 3 bytes
//	!flush                 send what there is so far as one piece
//	!close                 drop the connection here; "!close first" does so
//	                       before even the header
//	!hang                  keep the connection open until the client leaves;
//	                       "!hang first" does not even send the header
//	!nonl                  drop the newline that ended the line before
//	!repeat N text         N copies of text
//	!file PATH [N]         a file's raw bytes (below the model's Dir), N at a time
//	!ping                  a comment, as servers send to keep a stream alive
//
// And in the OpenAI dialect, as chunks of a stream, or as the one JSON answer
// when the request did not ask for a stream:
//
//	!text some words       a delta a word
//	!reasoning some words  the same for reasoning_content
//	!tool ID NAME ARGS     a tool call, its arguments in fragments; ID@INDEX
//	                       gives its index
//	!usage IN OUT          a usage chunk without choices
//	!error TEXT            an error object
//	!finish REASON         the finish reason, then [DONE]
//
// An unknown directive is sent as text that no client can take for an answer.
package llmtest
