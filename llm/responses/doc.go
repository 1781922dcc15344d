// Package responses is OpenAI's Responses dialect, used without any state on
// the server: each request holds the whole conversation as items and asks that
// nothing be stored.
//
// Reasoning comes encrypted and goes back with the calls that it led to, to the
// model that made it. Items of an unknown type are kept and sent back as they
// came.
//
// An answer is complete when the server says so: completed, or incomplete with
// its reason. Failed is an error, and so is a stream that ends before.
package responses
