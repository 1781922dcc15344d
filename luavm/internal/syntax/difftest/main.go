// Command difftest compares what random programs print on the sandbox with what
// Lua 5.4 says, and cuts those that differ down to a few lines.
//
//	difftest -from 1 -n 100000
//	difftest -dump -from 42
//	difftest FILE…
package main

import (
	"flag"
	"fmt"
	"io"
	"os"

	"clm/luavm/internal/syntax/difftest/internal/gen"
	"clm/luavm/internal/syntax/internal/reference"
)

func main() { os.Exit(run(os.Args[1:], os.Stdout, os.Stderr)) }

// run is the program; it returns the exit status: 1 for a difference.
func run(args []string, out, errOut io.Writer) int {
	flags := flag.NewFlagSet("difftest", flag.ContinueOnError)
	flags.SetOutput(errOut)
	lua := flags.String("lua", reference.Find(), "the `path` of Lua 5.4")
	from := flags.Uint64("from", 1, "first `seed`")
	n := flags.Int("n", 2000, "`number` of programs")
	show := flags.Int("show", 5, "`number` of differing programs to cut down and print")
	dump := flags.Bool("dump", false, "print the program of the first seed")
	if err := flags.Parse(args); err != nil {
		return 2
	}
	if *dump {
		fmt.Fprint(out, gen.Program(*from))
		return 0
	}
	if *lua == "" {
		fmt.Fprintln(errOut, "difftest: no lua5.4 found; name one by -lua")
		return 2
	}
	c := comparison{lua: *lua, out: out, show: *show}
	var err error
	if flags.NArg() > 0 {
		err = c.files(flags.Args())
	} else {
		err = c.seeds(*from, *n)
	}
	if err != nil {
		fmt.Fprintln(errOut, "difftest:", err)
		return 2
	}
	if c.different > 0 {
		return 1
	}
	return 0
}
