package main

import (
	"testing"

	"clm/luavm/internal/syntax"
	"clm/luavm/internal/syntax/difftest/internal/gen"
)

func BenchmarkOurs(b *testing.B) {
	i := uint64(0)
	for b.Loop() {
		i++
		ours(gen.Program(i % 500))
	}
}

func BenchmarkCompile(b *testing.B) {
	i := uint64(0)
	for b.Loop() {
		i++
		syntax.Compile("x", gen.Program(i%500))
	}
}

func BenchmarkGen(b *testing.B) {
	i := uint64(0)
	for b.Loop() {
		i++
		gen.Program(i % 500)
	}
}
