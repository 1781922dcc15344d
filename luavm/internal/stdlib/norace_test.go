//go:build !race

package stdlib

// slowdown is how much longer the tests' time limits are.
const slowdown = 1
