// Command clm talks to language models from a terminal, a pipe or a script,
// with tools that are sandboxed Lua plugins. See clm(1): `clm man clm`.
package main

import (
	"os"

	"github.com/rs/zerolog"
)

func main() { os.Exit(run()) }

// run is main for tests too.
func run() int {
	zerolog.MessageFieldName = "msg" // "message" is an attribute of the actor system's own records
	p := Program{Args: os.Args[1:], Env: os.Environ(), Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr}
	return p.Run()
}
