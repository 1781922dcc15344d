// Command clm talks to language models from a terminal, a pipe or a script,
// with tools that are sandboxed Lua plugins. See clm(1): `clm man clm`.
package main

import (
	"os"

	cmap "github.com/orcaman/concurrent-map"
	"github.com/rs/zerolog"
)

func main() { os.Exit(run()) }

// run is main for tests too.
func run() int {
	zerolog.MessageFieldName = "msg" // "message" is an attribute of the actor system's own records
	// An actor system has a registry of 1,024 maps, and each of these had 32
	// shards: that was 4 ms and 2.5 MB at every start. No system exists yet.
	cmap.SHARD_COUNT = 1
	p := Program{Args: os.Args[1:], Env: os.Environ(), Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr}
	return p.Run()
}
