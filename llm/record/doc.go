// Package record keeps the traffic with model servers in files, and serves it
// again without a server.
//
// A folder holds one file for each request, numbered in the order of their
// start: 0001.jsonl and so on. Its lines are JSON objects: the request; the
// status and headers of the response; each piece of the body with the
// milliseconds since the request; and how it ended. A piece that is no text is
// in base64. The files can be written and edited by hand, and serve as fixtures
// of tests.
//
//	{"v":1,"method":"POST","url":"http://host/v1/chat/completions","header":{…},"body":{…}}
//	{"status":200,"header":{"Content-Type":"text/event-stream"},"ms":80}
//	{"ms":82,"data":"data: {…}\n\n"}
//	{"ms":90,"end":true}
//
// No secret gets into a file: only headers that cannot hold one are written
// with their value, values of the query only where they are known to be
// harmless, and what was left out there is also removed from the bodies, even if
// the server echoes it in pieces. A compressed response is kept as what it
// stands for.
//
// A replay matches requests by method, path and model, and serves those that
// are alike in the order of the files. What the prompt says does not count. A
// request that was not recorded is an error that says what was expected.
package record
