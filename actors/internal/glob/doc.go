// Package glob matches the shell-style patterns of permission rules, file
// policies and volatile tools.
//
// A pattern may hold * (any run), ? (one character), [a-z] and [!a-z]
// (classes) and \x (x itself). Matching takes time proportional to the text
// times the pattern, whatever they hold, and allocates nothing that grows with
// the text.
package glob
