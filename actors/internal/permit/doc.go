// Package permit decides whether a tool call may run: pure rules, no questions
// of its own.
//
// Rules come in two lists, allow and deny, of patterns (package glob):
//
//	mcp__github__*        tools by name
//	shell_exec:git log *  commands, of shell_exec and bg_exec alike
//	file:~/notes/**       paths, of the file tools and of plugins' files
//
// Guarantees:
//
//   - A deny rule wins over everything, and each reading of it is the strict
//     one: a command is denied when any part of it matches, also behind sudo,
//     an assignment, a pipe or a path; * in a denied path crosses folders.
//   - An allow rule by command matches simple commands only: no ; & | ` $( ${ < >
//     and no control character, wherever they stand, no standard input, and no
//     assignment or sudo-like word in front unless the rule begins with it.
//   - An answer "always" or "never" holds for exactly what was asked: the same
//     command and input, the same path, or the same tool.
//   - An allow rule by path matches the path that links resolve to, never the
//     one that was written.
//
// Deny rules by command are a net, not a wall: a shell can spell a command in
// ways that no pattern sees. What must not run is for the sandbox that clm
// runs in.
package permit
