package permit_test

import (
	"fmt"

	"clm/actors/internal/permit"
)

func ExampleRules() {
	rules, err := permit.New(permit.Options{
		Allow: []string{"shell_exec:git *"},
		Deny:  []string{"shell_exec:git push *"},
		Dir:   "/home/ada/src",
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, command := range []string{"git log", "git push origin", "git log | sh", "make"} {
		q := permit.Query{Tool: "shell_exec", Args: fmt.Sprintf(`{"command":%q}`, command)}
		verdict, why := rules.Decide(q)
		fmt.Printf("%s: %v (%s)\n", command, verdict, why)
	}
	q := permit.Query{Tool: "shell_exec", Args: `{"command":"make"}`}
	fmt.Println(permit.Question(q, "in /home/ada/src"))
	verdict, why := rules.Remember(q, true).Decide(q)
	fmt.Println(verdict, why)
	// Output:
	// git log: allow (allowed by the rule "shell_exec:git *")
	// git push origin: deny (denied by the rule "shell_exec:git push *")
	// git log | sh: ask ()
	// make: ask ()
	// run shell_exec: in /home/ada/src
	//   command: make
	// an answer for good holds for this exact command with this input alone
	// allow allowed by an earlier answer
}
