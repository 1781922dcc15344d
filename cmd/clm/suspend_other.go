//go:build !unix

package main

import "os"

func moreSignals() []os.Signal { return nil }

// suspend does nothing: there is no job control.
func (r *repl) suspend(string) {}
