// Package luavmtest runs plugins against scripted effects, in virtual time and without a network: for the tests of
// plugin authors and for those of this module.
//
// Run plays a test file, which holds a plugin's effects, its calls and what they must give (see Case for the format).
// Simulation is the driver below it, for tests in Go.
package luavmtest
