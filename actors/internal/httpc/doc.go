// Package httpc carries out the HTTP requests of plugins.
//
// Guarantees:
//
//   - http and https only, at most 10 redirects, and none from https to http.
//     A redirect to another host carries none of the plugin's own headers and
//     no Referer: keys stand there.
//   - A header that could change the framing of the request, or hold a second
//     one, is refused before anything is sent.
//   - An answer's body is decoded from gzip and given whole, or the request
//     fails: it is never cut. No more than its bound is held.
//   - [Do] returns soon after its context ends, and leaves nothing behind but
//     idle connections of the transport.
//   - An error is one line of at most 400 bytes for a plugin's author, without
//     the query, the credentials and the wrappers around its cause. When the
//     context ended it is the context's.
//
// Addresses are not judged: a plugin may ask what the user's own programs may
// ask, the local network included. Whoever runs foreign plugins on a machine
// with services that trust it gives clm a transport that refuses them.
package httpc
