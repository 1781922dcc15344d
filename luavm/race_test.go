//go:build race

package luavm_test

// slowdown scales the time limits of tests under the race detector.
const slowdown = 8
