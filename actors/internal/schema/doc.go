// Package schema checks the arguments of tool calls against the tools' JSON
// Schemas, and makes foreign schemas fit to be sent to a model.
//
// Guarantees:
//
//   - A schema reaches nothing outside itself: a $ref to a file or an address
//     is not followed, whoever wrote it.
//   - A schema that cannot be used (a pattern of another dialect, a foreign
//     $ref) is an error of [Compile], and one that would take too long to check
//     checks nothing: neither is a reason to lose the tool.
//   - Checking takes bounded time, also for schemas that branch without end
//     and for numbers like 1e999999999.
//   - The text of an error names every fault by its place, in at most 2 KiB,
//     for the model to mend.
//   - Integers of any size keep their value.
//   - A compiled schema is shared by any number of agents.
package schema
