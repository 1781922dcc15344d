// Package config turns what a person wrote about clm into one validated
// value: config.lua, secrets.lua, agent profiles, the environment and flags.
//
// Layers, the later winning: defaults, config.lua, the agent profile, the
// environment (CLM_<KEY>), flags. Tables are merged key by key, lists and
// scalars are replaced. Nothing in the current directory is read.
//
// Guarantees:
//
//   - A [Config] is complete and valid: every value has its type and range,
//     so that the packages that use it check nothing again.
//   - A wrong type, a bad value or a file that does not load is an [Error]
//     with file, line and key; an unknown key is a [Warning] with the nearest
//     right one. Nothing is dropped in silence.
//   - A [Secret] never shows in a text: not in an error, a warning, a log, in
//     %+v, JSON or [Config.Show]. What secrets.lua holds is removed from every
//     text that this package makes, wherever the value ended up.
//   - Configuration code runs under the plugin sandbox's limits of time and
//     memory; a hostile config.lua is an error, not a hang.
//   - A Config is immutable after Load and may be shared.
//
// The keys are described once, by [Schema]; validation, the JSON Schema, the
// editor annotations and the manual are held to it.
package config
