package main

import (
	"context"
	"strings"
	"time"

	"clm/luavm"
	"clm/luavm/internal/syntax/internal/reference"
)

// ours returns what a program prints on the sandbox, in the form of package
// reference.
func ours(source string) string {
	p, err := luavm.Compile(strings.TrimSuffix(reference.File, ".lua"), source)
	if err != nil {
		return "error: " + err.Error() + "\n"
	}
	var out strings.Builder
	v := luavm.New(p, luavm.Options{
		Memory:   64 << 20,
		LoadTime: 10 * time.Second,
		Log:      func(text string) { out.WriteString(text + "\n") },
	})
	defer v.Close()
	y := v.Load().Main().Step(context.Background(), luavm.Answer{})
	if !y.Done {
		return out.String() + "error: the program waits\n"
	}
	if y.Result.Failed {
		out.WriteString("error: " + y.Result.Text + "\n")
	}
	return out.String()
}
