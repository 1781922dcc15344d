package files_test

import (
	"fmt"
	"os"

	"clm/actors/internal/files"
)

func ExamplePolicy() {
	dir, _ := os.MkdirTemp("", "")
	defer os.RemoveAll(dir)
	p, _ := files.NewPolicy(files.Roots{Dir: dir})
	for _, path := range []string{"notes/today", "/proc/self/environ", "/etc/hosts"} {
		real, class, _ := p.Check(path, files.OpWrite)
		fmt.Println(path, class)
		if class == files.Free {
			fmt.Println(files.Write(real, "milk"))
		}
	}
	// Output:
	// notes/today free
	// <nil>
	// /proc/self/environ never
	// /etc/hosts ask
}
