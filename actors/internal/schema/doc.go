// Package schema checks the arguments of tool calls against the tools' JSON
// Schemas, and makes foreign schemas fit to be sent to a model.
//
// It reads draft 2020-12 and the older forms of its keywords, and applies them
// itself: tools' schemas need exact numbers (19.99 is a multiple of 0.01, an id
// may have 64 bits), all faults with their places, and an end whoever wrote the
// schema. Validators that compile their metaschemas when a program starts also
// cost each start more than all else that it does.
//
// Guarantees:
//
//   - A schema reaches nothing outside itself: a $ref to a file, an address or
//     an anchor is not followed, whoever wrote it.
//   - A schema that cannot be used (a pattern of another dialect, a foreign
//     $ref) is an error of [Compile], and one that would take too long to check
//     checks nothing: neither is a reason to lose the tool.
//   - Checking takes bounded time and memory, also for schemas that branch
//     without end, for large patterns and for numbers like 1e999999999.
//   - The text of an error names every fault by its place, a JSON pointer into
//     the arguments, in at most 2 KiB, for the model to mend.
//   - Numbers of any size keep their value, and are equal however written.
//   - format and what only describes are not checked.
//   - A compiled schema is shared by any number of agents.
package schema
