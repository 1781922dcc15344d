//go:build !unix

package main

// suspend does nothing: there is no job control.
func (r *repl) suspend(string) {}
