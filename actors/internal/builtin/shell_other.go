//go:build !unix

package builtin

func shell() (path, flag string) { return "cmd.exe", "/c" }
